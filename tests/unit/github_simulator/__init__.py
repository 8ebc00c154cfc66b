"""The simulator of GitHub, through its real doors: sockets, git and webhooks."""
