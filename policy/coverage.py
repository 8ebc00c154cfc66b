"""Rule 12: whether the approvals that count cover every deciding path, and whether they are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policy import ownership, reviews
from policy.facts import Facts
from policy.findings import Finding, FindingCode, no, some, yes
from policy.ownership import OwnedPaths
from policy.requirement import Requirement
from policy.reviews import CountedReview


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What is covered and what is not.

    Attributes:
        missing: the groups of paths that no approval covers.
        still_needed: the least number of further owners that must approve; 0 when it is enough.
        candidates: for each line of CODEOWNERS that still needs somebody, ids of who may approve.
        findings: a yes or a no for each group, and for the number.
    """

    missing: tuple[OwnedPaths, ...]
    still_needed: int
    candidates: tuple[tuple[OwnedPaths, frozenset[int]], ...]
    findings: tuple[Finding, ...]


def measure(
    facts: Facts,
    requirement: Requirement,
    groups: Sequence[OwnedPaths],
    counted: Sequence[CountedReview],
) -> Coverage:
    """Measures the approvals against every group of deciding paths and against the number."""
    approvers = {review.person.id for review in counted}
    missing = tuple(group for group in groups if not group.people & approvers)
    needed = required(requirement)
    still_needed = max(needed - len(approvers), 1 if missing else 0)
    wanted = missing or (tuple(groups) if still_needed else ())
    candidates = tuple(
        (
            group,
            frozenset(
                person
                for person in group.people - approvers
                if reviews.may_approve(person, requirement) and person != requirement.app_user_id
            ),
        )
        for group in wanted
    )
    findings = [_group_finding(facts, group, approvers) for group in groups]
    findings.append(_number(len(approvers), needed))
    findings += [_nobody(facts, group) for group, people in candidates if group in missing and not people]
    available = frozenset().union(*(people for _, people in candidates))
    if len(available) < still_needed:
        findings.append(_too_few(still_needed, len(available)))
    return Coverage(
        missing=missing, still_needed=still_needed, candidates=candidates, findings=tuple(findings)
    )


def required(requirement: Requirement) -> int:
    """How many owners must approve: what the policy asks, never less than the manifest or than one."""
    return max(requirement.required, requirement.manifest.approvals_required, 1)


def _group_finding(facts: Facts, group: OwnedPaths, approvers: set[int]) -> Finding:
    shown = group.shown()
    line = f"CODEOWNERS line {group.line}"
    covering = sorted(group.people & approvers)
    if covering:
        names = some(f"@{facts.logins.get(person, person)}" for person in covering)
        return yes(FindingCode.PATH_COVERED, shown, f"{names} approved as owner of {shown} ({line}).")
    named = ownership.described(facts.owners, group.names)
    reason = f"An approval by an owner of {shown} is missing ({line} names {named})."
    return no(FindingCode.PATH_MISSING, shown, reason)


def _number(given: int, needed: int) -> Finding:
    reason = f"{given} of {needed} needed approvals by different owners."
    if given < needed:
        return no(FindingCode.APPROVALS_MISSING, "approvals", reason)
    return yes(FindingCode.APPROVALS_ENOUGH, "approvals", reason)


def _nobody(facts: Facts, group: OwnedPaths) -> Finding:
    named = ownership.described(facts.owners, group.names)
    reason = (
        f"Nobody may approve {group.shown()}: CODEOWNERS line {group.line} names {named}, and of "
        "them nobody with write access is free to approve this request."
    )
    return no(FindingCode.NOBODY_MAY_APPROVE, group.shown(), reason)


def _too_few(still_needed: int, available: int) -> Finding:
    reason = f"Approvals still needed: {still_needed}; owners who may still give one: {available}."
    return no(FindingCode.NOBODY_MAY_APPROVE, "approvals", reason)
