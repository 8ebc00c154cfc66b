"""Findings: one reason for each yes and no of the approval decision, in words for the pull request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class FindingCode(StrEnum):
    """Stable names of findings. docs/approval.md lists them all, and a test compares."""

    # Rules 1 to 9: what voids a request.
    DIGEST_DIFFERS = "digest_differs"
    EXPIRED = "expired"
    FACTS_INCOMPLETE = "facts_incomplete"
    REPOSITORY_MOVED = "repository_moved"
    PULL_REQUEST_NOT_OURS = "pull_request_not_ours"
    PULL_REQUEST_MERGED = "pull_request_merged"
    PULL_REQUEST_CLOSED = "pull_request_closed"
    PULL_REQUEST_DRAFT = "pull_request_draft"
    BASE_CHANGED = "base_changed"
    BODY_EDITED = "body_edited"
    DISTURBED = "disturbed"
    HEAD_DIFFERS = "head_differs"
    COMMITS_ADDED = "commits_added"
    COMMIT_NOT_OURS = "commit_not_ours"
    FILE_UNEXPECTED = "file_unexpected"
    MANIFEST_FILE_DIFFERS = "manifest_file_differs"
    RENDERING_FILE_DIFFERS = "rendering_file_differs"
    SOURCE_DIFFERS = "source_differs"
    BASE_SOURCE_MOVED = "base_source_moved"
    NOTHING_OWNED = "nothing_owned"
    CODEOWNERS_MISSING = "codeowners_missing"
    PATH_UNOWNED = "path_unowned"
    PATH_UNCERTAIN = "path_uncertain"
    OWNERS_CHANGED = "owners_changed"

    # Rules 10 and 11: the people.
    AUTHOR_GONE = "author_gone"
    AUTHOR_IS_BOT = "author_is_bot"
    NOT_AN_OWNER = "not_an_owner"
    CHANGES_REQUESTED = "changes_requested"
    CHANGES_REQUESTED_BY_OTHER = "changes_requested_by_other"
    REVIEW_DISMISSED = "review_dismissed"
    REVIEW_SUPERSEDED = "review_superseded"
    REVIEW_IS_COMMENT = "review_is_comment"
    OWN_REQUEST = "own_request"
    COMMIT_UNWITNESSED = "commit_unwitnessed"
    OTHER_COMMIT = "other_commit"
    APPROVED = "approved"
    SELF_APPROVED = "self_approved"

    # Rule 12: coverage and count.
    PATH_COVERED = "path_covered"
    PATH_MISSING = "path_missing"
    NOBODY_MAY_APPROVE = "nobody_may_approve"
    APPROVALS_MISSING = "approvals_missing"
    APPROVALS_ENOUGH = "approvals_enough"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One yes or no.

    Attributes:
        ok: whether this speaks for the request.
        subject: what was looked at, for example "review 12 by @alice".
        reason: one sentence for people, with its full stop.
        code: the stable name.
    """

    ok: bool
    subject: str
    reason: str
    code: FindingCode


def yes(code: FindingCode, subject: str, reason: str) -> Finding:
    """A finding that speaks for the request."""
    return Finding(ok=True, subject=subject, reason=reason, code=code)


def no(code: FindingCode, subject: str, reason: str) -> Finding:
    """A finding that speaks against it."""
    return Finding(ok=False, subject=subject, reason=reason, code=code)


def some(names: Iterable[str], *, shown: int = 3) -> str:
    """A list of paths or names as people read it: the first few, then how many more.

    Characters that would not print are shown escaped, so that a file's name can't forge a sentence.
    """
    every = [_printable(name) for name in names]
    rest = len(every) - shown
    if rest > 0:
        return f"{', '.join(every[:shown])} and {rest} more"
    return " and ".join(part for part in (", ".join(every[:-1]), *every[-1:]) if part)


def _printable(name: str) -> str:
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in name
    )
