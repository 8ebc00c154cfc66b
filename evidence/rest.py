"""GET at GitHub's REST API: counted, whole lists, and one kind of failure.

Source of the paging rules: "Using pagination in the REST API" in GitHub's documentation.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import github
from github import GithubException
from requests.exceptions import RequestException

from evidence.unavailable import Unavailable

PER_PAGE = 100
"""Entries of a page; GitHub gives no more."""

MOST_PAGES = 100
"""Pages of one list. A longer list is not read, and nothing is decided on a part of it."""

_ACCEPT = "application/vnd.github+json"


class Rest:
    """Reads for one job in one thread. `calls` counts every request that was sent."""

    def __init__(self, client: github.Github) -> None:
        self._requester = client.requester
        self.calls = 0

    def get(self, path: str, parameters: Mapping[str, str] | None = None, *, accept: str = _ACCEPT) -> Any:
        """One answer.

        Raises:
            Unavailable: for any answer but success, 404 included.
        """
        return self._get(path, parameters or {}, accept)[1]

    def find(self, path: str, parameters: Mapping[str, str] | None = None, *, accept: str = _ACCEPT) -> Any:
        """One answer, or None when GitHub says that there is no such thing (404).

        Raises:
            Unavailable: for any other answer but success.
        """
        try:
            return self._get(path, parameters or {}, accept)[1]
        except NotFound:
            return None

    def every(self, path: str, parameters: Mapping[str, str] | None = None) -> list[Any]:
        """A whole list, page by page.

        A full page is followed by the next one even when no link to it is given: a proxy that drops
        headers must not make a list short.

        Raises:
            Unavailable: when a page can't be read, is no list, or there are more than `MOST_PAGES`.
        """
        entries: list[Any] = []
        for page in range(1, MOST_PAGES + 1):
            asked = {**(parameters or {}), "per_page": str(PER_PAGE), "page": str(page)}
            headers, answer = self._get(path, asked, _ACCEPT)
            if not isinstance(answer, list):
                raise Unavailable(f"GitHub's answer for {path} is no list")
            entries += answer
            if len(answer) < PER_PAGE and 'rel="next"' not in headers.get("link", ""):
                return entries
        raise Unavailable(f"{path} has more than {MOST_PAGES * PER_PAGE} entries")

    def _get(self, path: str, parameters: Mapping[str, str], accept: str) -> tuple[dict[str, str], Any]:
        self.calls += 1
        try:
            headers, answer = self._requester.requestJsonAndCheck(
                "GET", path, parameters=dict(parameters), headers={"Accept": accept}
            )
        except GithubException as error:
            raise _unavailable(path, error) from None
        except RequestException as error:
            # The exception's own text can hold the address with its parameters; its kind is enough.
            raise Unavailable(f"GitHub did not answer {path} ({type(error).__name__})") from None
        except (AssertionError, RuntimeError, ValueError) as error:
            # PyGithub's ways to say that a redirect leads elsewhere or that the answer is no JSON.
            raise Unavailable(f"GitHub's answer for {path} can't be used ({type(error).__name__})") from None
        return {name.lower(): str(value) for name, value in headers.items()}, answer


class NotFound(Unavailable):
    """GitHub answered 404: there is no such thing, or the App may not see it."""


def _unavailable(path: str, error: GithubException) -> Unavailable:
    message = error.data.get("message", "") if isinstance(error.data, dict) else ""
    reason = f"GitHub answered {error.status} for {path}: {' '.join(str(message).split())[:200]}".rstrip(": ")
    if error.status == 404:
        return NotFound(reason)
    return Unavailable(reason, retry_after_seconds=_wait(error))


def _wait(error: GithubException) -> int | None:
    """Seconds that GitHub asks to wait ("Rate limits for the REST API")."""
    headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
    after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if after.isdecimal():
        return int(after)
    if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return max(int(reset) - int(time.time()), 1)
    limited = error.status == 429 or isinstance(error, github.RateLimitExceededException)
    return 60 if limited else None
