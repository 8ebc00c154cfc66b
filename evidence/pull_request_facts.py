"""A pull request, its commits, files, timeline and reviews as facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evidence import fields
from evidence.rest import Rest
from evidence.unavailable import Unavailable
from policy.facts import (
    DISTURBING_EVENTS,
    ChangedFile,
    CommitFact,
    Person,
    PullRequestFact,
    ReviewFact,
    TimelineFact,
)

MOST_FILES = 3000
"""Changed files that GitHub lists ("List pull requests files")."""

MOST_COMMITS = 250
"""Commits that GitHub lists ("List commits on a pull request")."""


class Moved(Exception):  # noqa: N818  It asks for another try and never leaves this package.
    """What was read belongs to two different moments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A pull request with everything that belongs to it.

    Attributes:
        repository_id, repository_name: the repository that it is in now.
        limits: limits of GitHub that were hit, as sentences.
    """

    pull_request: PullRequestFact
    repository_id: int
    repository_name: str
    reviews: tuple[ReviewFact, ...]
    limits: tuple[str, ...]


def read(rest: Rest, repository: str, answer: fields.Answer, witnessed: Mapping[int, str]) -> Snapshot:
    """Reads what belongs to a pull request.

    Args:
        answer: GitHub's answer for the pull request itself.
        witnessed: the commits that the bot saw, by review id.

    Raises:
        Moved: when a list does not fit to the pull request's own counts.
        Unavailable: when GitHub can't be read.
    """
    number = fields.number(answer, "number")
    pull = f"/repos/{repository}/pulls/{number}"
    commits = tuple(_commit(entry) for entry in rest.every(f"{pull}/commits"))
    files = tuple(_file(entry) for entry in rest.every(f"{pull}/files"))
    limits = (
        *_limit(len(commits), fields.number(answer, "commits"), MOST_COMMITS, "commits"),
        *_limit(len(files), fields.number(answer, "changed_files"), MOST_FILES, "changed files"),
    )
    timeline = rest.every(f"/repos/{repository}/issues/{number}/timeline")
    reviews = rest.every(f"{pull}/reviews")
    head_repository = fields.value(answer, "head", "repo")
    return Snapshot(
        pull_request=PullRequestFact(
            number=number,
            state=fields.text(answer, "state"),
            draft=fields.flag(answer, "draft"),
            merged=fields.flag(answer, "merged"),
            base_ref=fields.text(answer, "base", "ref"),
            base_repository_id=fields.number(answer, "base", "repo", "id"),
            head_ref=fields.text(answer, "head", "ref"),
            head_repository_id=fields.number(head_repository, "id") if head_repository else None,
            head_sha=fields.text(answer, "head", "sha"),
            author=fields.person(answer, "user"),
            title=fields.text(answer, "title"),
            body=fields.value(answer, "body") or "",
            commits=commits,
            timeline=tuple(event for entry in timeline if (event := _event(entry)) is not None),
            files=files,
            mergeable=fields.value(answer, "mergeable"),
        ),
        repository_id=fields.number(answer, "base", "repo", "id"),
        repository_name=fields.text(answer, "base", "repo", "full_name"),
        reviews=tuple(fact for entry in reviews if (fact := _review(entry, witnessed)) is not None),
        limits=limits,
    )


def _limit(listed: int, counted: int, most: int, what: str) -> tuple[str, ...]:
    if listed >= most or counted > most:
        return (f"GitHub lists at most {most} {what} of a pull request, and this one has {counted}.",)
    if listed != counted:
        raise Moved
    return ()


def _commit(answer: object) -> CommitFact:
    parents = fields.value(answer, "parents")
    author, committer = fields.person(answer, "author"), fields.person(answer, "committer")
    return CommitFact(
        sha=fields.text(answer, "sha"),
        author_id=author.id if author else None,
        committer_id=committer.id if committer else None,
        parents=tuple(fields.text(parent, "sha") for parent in parents),
    )


def _file(answer: object) -> ChangedFile:
    status = fields.text(answer, "status")
    renamed = status == "renamed" or (isinstance(answer, dict) and "previous_filename" in answer)
    return ChangedFile(
        path=fields.text(answer, "filename"),
        previous_path=fields.text(answer, "previous_filename") if renamed else None,
        status=status,
    )


def _event(answer: object) -> TimelineFact | None:
    event = fields.text(answer, "event")
    if event not in DISTURBING_EVENTS:
        return None
    return TimelineFact(event=event, actor=fields.person(answer, "actor"))


def _review(answer: object, witnessed: Mapping[int, str]) -> ReviewFact | None:
    state = fields.text(answer, "state").upper()
    if state == "PENDING":
        # Only its author sees it; it has not been submitted.
        return None
    number = fields.number(answer, "id")
    return ReviewFact(
        id=number,
        author=fields.person(answer, "user"),
        state=state,
        commit=_commit_id(answer),
        submitted_at=fields.moment(answer, "submitted_at"),
        witnessed_commit=witnessed.get(number),
    )


def _commit_id(answer: object) -> str | None:
    return fields.text(answer, "commit_id") if fields.value(answer, "commit_id") is not None else None


def authors(snapshot: Snapshot) -> dict[int, Person]:
    """The people who reviewed, by id."""
    return {review.author.id: review.author for review in snapshot.reviews if review.author is not None}


def identity(answer: fields.Answer) -> tuple[object, ...]:
    """What must be the same before and after reading, for the reading to be of one moment.

    Raises:
        Unavailable: when a part of it is missing.
    """
    if not isinstance(answer, dict):
        raise Unavailable("GitHub's answer for a pull request is no object")
    names = (
        ("number",),
        ("state",),
        ("draft",),
        ("merged",),
        ("title",),
        ("body",),
        ("updated_at",),
        ("commits",),
        ("changed_files",),
        ("base", "ref"),
        ("base", "sha"),
        ("base", "repo", "full_name"),
        ("head", "sha"),
    )
    return tuple(fields.value(answer, *name) for name in names)
