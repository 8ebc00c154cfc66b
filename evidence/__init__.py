"""Reads GitHub and returns frozen facts: the one reader of bot and runner, each with its own App.

What it reads it reads to the end, at one moment, by numeric ids; what it can't read it does not guess:
then it raises `Unavailable`, and nothing is decided. It never writes, holds no key, and decides nothing;
the decisions are `policy`'s, which is all it imports of ours. It is handed a PyGithub client and is used
by one job in one thread, as that client is.
"""

from evidence.reader import GitHubReader
from evidence.routing import Routing
from evidence.unavailable import Unavailable

__all__ = ["GitHubReader", "Routing", "Unavailable"]
