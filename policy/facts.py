"""The facts that decide an approval: what one reader saw of GitHub at one moment, frozen.

The bot's reader and the runner's build the same type, each from its own reading, and hand it to the
same decision. People are numbers here: a login can be renamed and taken by someone else, an id can't.
A fact that could not be read is never a default: the reader raises instead of building `Facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """An account at GitHub. `is_bot` is true for everything that is not a plain user account."""

    id: int
    login: str
    is_bot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFact:
    """One submitted review.

    Attributes:
        id: GitHub's number of the review.
        author: None when the account was deleted.
        state: APPROVED, CHANGES_REQUESTED, COMMENTED or DISMISSED.
        commit: the commit as GitHub names it now; GitHub may later name another one.
        submitted_at: when it was submitted; it orders one person's decisions and proves nothing.
        witnessed_commit: the commit named by the `submitted` event or by the bot's first own read;
            None when nobody saw the review then. The runner never has one.
    """

    id: int
    author: Person | None
    state: str
    commit: str | None
    submitted_at: datetime
    witnessed_commit: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFact:
    """One commit of the pull request; the ids are of the accounts that GitHub links, None for none."""

    sha: str
    author_id: int | None
    committer_id: int | None
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One changed file. `previous_path` is set for a rename; `status` is GitHub's word."""

    path: str
    previous_path: str | None
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineFact:
    """One event of the pull request's timeline that disturbs a request, with GitHub's name for it."""

    event: str
    actor: Person | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestFact:
    """The pull request at `head_sha`.

    Attributes:
        base_repository_id, head_repository_id: None when that repository is gone.
        timeline: the disturbing events only (`DISTURBING_EVENTS`), in order.
        files: every changed file against the base.
        mergeable: GitHub's own answer, None while it is still working it out. It decides nothing.
    """

    number: int
    state: str
    draft: bool
    merged: bool
    base_ref: str
    base_repository_id: int | None
    head_ref: str
    head_repository_id: int | None
    head_sha: str
    author: Person | None
    title: str
    body: str
    commits: tuple[CommitFact, ...]
    timeline: tuple[TimelineFact, ...]
    files: tuple[ChangedFile, ...]
    mergeable: bool | None

    @property
    def pushes(self) -> int:
        """How many forced pushes the timeline shows."""
        return sum(event.event == "head_ref_force_pushed" for event in self.timeline)


DISTURBING_EVENTS: Mapping[str, str] = {
    "base_ref_changed": "the pull request was pointed at another base",
    "base_ref_deleted": "the base branch was deleted",
    "base_ref_force_pushed": "the base branch was rewritten by a forced push",
    "closed": "the pull request was closed",
    "convert_to_draft": "the pull request was made a draft",
    "converted_to_draft": "the pull request was made a draft",
    "head_ref_deleted": "the request's branch was deleted",
    "head_ref_force_pushed": "the request's branch was rewritten by a forced push",
    "head_ref_restored": "the request's branch was deleted and restored",
    "merged": "the pull request was merged by hand",
    "reopened": "the pull request was closed and opened again",
    "transferred": "the pull request was moved to another repository",
}
"""Timeline events that end a request, even when the pull request looks as before afterwards.

Source: "Issue event types" in GitHub's REST documentation.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeownersFact:
    """The CODEOWNERS file that counts at one commit.

    `path` is None when the commit has none; `text` is None then, and also when what stands at `path`
    is no regular file under 3 MB. Both mean: nobody owns anything.
    """

    commit: str
    path: str | None
    text: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerFact:
    """One owner as CODEOWNERS names it, resolved.

    Attributes:
        name: as it stands in the file.
        people: ids of the people behind it who can write to the repository now.
        unresolved: why nobody is behind it, as half a sentence; None when it could be resolved.
    """

    name: str
    people: frozenset[int]
    unresolved: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFile:
    """A file in a git tree: its mode as git writes it (100644, 100755, 120000 …) and its blob's id."""

    mode: str
    blob: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that decides about one pull request, at one moment.

    Attributes:
        read_at: when reading ended, aware.
        repository_id, repository_name: the repository as it is now ("owner/name").
        base_commit_codeowners, tip_codeowners: CODEOWNERS at the manifest's base commit and at
            `base_tip`.
        base_tip: the commit at the tip of the base branch.
        owners: every owner that CODEOWNERS, at either commit, names for a deciding path.
        logins: names for the ids in here; for people to read only.
        manifest, rendering: the two committed files as they are at the head; None when not there.
        head_source: the files of the request's source at the head; None when it has no source.
        changed_since_base: paths of the request's source, modules included, that differ between the
            manifest's base commit and `base_tip`.
        app_id, app_user_id: the App that may open requests, and its account.
        limits: limits of GitHub that were hit, each as a sentence; then the facts are not whole.
        calls: how many calls to GitHub this reading took.
    """

    read_at: datetime
    repository_id: int
    repository_name: str
    pull_request: PullRequestFact
    reviews: tuple[ReviewFact, ...]
    base_commit_codeowners: CodeownersFact
    tip_codeowners: CodeownersFact
    base_tip: str
    owners: Mapping[str, OwnerFact]
    logins: Mapping[int, str]
    manifest: bytes | None = field(repr=False)
    rendering: bytes | None = field(repr=False)
    head_source: Mapping[str, TreeFile] | None = field(repr=False)
    changed_since_base: frozenset[str]
    app_id: int
    app_user_id: int
    limits: tuple[str, ...]
    calls: int

    @property
    def complete(self) -> bool:
        """Whether every list was read to its end."""
        return not self.limits


def witness(facts: Facts, commits: Mapping[int, str]) -> Facts:
    """The same facts with the commits that the bot saw, by review id.

    The bot calls this after it has stored its first own reading of reviews whose event it missed.
    """
    return replace(
        facts,
        reviews=tuple(
            replace(review, witnessed_commit=commits.get(review.id, review.witnessed_commit))
            for review in facts.reviews
        ),
    )
