"""The reader: everything that decides about one pull request, at one moment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

import github

from evidence import codeowners_file, fields, pull_request_facts, routing, source_tree
from evidence.owners import Owners
from evidence.pull_request_facts import Moved
from evidence.rest import Rest
from evidence.routing import Routing
from evidence.trees import Trees
from evidence.unavailable import Unavailable
from policy import deciding_paths, ownership, request_files
from policy.facts import Facts
from policy.manifest import Manifest

TRIES = 3
"""How often a pull request is read anew when it changes while it is being read."""


class GitHubReader:
    """Reads one repository for one job, in one thread.

    Git objects are kept for the reader's life, because they never change; everything else is asked anew
    for each reading.
    """

    def __init__(self, client: github.Github, *, repository: str, app_id: int, app_user_id: int) -> None:
        """
        Args:
            client: a client that may read the repository, its pull requests and its teams.
            repository: "owner/name".
            app_id, app_user_id: the App that opens requests, and its account.
        """
        self._rest = Rest(client)
        self._repository = repository
        self._app_id = app_id
        self._app_user_id = app_user_id
        self._trees = Trees(self._rest, repository)

    @property
    def calls(self) -> int:
        """How many requests were sent to GitHub."""
        return self._rest.calls

    def collect(self, number: int, *, manifest: Manifest, witnessed: Mapping[int, str]) -> Facts:
        """Reads everything that decides about a pull request.

        The pull request and the base's tip are read before and after all the rest; when they differ,
        everything is read again.

        Args:
            number: the pull request.
            manifest: the request that it is for.
            witnessed: the commits that the bot saw, by review id; the runner has none.

        Raises:
            Unavailable: when anything could not be read, or kept changing while it was read.
        """
        started = self.calls
        for _ in range(TRIES):
            try:
                return self._collect(number, manifest, witnessed, started)
            except Moved:
                continue
        raise Unavailable(f"pull request #{number} kept changing while it was read")

    def _collect(self, number: int, manifest: Manifest, witnessed: Mapping[int, str], started: int) -> Facts:
        answer = self._pull(number)
        self._follow(fields.text(answer, "base", "repo", "full_name"))
        tip = self.branch_tip(manifest.base.ref)
        snapshot = pull_request_facts.read(self._rest, self._repository, answer, witnessed)
        head = snapshot.pull_request.head_sha
        own = request_files.paths(manifest) if manifest.owned else None
        at_base = codeowners_file.read(self._trees, manifest.base.sha)
        at_tip = codeowners_file.read(self._trees, tip)
        paths = deciding_paths.of(snapshot.pull_request.files, manifest)
        owners = Owners(self._rest, self._repository)
        reviewers = pull_request_facts.authors(snapshot)
        resolved = owners.resolve(ownership.owner_names([at_base, at_tip], paths), reviewers=reviewers.keys())
        source = manifest.source
        facts = Facts(
            read_at=datetime.now(UTC),
            repository_id=snapshot.repository_id,
            repository_name=snapshot.repository_name,
            pull_request=snapshot.pull_request,
            reviews=snapshot.reviews,
            base_commit_codeowners=at_base,
            tip_codeowners=at_tip,
            base_tip=tip,
            owners=resolved,
            logins={person.id: person.login for person in reviewers.values()} | owners.logins,
            manifest=self.read_file(head, own.manifest) if own else None,
            rendering=self.read_file(head, own.rendering) if own else None,
            head_source=source_tree.at_head(self._trees, head, source) if source else None,
            changed_since_base=(
                source_tree.changed(self._trees, manifest.base.sha, tip, source) if source else frozenset()
            ),
            app_id=self._app_id,
            app_user_id=self._app_user_id,
            limits=snapshot.limits,
            calls=self.calls + 2 - started,
        )
        self._unmoved(number, answer, manifest, facts)
        return facts

    def _follow(self, name: str) -> None:
        """Goes on under the repository's present name: the decision must see a rename, not half of it."""
        if name != self._repository:
            self._repository = name
            self._trees = Trees(self._rest, name)

    def _unmoved(self, number: int, answer: fields.Answer, manifest: Manifest, facts: Facts) -> None:
        """Raises `Moved` unless pull request and base are as they were when reading began."""
        after = pull_request_facts.identity(self._pull(number))
        if after != pull_request_facts.identity(answer):
            raise Moved
        if self.branch_tip(manifest.base.ref) != facts.base_tip:
            raise Moved

    def read_folder(self, commit: str, path: str) -> Mapping[str, bytes]:
        """The regular files below a folder in a commit, by repository path.

        Raises:
            Refused: `source_invalid` or `source_too_large`.
            Unavailable: when GitHub can't be read.
        """
        return source_tree.read_folder(self._trees, commit, path)

    def read_source(self, commit: str, path: str) -> Mapping[str, bytes]:
        """The files of a folder and of every local module that it refers to, by repository path.

        Raises:
            Refused: for a source that can't be read as one.
            Unavailable: when GitHub can't be read.
        """
        return source_tree.read_source(self._trees, commit, path)

    def with_modules(self, commit: str, path: str, own: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """A folder's files, given by the caller, and the local modules that they refer to in a commit.

        Raises:
            Refused: for a source that can't be read as one.
            Unavailable: when GitHub can't be read.
        """
        return source_tree.with_modules(self._trees, commit, path, own)

    def read_file(self, commit: str, path: str) -> bytes | None:
        """A regular file in a commit; None when there is none at that path.

        Raises:
            Unavailable: when GitHub can't be read.
        """
        return self._trees.file(commit, path)

    def branch_tip(self, name: str) -> str:
        """The commit at the tip of a branch, named without `refs/heads/`.

        Raises:
            Unavailable: when GitHub can't be read or has no such branch.
        """
        answer = self._rest.get(f"/repos/{self._repository}/git/ref/heads/{quote(name)}")
        if (
            fields.text(answer, "ref") != f"refs/heads/{name}"
            or fields.text(answer, "object", "type") != "commit"
        ):
            raise Unavailable(f"GitHub's answer for the branch {name} is about something else")
        return fields.text(answer, "object", "sha")

    def routing(self, commit: str, paths: Sequence[str], *, barred: Collection[int] = ()) -> Routing:
        """Who may approve these paths by CODEOWNERS at a commit.

        Args:
            commit: a commit of the base branch.
            paths: files, and folders with their final slash.
            barred: ids of people who may not approve.

        Raises:
            Unavailable: when GitHub can't be read.
        """
        file = codeowners_file.read(self._trees, commit)
        owners = Owners(self._rest, self._repository)
        resolved = owners.resolve(ownership.owner_names([file], paths), reviewers=())
        return routing.route(file, resolved, owners.logins, paths, barred)

    def _pull(self, number: int) -> fields.Answer:
        answer: fields.Answer = self._rest.get(f"/repos/{self._repository}/pulls/{number}")
        return answer
