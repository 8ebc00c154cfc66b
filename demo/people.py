"""People at the simulated GitHub: what they see and do goes through its REST API, as their browser would."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import Any

import httpx2


class Person:
    """One person with their own token."""

    def __init__(self, api: str, login: str, token: str, repository: str) -> None:
        self.login = login
        self._repository = f"/repos/{repository}"
        self._http = httpx2.Client(
            base_url=api,
            headers={"authorization": f"Bearer {token}", "accept": "application/vnd.github+json"},
            trust_env=False,
            timeout=30,
        )

    def close(self) -> None:
        """Closes the connection."""
        self._http.close()

    def pull_request(self, number: int) -> dict[str, Any]:
        """The pull request."""
        return dict(self._get(f"/pulls/{number}"))

    def files(self, number: int) -> list[str]:
        """Paths that the pull request changes."""
        return [file["filename"] for file in self._get(f"/pulls/{number}/files?per_page=100")]

    def requested(self, number: int) -> list[str]:
        """Whom GitHub asked to review, by CODEOWNERS."""
        asked = self._get(f"/pulls/{number}/requested_reviewers")
        return [f"@{user['login']}" for user in asked["users"]] + [
            f"team {t['slug']}" for t in asked["teams"]
        ]

    def approve(self, number: int, commit: str) -> int:
        """Approves a commit; returns the review's id."""
        return int(self._review(number, commit, "APPROVE", "")["id"])

    def push(self, branch: str, path: str, text: str) -> str:
        """Commits a new file to a branch; returns the commit."""
        content = base64.b64encode(text.encode()).decode()
        response = self._http.put(
            f"{self._repository}/contents/{path}",
            json={"message": "A small fix", "content": content, "branch": branch},
        )
        response.raise_for_status()
        return str(response.json()["commit"]["sha"])

    def comments(self, number: int) -> list[str]:
        """The comments' texts, oldest first."""
        return [comment["body"] for comment in self._get(f"/issues/{number}/comments?per_page=100")]

    def checks(self, sha: str) -> list[dict[str, Any]]:
        """The check runs of a commit."""
        return list(self._get(f"/commits/{sha}/check-runs")["check_runs"])

    def file(self, path: str, ref: str) -> str:
        """A file's text at a commit or branch."""
        response = self._http.get(
            f"{self._repository}/contents/{path}?ref={ref}",
            headers={"accept": "application/vnd.github.raw+json"},
        )
        response.raise_for_status()
        return bytes(response.content).decode()

    def wait_for_comment(self, number: int, words: str, *, seconds: float = 20.0) -> str:
        """Waits until a comment of the pull request holds these words; returns that comment.

        Raises:
            TimeoutError: when none does in time.
        """
        return str(
            wait_for(
                lambda: next((body for body in self.comments(number) if words in body), None),
                f"a comment with {words!r} in pull request {number}",
                seconds=seconds,
            )
        )

    def _review(self, number: int, commit: str, event: str, body: str) -> dict[str, Any]:
        review = {"commit_id": commit, "event": event, "body": body}
        response = self._http.post(f"{self._repository}/pulls/{number}/reviews", json=review)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer

    def _get(self, path: str) -> Any:
        response = self._http.get(self._repository + path)
        response.raise_for_status()
        return response.json()


def wait_for(look: Callable[[], Any], what: str, *, seconds: float) -> Any:
    """Looks again and again until something is there.

    Raises:
        TimeoutError: naming `what`, when it isn't in time.
    """
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(0.1)
    raise TimeoutError(f"waited {seconds:.0f} seconds for {what}")
