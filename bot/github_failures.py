"""What an error of GitHub means for an effect: try again, and when, or give up. Pure.

Sources: "Rate limits for the REST API" and "Best practices for using the REST API" in GitHub's
documentation: a `retry-after` header rules, then `x-ratelimit-reset` when nothing remains, and a
secondary limit without either asks for at least a minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import requests
from github import GithubException
from requests.exceptions import RequestException

LONGEST_WAIT_SECONDS = 300
"""An effect is tried at least this often, except when GitHub itself asks for a longer wait."""

_SECONDARY_LIMIT_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """Try again.

    Attributes:
        seconds: how long to wait.
        everything: the wait is for all calls (a rate limit), not for this effect alone.
        trouble: what happened, for the log and the request's cause.
    """

    seconds: int
    everything: bool
    trouble: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """GitHub will not do this, however often it is asked."""

    trouble: str


def meaning(error: Exception, *, attempt: int, now: datetime) -> Later | Never:
    """What to do about an error of a call to GitHub.

    Args:
        error: what the client raised.
        attempt: how often the effect was tried, this time included.
        now: the present, aware, to read `x-ratelimit-reset` against.
    """
    backoff = min(2 ** min(attempt, 10), LONGEST_WAIT_SECONDS)
    match error:
        case GithubException():
            return _answered(error, backoff=backoff, now=now)
        case RequestException() | requests.exceptions.RetryError():
            return Later(seconds=backoff, everything=False, trouble="GitHub did not answer")
        case _:
            return Later(seconds=backoff, everything=False, trouble=f"{type(error).__name__}")


def _answered(error: GithubException, *, backoff: int, now: datetime) -> Later | Never:
    headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
    said = f"GitHub answered {error.status}: {message(error)}"
    if error.status in (403, 429):
        wait = _limited(error, headers, now)
        if wait is not None:
            return Later(seconds=max(wait, 1), everything=True, trouble=said)
        # A missing permission or a suspended installation: people repair that, and then it goes on.
        return Later(seconds=max(backoff, 60), everything=False, trouble=said)
    if error.status == 422:
        return Never(trouble=said)
    return Later(seconds=backoff, everything=False, trouble=said)


def _limited(error: GithubException, headers: dict[str, str], now: datetime) -> int | None:
    after = headers.get("retry-after", "")
    if after.isdigit():
        return int(after)
    if headers.get("x-ratelimit-remaining") == "0":
        reset = headers.get("x-ratelimit-reset", "")
        return int(reset) - int(now.timestamp()) if reset.isdigit() else _SECONDARY_LIMIT_SECONDS
    if error.status == 429 or "rate limit" in message(error).lower():
        return _SECONDARY_LIMIT_SECONDS
    return None


def message(error: GithubException) -> str:
    """GitHub's own message, one line, at most 200 characters."""
    data = error.data
    said = str(data.get("message", "")) if isinstance(data, dict) else ""
    return " ".join(said.split())[:200] or "no message"


def says(error: GithubException, text: str) -> bool:
    """Whether GitHub's answer holds a text anywhere, in whatever case."""
    return text.lower() in str(error.data).lower()
