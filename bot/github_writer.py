"""Everything that the bot writes at GitHub, call by call.

Each method is one call, and says what it does when the thing is already there or already gone. None
of them retries or waits: `bot.outbox` does, after it has looked whether the first try came through.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from github import Github, GithubException

from bot import github_failures

Row = dict[str, Any]
"""One object of GitHub's, as its JSON."""

PAGE = 100
"""GitHub's largest page."""


class GitHubWriter:
    """Writes to one repository, for one job of one thread.

    Attributes:
        calls: how many calls were made.
    """

    def __init__(self, client: Github, *, repository: str) -> None:
        self._requester = client.requester
        self._root = f"/repos/{repository}"
        self._owner = repository.split("/", 1)[0]
        self.calls = 0

    def branch(self, name: str) -> str | None:
        """The commit at the tip of a branch; None when there is no such branch."""
        try:
            found = self._call("GET", f"/git/ref/heads/{name}")
        except GithubException as error:
            if error.status == 404:
                return None
            raise
        return str(found["object"]["sha"])

    def commit(self, sha: str) -> Row:
        """A commit: its `tree`, `parents` and `message`."""
        return self._call("GET", f"/git/commits/{sha}")

    def make_blob(self, content_base64: str) -> str:
        """Stores a file's bytes and returns the blob's id."""
        return str(self._call("POST", "/git/blobs", {"content": content_base64, "encoding": "base64"})["sha"])

    def make_tree(self, base_tree: str, entries: Sequence[Row]) -> str:
        """Makes a tree from another one and returns its id."""
        tree = {"base_tree": base_tree, "tree": list(entries)}
        return str(self._call("POST", "/git/trees", tree)["sha"])

    def make_commit(self, *, message: str, tree: str, parent: str) -> str:
        """Makes a commit by the App and returns its id. Nobody sees it before a branch names it."""
        commit = {"message": message, "tree": tree, "parents": [parent]}
        return str(self._call("POST", "/git/commits", commit)["sha"])

    def make_branch(self, name: str, sha: str) -> bool:
        """Makes a branch; False when one of that name exists."""
        try:
            self._call("POST", "/git/refs", {"ref": f"refs/heads/{name}", "sha": sha})
        except GithubException as error:
            if error.status == 422 and github_failures.says(error, "already exists"):
                return False
            raise
        return True

    def delete_branch(self, name: str) -> None:
        """Deletes a branch; one that is gone is as good."""
        try:
            self._call("DELETE", f"/git/refs/heads/{name}")
        except GithubException as error:
            gone = error.status == 404 or (
                error.status == 422 and github_failures.says(error, "does not exist")
            )
            if not gone:
                raise

    def pull_request_from(self, branch: str) -> Row | None:
        """The newest pull request from a branch, open or not; None when there is none."""
        found = self._list("/pulls", {"head": f"{self._owner}:{branch}", "state": "all"})
        return found[0] if found else None

    def open_pull_request(self, *, title: str, body: str, branch: str, base: str) -> Row:
        """Opens a pull request."""
        opened = {"title": title, "body": body, "head": branch, "base": base, "maintainer_can_modify": False}
        return self._call("POST", "/pulls", opened)

    def pull_request(self, number: int) -> Row:
        """A pull request as it is now."""
        return self._call("GET", f"/pulls/{number}")

    def open_pull_requests(self) -> list[Row]:
        """Every open pull request, all pages."""
        return self._list("/pulls", {"state": "open"})

    def close_pull_request(self, number: int) -> None:
        """Closes a pull request; closing a closed one changes nothing."""
        self._call("PATCH", f"/pulls/{number}", {"state": "closed"})

    def merge(self, number: int, *, sha: str, method: str, title: str) -> None:
        """Merges a pull request if its head is still that commit."""
        merge = {"sha": sha, "merge_method": method, "commit_title": title}
        self._call("PUT", f"/pulls/{number}/merge", merge)

    def check_runs(self, sha: str, name: str) -> list[Row]:
        """The check runs of that name on a commit, this App's and others'."""
        return self._list(f"/commits/{sha}/check-runs", {"check_name": name}, key="check_runs")

    def make_check_run(self, content: Row) -> int:
        """Makes a check run and returns its id."""
        return int(self._call("POST", "/check-runs", content)["id"])

    def update_check_run(self, check_run_id: int, content: Row) -> None:
        """Replaces what a check run says."""
        self._call("PATCH", f"/check-runs/{check_run_id}", content)

    def comments(self, number: int) -> list[Row]:
        """Every comment of a pull request, all pages."""
        return self._list(f"/issues/{number}/comments", {})

    def comment(self, number: int, body: str) -> int:
        """Adds a comment and returns its id."""
        return int(self._call("POST", f"/issues/{number}/comments", {"body": body})["id"])

    def edit_comment(self, comment_id: int, body: str) -> bool:
        """Replaces a comment's text; False when somebody deleted the comment."""
        try:
            self._call("PATCH", f"/issues/comments/{comment_id}", {"body": body})
        except GithubException as error:
            if error.status == 404:
                return False
            raise
        return True

    def _call(self, verb: str, path: str, content: Row | None = None) -> Row:
        self.calls += 1
        _headers, data = self._requester.requestJsonAndCheck(verb, self._root + path, input=content)
        return cast("Row", data) if isinstance(data, dict) else {}

    def _list(self, path: str, parameters: Row, *, key: str | None = None) -> list[Row]:
        rows: list[Row] = []
        page = 1
        while True:
            self.calls += 1
            _headers, data = self._requester.requestJsonAndCheck(
                "GET", self._root + path, parameters={**parameters, "per_page": PAGE, "page": page}
            )
            found = cast("list[Row]", data[key] if key else data)
            rows += found
            if len(found) < PAGE:
                return rows
            page += 1
