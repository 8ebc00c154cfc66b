"""A decision of `policy.approval` as it is stored, shown and recorded. Pure."""

from __future__ import annotations

from typing import Final, assert_never

from policy.approval import Approved, Decision, Denied, Void, Waiting
from policy.audit import Kind
from policy.canonical import Json
from policy.findings import Finding, FindingCode

COUNTED: Final = frozenset({FindingCode.APPROVED, FindingCode.SELF_APPROVED})
"""Findings of an approval that counts."""

REFUSED: Final = frozenset(
    {
        FindingCode.AUTHOR_GONE,
        FindingCode.AUTHOR_IS_BOT,
        FindingCode.NOT_AN_OWNER,
        FindingCode.OWN_REQUEST,
        FindingCode.COMMIT_UNWITNESSED,
        FindingCode.OTHER_COMMIT,
        FindingCode.REVIEW_DISMISSED,
        FindingCode.REVIEW_SUPERSEDED,
        FindingCode.CHANGES_REQUESTED,
        FindingCode.CHANGES_REQUESTED_BY_OTHER,
    }
)
"""Findings of a review that does not count."""


def stored(decision: Decision) -> dict[str, Json]:
    """The decision for the request's row: every finding, what is missing, who may give it."""
    match decision:
        case Waiting():
            may_approve: dict[str, Json] = {
                path: list(logins) for path, logins in sorted(decision.may_approve.items())
            }
            missing: list[Json] = list(decision.missing_paths)
            still_needed = decision.still_needed
        case Approved() | Denied() | Void():
            may_approve, missing, still_needed = {}, [], 0
        case _:
            assert_never(decision)
    return {
        "verdict": type(decision).__name__.lower(),
        "given": given(decision),
        "still_needed": still_needed,
        "missing_paths": missing,
        "may_approve": may_approve,
        "findings": [
            {
                "ok": finding.ok,
                "subject": finding.subject,
                "reason": finding.reason,
                "code": finding.code.value,
            }
            for finding in decision.findings
        ],
    }


def given(decision: Decision) -> int:
    """How many approvals count."""
    return sum(finding.code in COUNTED for finding in decision.findings)


def event_of(finding: Finding) -> Kind | None:
    """The audit event that a finding about a review is; None for findings about anything else."""
    if finding.code in COUNTED:
        return Kind.APPROVAL_GIVEN
    if finding.code in REFUSED:
        return Kind.APPROVAL_REFUSED
    return None
