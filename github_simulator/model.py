"""The records that make up the simulated GitHub.

Everything that a call can change, apart from git's objects, lives in one ``State``. It is plain data, so
a copy of it is what the API showed a moment ago (the lag fault needs that).
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Level = Literal["pull", "triage", "push", "maintain", "admin"]
LEVELS: tuple[str, ...] = ("none", "pull", "triage", "push", "maintain", "admin")
"""Rights in a repository, weakest first (docs.github.com, "Repository roles for an organization")."""


@dataclass(slots=True, kw_only=True)
class Account:
    """A user, an organization or the bot of an App: all three share one space of ids and logins."""

    id: int
    login: str
    kind: Literal["User", "Organization", "Bot"]
    created_at: datetime
    name: str | None = None
    email: str | None = None
    site_admin: bool = False


@dataclass(slots=True, kw_only=True)
class Organization:
    """What an organization has beyond its account: members and what each may do."""

    id: int
    members: dict[int, Literal["admin", "member"]] = field(default_factory=dict)
    pending_members: set[int] = field(default_factory=set)
    base_permission: Literal["none", "read", "write", "admin"] = "none"


@dataclass(slots=True, kw_only=True)
class TeamMember:
    """One person's place in one team; a pending one has not yet accepted the invitation."""

    role: Literal["member", "maintainer"] = "member"
    state: Literal["active", "pending"] = "active"


@dataclass(slots=True, kw_only=True)
class Team:
    """A team; ``closed`` is GitHub's word for visible to the whole organization."""

    id: int
    organization_id: int
    name: str
    slug: str
    created_at: datetime
    privacy: Literal["closed", "secret"] = "closed"
    parent_id: int | None = None
    description: str | None = None
    members: dict[int, TeamMember] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class App:
    """A GitHub App with its bot account and the public half of its key."""

    id: int
    slug: str
    name: str
    bot_id: int
    owner_id: int
    public_key_pem: str
    permissions: dict[str, str]
    events: list[str]
    created_at: datetime
    hook: "Hook"


@dataclass(slots=True, kw_only=True)
class Installation:
    """An App installed on an account; ``repository_ids`` is None when it covers all repositories."""

    id: int
    app_id: int
    account_id: int
    permissions: dict[str, str]
    events: list[str]
    repository_ids: list[int] | None
    created_at: datetime
    updated_at: datetime
    suspended_at: datetime | None = None
    suspended_by: int | None = None


@dataclass(slots=True, kw_only=True)
class InstallationToken:
    """A short-lived token of an installation, perhaps narrowed to fewer rights or repositories."""

    installation_id: int
    permissions: dict[str, str]
    repository_ids: list[int] | None
    expires_at: datetime


@dataclass(slots=True, kw_only=True)
class Hook:
    """A webhook of a repository, or the one of an App. Without a URL nothing is sent."""

    id: int
    url: str | None
    secret: str | None
    events: list[str]
    created_at: datetime
    updated_at: datetime
    content_type: Literal["json", "form"] = "json"
    insecure_ssl: str = "0"
    active: bool = True
    last_code: int | None = None


@dataclass(slots=True, kw_only=True)
class Label:
    """A label of a repository."""

    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(slots=True, kw_only=True)
class Protection:
    """Branch protection: what a merge into the branch needs."""

    reviews_required: bool = False
    required_approving_reviews: int = 0
    dismiss_stale_reviews: bool = False
    require_code_owner_reviews: bool = False
    require_last_push_approval: bool = False
    status_checks_required: bool = False
    contexts: list[str] = field(default_factory=list)
    strict: bool = False
    enforce_admins: bool = False
    allow_force_pushes: bool = False
    allow_deletions: bool = False
    linear_history: bool = False


@dataclass(slots=True, kw_only=True)
class TimelineEvent:
    """One entry of an issue's timeline; ``details`` depends on its kind."""

    id: int
    kind: str
    actor_id: int
    at: datetime
    commit_id: str | None = None
    via_app_id: int | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Issue:
    """An issue; a pull request is one too and keeps its title, body, state and labels here."""

    id: int
    number: int
    title: str
    body: str | None
    author_id: int
    created_at: datetime
    updated_at: datetime
    state: Literal["open", "closed"] = "open"
    state_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: int | None = None
    locked: bool = False
    lock_reason: str | None = None
    labels: list[str] = field(default_factory=list)
    timeline: list[TimelineEvent] = field(default_factory=list)
    last_edited_at: datetime | None = None
    via_app_id: int | None = None


@dataclass(slots=True, kw_only=True)
class Comment:
    """A comment in the conversation of an issue or pull request."""

    id: int
    number: int
    author_id: int
    body: str
    created_at: datetime
    updated_at: datetime
    last_edited_at: datetime | None = None
    via_app_id: int | None = None
    reactions: list[tuple[int, int, str, datetime]] = field(default_factory=list)
    """Id, user, content, time."""


ReviewState = Literal["PENDING", "APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED"]


@dataclass(slots=True, kw_only=True)
class ReviewComment:
    """A comment on a line of the diff, part of a review."""

    id: int
    review_id: int
    author_id: int
    body: str
    path: str
    line: int | None
    commit_id: str
    created_at: datetime


@dataclass(slots=True, kw_only=True)
class Review:
    """A review of a pull request."""

    id: int
    author_id: int
    body: str
    state: ReviewState
    commit_id: str
    submitted_at: datetime | None
    via_app_id: int | None = None
    comments: list[ReviewComment] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Mergeability:
    """What is known about merging one head into one base tip."""

    head_sha: str
    base_tip: str
    clean: bool
    merge_commit_sha: str | None


@dataclass(slots=True, kw_only=True)
class PullRequest:
    """What a pull request has beyond its issue."""

    id: int
    number: int
    head_repository_id: int | None
    head_owner_id: int
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    draft: bool = False
    merged_at: datetime | None = None
    merged_by: int | None = None
    merge_commit_sha: str | None = None
    requested_reviewers: list[int] = field(default_factory=list)
    requested_teams: list[int] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    mergeability: Mergeability | None = None
    maintainer_can_modify: bool = False


@dataclass(slots=True, kw_only=True)
class CheckRun:
    """A check run of an App on a commit."""

    id: int
    app_id: int
    suite_id: int
    head_sha: str
    name: str
    status: str
    conclusion: str | None
    started_at: datetime
    completed_at: datetime | None
    external_id: str
    details_url: str | None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, Any]] = field(default_factory=list)
    actions: list[dict[str, str]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Status:
    """A commit status."""

    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    creator_id: int
    created_at: datetime


@dataclass(slots=True, kw_only=True)
class Repository:
    """A repository; ``refs`` is what the API shows, and is written through to git."""

    id: int
    owner_id: int
    name: str
    private: bool
    created_at: datetime
    updated_at: datetime
    pushed_at: datetime
    default_branch: str = "main"
    description: str | None = None
    archived: bool = False
    fork_of: int | None = None
    refs: dict[str, str] = field(default_factory=dict)
    collaborators: dict[int, Level] = field(default_factory=dict)
    teams: dict[int, Level] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    protections: dict[str, Protection] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    pulls: dict[int, PullRequest] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    hooks: dict[int, Hook] = field(default_factory=dict)
    allow_merge_commit: bool = True
    allow_squash_merge: bool = True
    allow_rebase_merge: bool = True
    delete_branch_on_merge: bool = False


@dataclass(slots=True, kw_only=True)
class State:
    """The whole simulated GitHub at one moment, without git's objects."""

    accounts: dict[int, Account] = field(default_factory=dict)
    logins: dict[str, int] = field(default_factory=dict)
    organizations: dict[int, Organization] = field(default_factory=dict)
    teams: dict[int, Team] = field(default_factory=dict)
    repositories: dict[int, Repository] = field(default_factory=dict)
    names: dict[tuple[int, str], int] = field(default_factory=dict)
    """Owner id and lower-case name to repository id, former names included."""
    apps: dict[int, App] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    personal_tokens: dict[str, int] = field(default_factory=dict)
    installation_tokens: dict[str, InstallationToken] = field(default_factory=dict)
    last_id: dict[str, int] = field(default_factory=dict)

    def next_id(self, kind: str, first: int) -> int:
        """The next number of a kind; numbers are the same in every run."""
        self.last_id[kind] = self.last_id.get(kind, first - 1) + 1
        return self.last_id[kind]

    def account_by_login(self, login: str) -> Account | None:
        """Logins are compared without case."""
        found = self.logins.get(login.lower())
        return self.accounts.get(found) if found is not None else None

    def repository_by_name(self, owner: str, name: str) -> Repository | None:
        """A repository by its present or a former name."""
        account = self.account_by_login(owner)
        if account is None:
            return None
        found = self.names.get((account.id, name.lower().removesuffix(".git")))
        return self.repositories.get(found) if found is not None else None

    def team_by_slug(self, organization_id: int, slug: str) -> Team | None:
        for team in self.teams.values():
            if team.organization_id == organization_id and team.slug == slug.lower():
                return team
        return None

    def full_name(self, repository: Repository) -> str:
        return f"{self.accounts[repository.owner_id].login}/{repository.name}"
