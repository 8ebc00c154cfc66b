"""The bot: takes requests from agents, asks code owners on GitHub, signs grants, keeps the trail.

It receives GitHub's webhooks into a durable inbox, runs every request through its states, writes to
GitHub through an outbox, hands work to runners that call it, and answers agents, auditors and
admins over HTTP. What it decides it decides with the pure functions of `policy`, over facts that
`evidence` has read at GitHub; a webhook is only a hint that there is something to read.

It holds the GitHub App's key, the webhook secrets, the database and the key that signs grants. It
never holds a Vault or Kubernetes credential or the key to a saved plan, never runs a tool, and has
no way to a runner: runners call it. So the bot alone can cause no action: a runner reads the
approval at GitHub for itself before it spends a grant.

Nothing here may block a decision into a yes. A missing secret, key, rule or page, a database that
can't be written or is older than what was attested: the bot refuses and says what and where.

`ownergate bot` starts `bot.service`; nobody else calls this package.
"""
