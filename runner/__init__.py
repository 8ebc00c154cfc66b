"""The runner: does exactly what was approved, once, in a sandbox, with a credential that dies before
its output is read.

It pulls work from the bot and believes none of it: the digest is recomputed from what will really
run, the plan's bytes are hashed and read again, and the approval is read at GitHub with the runner's
own App before a grant is spent. A destructive credential comes from OpenBao alone, and only for the
grant; the lease is revoked, and seen to be powerless, before anything that the sandbox printed leaves
this package. A grant's id is spent on this machine before the effect, so nothing that the bot loses
or restores can make it run twice.

It never writes to GitHub, never signs a grant, never holds the bot's keys or database, never listens
on a port. Whatever can't be checked is refused; an outcome that can't be known is reported as
`unknown` and never tried again.

`runner.service` is the door: `ownergate runner` calls it. The package imports `policy` and
`evidence`, and nothing else of ours.
"""
