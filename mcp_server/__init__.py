"""The MCP server that agents talk to: it asks the bot, and can do nothing else.

It registers the tools that the bot's policy declares, checks arguments strictly, hands each call to
the bot with one bearer token and puts the answer into words for a language model. It holds no
GitHub, Vault or Kubernetes credential and no key, it can't approve, and it never returns text that
was written at GitHub. Whoever takes it over can ask, like the agent it serves.

`ownergate mcp` starts it. It imports `policy`, never `bot`, `runner` or `evidence`.
"""
