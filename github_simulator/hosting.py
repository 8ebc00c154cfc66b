"""Seeding repositories, their content and who may do what in them."""

import secrets
from collections.abc import Mapping
from typing import Any, Literal

from github_simulator import events, pushes, seeding
from github_simulator.git_store import GitStore
from github_simulator.model import (
    Account,
    Level,
    Protection,
    Repository,
)
from github_simulator.records import Records
from github_simulator.representation import accounts, checks, teams


class Hosting(Records):
    """Repositories."""

    def add_repository(
        self,
        owner: str,
        name: str,
        *,
        files: Mapping[str, bytes | str] | None = None,
        private: bool = True,
        description: str | None = None,
    ) -> seeding.Repository:
        """A repository with an initial commit on ``main`` that holds these files."""
        with self.lock:
            now = self.clock.now()
            repository = Repository(
                id=self.state.next_id("repository", 700_001),
                owner_id=self.account(owner).id,
                name=name,
                private=private,
                description=description,
                created_at=now,
                updated_at=now,
                pushed_at=now,
            )
            self.state.repositories[repository.id] = repository
            self.state.names[repository.owner_id, name.lower()] = repository.id
            store = GitStore.create(self.data / f"{repository.id}.git")
            self._stores[repository.id] = store
            content = dict(files) if files else {"README.md": f"# {name}\n"}
            sha = self._commit_files(repository, content, (), self.account(owner), "Initial commit")
            store.set_ref("refs/heads/main", sha)
            repository.refs["refs/heads/main"] = sha
            return self.seeded(repository)

    def fork(self, repo: seeding.Repository, owner: str) -> seeding.Repository:
        """A copy of a repository under another owner, from which pull requests can come."""
        with self.lock:
            origin, now = self.repository(repo), self.clock.now()
            copy = Repository(
                id=self.state.next_id("repository", 700_001),
                owner_id=self.account(owner).id,
                name=origin.name,
                private=origin.private,
                created_at=now,
                updated_at=now,
                pushed_at=now,
                fork_of=origin.id,
            )
            self.state.repositories[copy.id] = copy
            self.state.names[copy.owner_id, copy.name.lower()] = copy.id
            self._stores[copy.id] = GitStore.fork(self.data / f"{copy.id}.git", self.store(origin))
            for ref, sha in origin.refs.items():
                if ref.startswith("refs/heads/"):
                    self.store(copy).set_ref(ref, sha)
                    copy.refs[ref] = sha
            return self.seeded(copy)

    def remove_repository(self, repo: seeding.Repository) -> None:
        """Delete a repository; pull requests from it keep their commits."""
        with self.lock:
            repository = self.repository(repo)
            del self.state.repositories[repository.id]
            for name in [name for name, found in self.state.names.items() if found == repository.id]:
                del self.state.names[name]

    def rename_repository(
        self, repo: seeding.Repository, name: str, *, by: str | None = None
    ) -> seeding.Repository:
        """Give a repository another name; the old address answers 301 and ``repository.renamed`` is sent."""
        with self.lock:
            repository = self.repository(repo)
            old, repository.name = repository.name, name
            self.state.names[repository.owner_id, name.lower()] = repository.id
            changes = {"repository": {"name": {"from": old}}}
            sender = self._somebody(by, repository)
            events.emit(
                self, "repository", "renamed", {"changes": changes}, sender=sender, repository=repository
            )
            return self.seeded(repository)

    def transfer_repository(
        self, repo: seeding.Repository, owner: str, *, by: str | None = None
    ) -> seeding.Repository:
        """Give a repository to another owner; the old address answers 301."""
        with self.lock:
            repository, new = self.repository(repo), self.account(owner)
            old = self.state.accounts[repository.owner_id]
            sender = self._somebody(by, repository)
            kind = "organization" if old.kind == "Organization" else "user"
            shown = accounts.organization_simple if kind == "organization" else accounts.simple
            changes = {"owner": {"from": {kind: shown(self.view(), old)}}}
            repository.owner_id = new.id
            repository.teams.clear()
            self.state.names[new.id, repository.name.lower()] = repository.id
            events.emit(
                self, "repository", "transferred", {"changes": changes}, sender=sender, repository=repository
            )
            return self.seeded(repository)

    def grant_access(self, repo: seeding.Repository, login: str, level: Level | Literal["none"]) -> None:
        """Make a person a collaborator, or take that away with ``none``."""
        with self.lock:
            repository, user = self.repository(repo), self.account(login)
            if level == "none":
                repository.collaborators.pop(user.id, None)
            else:
                repository.collaborators[user.id] = _level(level)

    def grant_team_access(
        self, repo: seeding.Repository, team: str, level: Level | Literal["none"], *, by: str | None = None
    ) -> None:
        """Give a team (``org/slug``) a right in a repository; sends ``team.added_to_repository``."""
        with self.lock:
            repository, found = self.repository(repo), self.team(team)
            if level == "none":
                repository.teams.pop(found.id, None)
            else:
                repository.teams[found.id] = _level(level)
            action = "removed_from_repository" if level == "none" else "added_to_repository"
            content = {"team": teams.listed(self.view(), found)}
            events.emit(
                self, "team", action, content, sender=self._somebody(by, repository), repository=repository
            )

    def protect(self, repo: seeding.Repository, branch: str, **rules: Any) -> None:
        """Protect a branch; the rules are the fields of ``model.Protection``.

        ``required_approving_reviews``, ``dismiss_stale_reviews`` and ``require_code_owner_reviews`` imply
        ``reviews_required``; ``contexts`` implies ``status_checks_required``.
        """
        with self.lock:
            protection = Protection(**rules)
            if protection.required_approving_reviews or protection.require_code_owner_reviews:
                protection.reviews_required = True
            protection.reviews_required = protection.reviews_required or protection.dismiss_stale_reviews
            protection.status_checks_required = protection.status_checks_required or bool(protection.contexts)
            self.repository(repo).protections[branch] = protection

    def push(
        self,
        repo: seeding.Repository,
        branch: str,
        files: Mapping[str, bytes | str | None],
        *,
        author: str,
        message: str = "Change",
        parent: str | None = None,
        merge: str | None = None,
    ) -> str:
        """Commit files on top of a branch as somebody and push it; returns the commit's SHA.

        None deletes a file. A branch that does not exist starts at the default branch. ``parent`` (a ref or
        SHA) makes it a force-push from there; ``merge`` names a second parent.
        """
        with self.lock:
            repository, account = self.repository(repo), self.account(author)
            start = parent or (f"refs/heads/{branch}" if f"refs/heads/{branch}" in repository.refs else None)
            first = self.resolve(repository, start or repository.default_branch)
            second = self.resolve(repository, merge) if merge is not None else None
            if first is None or (merge is not None and second is None):
                raise KeyError(f"no such commit in {repo.full_name}: {parent or merge}")
            parents = (first,) if second is None else (first, second)
            sha = self._commit_files(repository, files, parents, account, message)
            pushes.move(self, repository, f"refs/heads/{branch}", sha, account)
            return sha

    def set_draft(self, repo: seeding.Repository, number: int, *, draft: bool, by: str) -> None:
        """Convert a pull request to a draft or back; GitHub has no REST call for it."""
        with self.lock:
            repository = self.repository(repo)
            pushes.set_draft(self, repository, repository.pulls[number], self.account(by), draft=draft)

    def press_check_button(
        self, repo: seeding.Repository, check_run_id: int, identifier: str, *, by: str
    ) -> None:
        """Press a button of a check run, which exists on GitHub's pages only."""
        with self.lock:
            repository = self.repository(repo)
            shown = checks.run(self.view(), repository, repository.check_runs[check_run_id], in_event=True)
            content = {"check_run": shown, "requested_action": {"identifier": identifier}}
            sender = self.account(by)
            events.emit(self, "check_run", "requested_action", content, sender=sender, repository=repository)

    def read_file(self, repo: seeding.Repository, ref: str, path: str) -> bytes | None:
        """A file at a branch, tag or SHA; None when it is not there."""
        with self.lock:
            repository = self.repository(repo)
            sha = self.resolve(repository, ref)
            return self.store(repository).file(sha, path) if sha is not None else None

    def clone_url(self, repo: seeding.Repository, login: str | None = None) -> str:
        """The address for ``git clone``, with a person's token in it when a login is given."""
        host = self.url.partition("://")[2]
        credentials = f"{login}:{self.token(login)}@" if login is not None else ""
        return f"http://{credentials}{host}/{self.state.full_name(self.repository(repo))}.git"

    def archive_ticket(self, repository: Repository, sha: str) -> str:
        """A one-time address part under which a tarball can be fetched."""
        ticket = secrets.token_urlsafe(24)
        self._tickets[ticket] = (repository.id, sha)
        return ticket

    def archive(self, ticket: str) -> bytes | None:
        """The tarball behind a ticket; None when there is none. Its folder is named as GitHub names it."""
        with self.lock:
            repository_id, sha = self._tickets.get(ticket, (0, ""))
            repository = self.state.repositories.get(repository_id)
            if repository is None:
                return None
            name = self.state.full_name(repository).replace("/", "-")
            return self.store(repository).archive(sha, f"{name}-{sha[:7]}")

    def _commit_files(
        self,
        repository: Repository,
        files: Mapping[str, bytes | str | None],
        parents: tuple[str, ...],
        account: Account,
        message: str,
    ) -> str:
        store = self.store(repository)
        changes: dict[str, tuple[str, str] | None] = {}
        for path, content in files.items():
            if content is None:
                changes[path] = None
            else:
                data = content.encode() if isinstance(content, str) else content
                changes[path] = ("100644", store.write_blob(data))
        base = None
        if parents:
            merged = store.merge(*parents) if len(parents) == 2 else None
            first = store.commit(parents[0])
            base = (
                merged.tree
                if merged is not None and merged.tree is not None
                else first.tree
                if first
                else None
            )
        tree = store.write_tree(base, changes)
        person = self.person(account)
        return store.write_commit(
            tree=tree, parents=parents, message=message, author=person, committer=person
        )


def _level(level: str) -> Level:
    if level not in {"pull", "triage", "push", "maintain", "admin"}:
        raise ValueError(f"{level!r} is not one of pull, triage, push, maintain, admin, none")
    return level  # type: ignore[return-value]
