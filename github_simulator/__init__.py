"""A simulator of GitHub: the REST calls, git transport and webhooks that ownergate and its tests need.

What it is for: tests, benchmarks and the demo talk to it over real sockets as they would talk to GitHub,
without an account. Commits, trees, merges and conflicts are made by git in real bare repositories; every
request, response and webhook is checked against GitHub's published OpenAPI description.

What it never does: it is not part of the product, is not in the wheel, guards nothing of value and must
not be reachable from another machine. It imports nothing of ownergate, so that one can check the other.

Who calls it: tests through ``simulator.running()``, people through ``python -m github_simulator``.
"""
