"""Which webhooks concern the bot: its events, its repository, its installation.

Everything else is acknowledged and recorded as ignored: an App gets the events of every repository that
it is installed on, and refusing them would fill GitHub's list of failed deliveries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REPOSITORY_EVENTS = frozenset(
    {
        "check_run",
        "check_suite",
        "issue_comment",
        "issues",
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
        "pull_request_review_thread",
        "push",
        "repository",
        "status",
    }
)
"""Events that are always about one repository and must name it."""

ACCOUNT_EVENTS = frozenset(
    {
        "github_app_authorization",
        "installation",
        "installation_repositories",
        "installation_target",
        "member",
        "membership",
        "organization",
        "ping",
        "team",
        "team_add",
    }
)
"""Events about the App's account: who is in which team, whether the App is still installed."""

WITHOUT_INSTALLATION = frozenset({"ping", "github_app_authorization"})
"""Events that GitHub sends without naming an installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The one repository and installation that the bot serves, by their numeric ids."""

    repository_id: int
    installation_id: int

    def ignored_because(self, event: str, payload: Mapping[str, Any]) -> str | None:
        """Why this event is none of the bot's business; None when it is."""
        if event not in REPOSITORY_EVENTS and event not in ACCOUNT_EVENTS:
            return "the bot has no use for this event"
        installation = _id(payload, "installation")
        if installation != self.installation_id and event not in WITHOUT_INSTALLATION:
            return "it is not from the bot's installation"
        repository = _id(payload, "repository")
        if repository != self.repository_id and (event in REPOSITORY_EVENTS or repository is not None):
            return "it is not about the bot's repository"
        return None


def subject(payload: Mapping[str, Any]) -> str | None:
    """The pull request or issue that the order of events matters for, such as `#12`.

    GitHub numbers both from one sequence. A check run names the pull requests that it belongs to.
    """
    for name in ("pull_request", "issue"):
        if (number := _number(payload.get(name))) is not None:
            return f"#{number}"
    check_run = payload.get("check_run")
    if isinstance(check_run, dict) and (belongs_to := check_run.get("pull_requests")):
        number = _number(belongs_to[0]) if isinstance(belongs_to, list) else None
        return f"#{number}" if number is not None else None
    return None


def _number(value: object) -> int | None:
    number = value.get("number") if isinstance(value, dict) else None
    return number if type(number) is int and 0 < number < 2**53 else None


def _id(payload: Mapping[str, Any], name: str) -> int | None:
    value = payload.get(name)
    identifier = value.get("id") if isinstance(value, dict) else None
    return identifier if type(identifier) is int else None
