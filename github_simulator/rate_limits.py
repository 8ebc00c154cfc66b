"""GitHub's primary rate limit: so many calls an hour for each caller, told in headers.

Source: docs.github.com, "Rate limits for the REST API". The secondary limits are only simulated on
demand (see faults.py), because their rules are not published in full.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from github_simulator.calls import Actor, Anonymous, AsApp, AsInstallation, AsUser

WINDOW = timedelta(hours=1)


@dataclass(slots=True)
class Budget:
    """What one caller has used of its hour."""

    limit: int
    used: int
    reset_at: datetime

    def headers(self) -> dict[str, str]:
        return {
            "x-ratelimit-limit": str(self.limit),
            "x-ratelimit-remaining": str(max(self.limit - self.used, 0)),
            "x-ratelimit-used": str(self.used),
            "x-ratelimit-reset": str(int(self.reset_at.timestamp())),
            "x-ratelimit-resource": "core",
        }


class RateLimits:
    """The budgets of all callers. ``limits`` may be lowered by a test."""

    def __init__(self) -> None:
        self.limits = {"user": 5000, "installation": 5000, "app": 5000, "anonymous": 60}
        self._budgets: dict[str, Budget] = {}
        self.calls: dict[str, int] = {}
        """Calls counted since the start for each caller, such as ``user:1000``."""

    def budget(self, actor: Actor, now: datetime) -> Budget:
        """The caller's present budget."""
        name, kind = caller(actor)
        budget = self._budgets.get(name)
        if budget is None or budget.reset_at <= now:
            budget = self._budgets[name] = Budget(self.limits[kind], 0, now + WINDOW)
        budget.limit = self.limits[kind]
        return budget

    def count(self, actor: Actor, now: datetime) -> Budget:
        """Count one call against the caller's budget."""
        budget = self.budget(actor, now)
        budget.used += 1
        name, _ = caller(actor)
        self.calls[name] = self.calls.get(name, 0) + 1
        return budget


def caller(actor: Actor) -> tuple[str, str]:
    """The name and kind under which calls are counted."""
    match actor:
        case Anonymous():
            return "anonymous", "anonymous"
        case AsUser(account=account):
            return f"user:{account.id}", "user"
        case AsApp(app=app):
            return f"app:{app.id}", "app"
        case AsInstallation(installation=installation):
            return f"installation:{installation.id}", "installation"
