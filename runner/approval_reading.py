"""Reads at GitHub, with the runner's own App, whether the request is approved, and says no otherwise.

This is the check that makes a bot that was taken over harmless: it may sign any grant, but the owners'
approval stands at GitHub, for the commit that holds this manifest and this rendering, or nothing runs.
The bot's own reading plays no part in it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import assert_never

import evidence
from policy import approval, manifest
from policy.approval import Approved, Denied, Requirement, Void, Waiting
from policy.facts import Facts
from policy.manifest import Manifest
from policy.refusal import Code, Refused, refuse
from policy.requirement import CommitEvidence

FRESH_SECONDS = 30
"""Facts older than this are read again before anything is spent on them."""


def collect(reader: evidence.GitHubReader, number: int, approved: Manifest) -> Facts:
    """Reads all that decides about a pull request.

    Raises:
        Refused: `github_unavailable`, when it could not be read whole.
    """
    try:
        return reader.collect(number, manifest=approved, witnessed={})
    except evidence.Unavailable as error:
        raise unavailable(str(error)) from None


def decide(
    facts: Facts,
    approved: Manifest,
    *,
    rendering: bytes,
    source: Mapping[str, bytes] | None,
    head_sha: str,
    required: int,
    barred: Collection[int],
    allow_self_approval: bool,
    app_user_id: int,
    now: datetime,
) -> Approved:
    """Decides on the facts; only an approval comes back.

    Raises:
        Refused: `approval_missing`, with every reason.
    """
    decision = approval.decide(
        facts,
        Requirement(
            digest=manifest.digest(approved),
            manifest=approved,
            rendering=rendering,
            source=source,
            head_sha=head_sha,
            required=required,
            barred=frozenset({approved.requester.person_id, *barred}),
            allow_self_approval=allow_self_approval,
            app_user_id=app_user_id,
            body=None,
            commit_evidence=CommitEvidence.ONLY_COMMIT,
            now=now,
        ),
    )
    match decision:
        case Approved():
            return decision
        case Waiting():
            reasons = [finding.reason for finding in decision.findings if not finding.ok]
            missing = ", ".join(decision.missing_paths[:5])
            what = f"{decision.still_needed} more approvals are needed" + (
                f" for {missing}" if missing else ""
            )
            raise _missing([what, *reasons])
        case Denied():
            raise _missing([f"@{decision.by.login} requested changes"])
        case Void():
            raise _missing([finding.reason for finding in decision.reasons])
        case _:
            assert_never(decision)


def unavailable(why: str) -> Refused:
    """GitHub could not be read, so nothing is known."""
    return refuse(
        Code.GITHUB_UNAVAILABLE,
        f"the approval can't be read at GitHub: {why}",
        rule="A runner acts only on an approval that it has read itself.",
        remedy="Wait until GitHub can be reached; the grant stays unspent.",
    )


def _missing(reasons: list[str]) -> Refused:
    return refuse(
        Code.APPROVAL_MISSING,
        f"this runner finds no approval at GitHub: {'; '.join(reasons[:10])}",
        rule="Nothing is carried out but what its code owners approved, as this runner reads it itself.",
        remedy="Have the pull request approved by its code owners, or ask for this change anew.",
    )
