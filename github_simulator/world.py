"""The simulated GitHub as a whole: seeding it, looking into it, and the lock around it.

Everything here may be called from any thread. Seeding does not send webhooks, with three exceptions that
stand for things people do while an App runs: pushes, changes of installations and changes of teams.
"""

from github_simulator.app_registry import AppRegistry
from github_simulator.hosting import Hosting


class World(AppRegistry, Hosting):
    """State, git stores, faults, limits and deliveries, under one lock."""
