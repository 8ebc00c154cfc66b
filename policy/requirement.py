"""What one request needs to be approved: the caller's side of the decision, beside the facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from policy.manifest import Manifest


class CommitEvidence(StrEnum):
    """How a reader knows which commit a review approved.

    GitHub may later name another commit for a review than the one that was reviewed, so a later
    reading alone is not evidence.
    """

    WITNESSED = "witnessed"
    """The bot: the commit was seen when the review was submitted or first read."""

    ONLY_COMMIT = "only_commit"
    """The runner: the pull request never had another commit, so the review can mean no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One request and what it takes.

    Attributes:
        digest: the digest that the caller is about to act on; recomputed from `manifest` here.
        manifest: the request.
        rendering: the exact bytes that the committed rendering must have.
        source: the exact bytes of each file that would run, by repository path; None when the
            request has no source.
        head_sha: the commit that the App made: the bot's own record, or the grant's evidence.
        required: how many different owners must approve; never less than the manifest's number.
        barred: ids of the people behind the request, those who joined it included.
        allow_self_approval: whether barred people count all the same.
        app_user_id: the account of the App that opens requests.
        body: the pull request's body as the App wrote it; None when the caller can't know it (the
            runner: the committed rendering is the authority there).
        commit_evidence: how the caller knows what a review approved.
        now: the present, aware.
    """

    digest: str
    manifest: Manifest
    rendering: bytes = field(repr=False)
    source: Mapping[str, bytes] | None = field(repr=False)
    head_sha: str
    required: int
    barred: frozenset[int]
    allow_self_approval: bool
    app_user_id: int
    body: str | None = field(repr=False)
    commit_evidence: CommitEvidence
    now: datetime
