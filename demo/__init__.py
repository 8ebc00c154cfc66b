"""The demo: the whole of ownergate on one machine, told as a story.

Only GitHub is simulated (`github_simulator`). The agent is a real MCP client that talks to the real
`ownergate mcp`; bot and runner are the real programs, in processes of their own; OpenBao, gVisor,
Terraform and git are real. `make demo` runs it. It is not part of the wheel.
"""
