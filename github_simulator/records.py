"""What all parts of the world stand on: state, lock, clock, git stores, faults, limits, lookups."""

import threading
from pathlib import Path
from typing import Any

from github_simulator import codeowners, seeding
from github_simulator.clock import Clock
from github_simulator.conformity import conformity
from github_simulator.deliveries import Deliveries
from github_simulator.diffs import ChangedFile, Differ
from github_simulator.faults import Faults, Snapshots
from github_simulator.git_store import GitStore, Person
from github_simulator.model import (
    Account,
    PullRequest,
    Repository,
    State,
    Team,
)
from github_simulator.rate_limits import RateLimits
from github_simulator.view import View

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


class Records:
    """The records and how to find things in them. Hold ``lock`` while reading several."""

    empty_tree = EMPTY_TREE

    def __init__(self, data: Path, clock: Clock, *, strict: bool = True) -> None:
        self.data = data
        self.clock = clock
        self.strict = strict
        self.lock = threading.RLock()
        self.state = State()
        self.url = "http://127.0.0.1"
        self.faults = Faults()
        self.snapshots = Snapshots()
        self.rate_limits = RateLimits()
        self.deliveries = Deliveries(clock, self.faults)
        self.violations: list[str] = []
        self.lenient = 0
        self._stores: dict[int, GitStore] = {}
        self._differs: dict[int, Differ] = {}
        self._tickets: dict[str, tuple[int, str]] = {}
        data.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Stop sending webhooks and end git's processes."""
        self.deliveries.stop()
        with self.lock:
            for store in self._stores.values():
                store.close()

    def view(self, api: str | None = None, html: str | None = None) -> View:
        """The present state, with addresses that start at the simulator's own unless told otherwise."""
        return View(world=self, state=self.state, api=api or self.url, html=html or self.url)

    def account(self, login: str) -> Account:
        """An account by login. Raises KeyError."""
        found = self.state.account_by_login(login)
        if found is None:
            raise KeyError(f"no account {login!r}; there are: {', '.join(sorted(self.state.logins))}")
        return found

    def team(self, name: str) -> Team:
        """A team by ``org/slug``. Raises KeyError."""
        organization, _, slug = name.partition("/")
        found = self.state.team_by_slug(self.account(organization).id, slug)
        if found is None:
            raise KeyError(f"no team {name!r}")
        return found

    def token(self, login: str) -> str:
        """A person's personal token. Raises KeyError."""
        account = self.account(login)
        for token, owner in self.state.personal_tokens.items():
            if owner == account.id:
                return token
        raise KeyError(f"{login} has no personal token")

    def repository(self, repo: seeding.Repository) -> Repository:
        """The record of a seeded repository. Raises KeyError."""
        return self.state.repositories[repo.id]

    def seeded(self, repository: Repository) -> seeding.Repository:
        """The handle of a repository's record."""
        owner = self.state.accounts[repository.owner_id].login
        return seeding.Repository(id=repository.id, owner=owner, name=repository.name)

    def store(self, repository: Repository) -> GitStore:
        """The git store of a repository."""
        return self._stores[repository.id]

    def differ(self, repository: Repository) -> Differ:
        """The diffs of a repository."""
        if repository.id not in self._differs:
            self._differs[repository.id] = Differ(self.store(repository))
        return self._differs[repository.id]

    def resolve(self, repository: Repository, name: str) -> str | None:
        """The commit that a branch, tag, ``refs/…`` or (shortened) SHA names; None when there is none."""
        for ref in (name, f"refs/{name}", f"refs/heads/{name}", f"refs/tags/{name}"):
            if ref in repository.refs:
                return repository.refs[ref]
        is_hex = 7 <= len(name) <= 40 and all(c in "0123456789abcdef" for c in name)
        if not is_hex:
            return None
        found = self.store(repository).read(name)
        return found[0] if found is not None and found[1] == "commit" else None

    def pull_base(self, repository: Repository, pull: PullRequest) -> str:
        """The commit from which a pull request's changes count: its merge base with the base branch."""
        tip = pull.base_sha
        if repository.issues[pull.number].state == "open":
            tip = repository.refs.get(f"refs/heads/{pull.base_ref}", tip)
        return self.store(repository).merge_base(tip, pull.head_sha) or tip

    def pull_files(self, repository: Repository, pull: PullRequest) -> tuple[ChangedFile, ...]:
        """The files that a pull request changes."""
        return self.differ(repository).between(self.pull_base(repository, pull), pull.head_sha)

    def pull_paths(self, repository: Repository, pull: PullRequest) -> list[str]:
        """The paths that a pull request changes, old names of renamed files included."""
        paths: list[str] = []
        for file in self.pull_files(repository, pull):
            paths += [path for path in (file.path, file.previous_path) if path is not None]
        return paths

    def pull_commits(self, repository: Repository, pull: PullRequest) -> list[str]:
        """The SHAs of a pull request's commits, oldest first."""
        base = self.pull_base(repository, pull)
        return list(reversed(self.store(repository).log(pull.head_sha, (base, pull.base_sha), limit=250)))

    def codeowners(self, repository: Repository, sha: str) -> tuple[list[codeowners.Line], str]:
        """The CODEOWNERS lines at a commit and the file's path; no lines when there is no such file."""
        for place in codeowners.PLACES:
            content = self.store(repository).file(sha, place)
            if content is not None:
                usable = len(content) < codeowners.LARGEST
                return (codeowners.parsed(content.decode(errors="replace")) if usable else []), place
        return [], ""

    def checked_webhook(self, event: str, action: str | None, payload: Any) -> None:
        """Record a violation when an event does not fit GitHub's description."""
        if self.strict:
            self.violations.extend(conformity().webhook(event, action, payload))

    def person(self, account: Account) -> Person:
        """An account as author or committer, now."""
        return Person(
            name=account.name or account.login,
            email=account.email or "noreply@github.com",
            date=self.clock.now(),
        )

    def _somebody(self, login: str | None, repository: Repository) -> Account:
        return self._somebody_of(login, repository.owner_id)

    def _somebody_of(self, login: str | None, owner_id: int) -> Account:
        """Who did something that a test did not name: an admin of the organization, else the owner."""
        if login is not None:
            return self.account(login)
        organization = self.state.organizations.get(owner_id)
        if organization is not None:
            for member, role in organization.members.items():
                if role == "admin":
                    return self.state.accounts[member]
        return self.state.accounts[owner_id]
