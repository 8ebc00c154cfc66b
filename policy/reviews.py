"""Rules 10 and 11: what each person's reviews say, and whose approval counts.

Only the latest decision of a person speaks. A comment decides nothing. A dismissal ends a decision
and never revives an older one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policy import ownership
from policy.facts import Facts, Person, ReviewFact
from policy.findings import Finding, FindingCode, no, yes
from policy.ownership import OwnedPaths
from policy.requirement import CommitEvidence, Requirement

_DECISIONS = frozenset({"APPROVED", "CHANGES_REQUESTED", "DISMISSED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedReview:
    """An approval that counts."""

    review_id: int
    person: Person


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the reviews say: whose approvals count, which owner requested changes first, and why."""

    counted: tuple[CountedReview, ...]
    denied_by: Person | None
    findings: tuple[Finding, ...]


def judge(facts: Facts, requirement: Requirement, groups: Sequence[OwnedPaths]) -> Judged:
    """Looks at every review, each person's in the order in which they were submitted."""
    findings: list[Finding] = []
    latest: dict[int, tuple[Person, ReviewFact]] = {}
    for review in sorted(facts.reviews, key=lambda review: (review.submitted_at, review.id)):
        if review.author is None:
            findings.append(
                no(FindingCode.AUTHOR_GONE, f"review {review.id}", "The account that gave it was deleted.")
            )
        elif review.state not in _DECISIONS:
            reason = f"@{review.author.login} commented, which decides nothing."
            findings.append(no(FindingCode.REVIEW_IS_COMMENT, _subject(review, review.author), reason))
        else:
            author = review.author
            if author.id in latest:
                older = latest[author.id][1]
                reason = f"@{author.login} decided again later, in review {review.id}."
                findings.append(no(FindingCode.REVIEW_SUPERSEDED, _subject(older, author), reason))
            latest[author.id] = (author, review)
    verdicts = [
        (person, review, _decision(person, review, facts, requirement, groups))
        for person, review in latest.values()
    ]
    findings += [verdict for _, _, verdict in verdicts]
    denials = [person for person, _, found in verdicts if found.code is FindingCode.CHANGES_REQUESTED]
    return Judged(
        counted=tuple(
            CountedReview(review_id=review.id, person=person)
            for person, review, found in verdicts
            if found.ok
        ),
        denied_by=denials[0] if denials else None,
        findings=tuple(findings),
    )


def may_approve(person_id: int, requirement: Requirement) -> bool:
    """Whether this person's approval could count, leaving ownership aside."""
    return requirement.allow_self_approval or person_id not in requirement.barred


def _decision(
    person: Person,
    review: ReviewFact,
    facts: Facts,
    requirement: Requirement,
    groups: Sequence[OwnedPaths],
) -> Finding:
    """One finding for a person's latest decision; it is `ok` exactly when it counts as an approval."""
    subject = _subject(review, person)
    name = f"@{person.login}"
    owns = any(person.id in group.people for group in groups)
    if person.is_bot or person.id == requirement.app_user_id:
        return no(FindingCode.AUTHOR_IS_BOT, subject, f"{name} is no person, and only people decide.")
    if review.state == "DISMISSED":
        return no(FindingCode.REVIEW_DISMISSED, subject, f"The review by {name} was dismissed.")
    if review.state == "CHANGES_REQUESTED":
        if owns:
            return no(FindingCode.CHANGES_REQUESTED, subject, f"{name}, an owner, requested changes.")
        reason = f"{name} requested changes, but is not an owner of {_not_owned(facts, groups)}."
        return no(FindingCode.CHANGES_REQUESTED_BY_OTHER, subject, reason)
    if not owns:
        reason = f"{name} approved, but is not an owner of {_not_owned(facts, groups)}."
        return no(FindingCode.NOT_AN_OWNER, subject, reason)
    if not may_approve(person.id, requirement):
        reason = f"{name} asked for this change and can't approve it."
        return no(FindingCode.OWN_REQUEST, subject, reason)
    return _commit(person, review, facts, requirement) or _counts(person, review, requirement)


def _commit(person: Person, review: ReviewFact, facts: Facts, requirement: Requirement) -> Finding | None:
    """The finding against a review that is not, or not certainly, for the head commit."""
    subject = _subject(review, person)
    witnessed = requirement.commit_evidence is CommitEvidence.WITNESSED
    commit = review.witnessed_commit if witnessed else review.commit
    if commit is None:
        reason = (
            f"Nobody saw which commit @{person.login} approved when the review was given; "
            "please approve once more."
        )
        return no(FindingCode.COMMIT_UNWITNESSED, subject, reason)
    if commit != requirement.head_sha:
        reason = (
            f"The approval by @{person.login} is on {commit[:7]}, the request is at "
            f"{requirement.head_sha[:7]}."
        )
        return no(FindingCode.OTHER_COMMIT, subject, reason)
    if commit != facts.pull_request.head_sha:
        reason = (
            f"The approval by @{person.login} is on {commit[:7]}, and the pull request has moved on to "
            f"{facts.pull_request.head_sha[:7]}."
        )
        return no(FindingCode.OTHER_COMMIT, subject, reason)
    return None


def _counts(person: Person, review: ReviewFact, requirement: Requirement) -> Finding:
    subject = _subject(review, person)
    if person.id in requirement.barred:
        reason = f"@{person.login} approved a change of their own, which this tool allows."
        return yes(FindingCode.SELF_APPROVED, subject, reason)
    return yes(FindingCode.APPROVED, subject, f"@{person.login} approved {requirement.head_sha[:7]}.")


def _not_owned(facts: Facts, groups: Sequence[OwnedPaths]) -> str:
    """The paths that somebody does not own, and who does: by the first line of CODEOWNERS that matters."""
    if not groups:
        return "anything in this request, for nobody is for certain"
    first = groups[0]
    named = ownership.described(facts.owners, first.names)
    return f"{first.shown()} (CODEOWNERS line {first.line} names {named})"


def _subject(review: ReviewFact, person: Person) -> str:
    return f"review {review.id} by @{person.login}"
