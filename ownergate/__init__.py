"""The command line of ownergate: it starts the deployables and reads what they wrote; it decides nothing.

Every command lives in one module of `ownergate.commands` and is imported when it is called, so that
`ownergate --help` costs little more than starting Python.
"""
