"""The approval decision: frozen facts and one requirement in, one verdict with all its reasons out.

The rules run in this order, and every one that says anything says it as a `Finding`:

 1. the digest is the manifest's, and the request has not expired;
 2. the facts are whole;
 3. the repository is the manifest's, neither renamed nor transferred;
 4. the pull request is the App's own, open, no draft, on the same base, its body as written;
 5. nothing in its timeline disturbed it;
 6. it has one commit, made by the App on the manifest's base commit, and that is its head;
 7. it changes exactly the manifest, its rendering and files of the source, all with the expected bytes;
 8. the source has not changed on the base since;
 9. every deciding path has owners, the same ones at the manifest's base commit and at the base's tip;
10. an owner who requests changes ends it;
11. each person's latest decision counts, if that person may approve and it is for the head commit;
12. every deciding path is covered, and enough different owners approved.

Rules 1 to 9 void, and all of them are looked at so that people read every cause at once. Rule 10
denies. What is left is approved or still waiting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policy import coverage, ownership, reviews, voiding
from policy import deciding_paths as paths
from policy.coverage import Coverage
from policy.facts import Facts, Person
from policy.findings import Finding
from policy.manifest import Manifest
from policy.ownership import OwnedPaths
from policy.requirement import CommitEvidence, Requirement
from policy.reviews import CountedReview

__all__ = [
    "Approval",
    "Approved",
    "CommitEvidence",
    "Decision",
    "Denied",
    "Requirement",
    "Void",
    "Waiting",
    "decide",
    "deciding_paths",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One owner's approval that counts.

    Attributes:
        review_id: the review.
        person: who approved.
        commit: the commit that was approved: the pull request's head.
        covers: the deciding paths that this person owns.
        lines: the lines of CODEOWNERS, at the manifest's base commit, that say so.
    """

    review_id: int
    person: Person
    commit: str
    covers: tuple[str, ...]
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """Every deciding path is covered and enough owners approved."""

    approvals: tuple[Approval, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Not yet.

    Attributes:
        missing_paths: deciding paths without an approval that counts.
        still_needed: the least number of further owners that must approve.
        may_approve: for each missing path (or, when only the number is missing, each path) the
            logins that could still approve it, sorted.
    """

    missing_paths: tuple[str, ...]
    still_needed: int
    may_approve: Mapping[str, tuple[str, ...]]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """An owner requested changes; only a replan goes on."""

    by: Person
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Void:
    """The request can't be approved any more.

    Attributes:
        reasons: the findings that say why.
        findings: the reasons, then what the reviews would say without them.
    """

    reasons: tuple[Finding, ...]
    findings: tuple[Finding, ...]


Decision = Approved | Waiting | Denied | Void


def decide(facts: Facts, requirement: Requirement) -> Decision:
    """Decides by the rules above. Pure: the same facts and requirement give the same verdict."""
    owners = ownership.read(
        facts.base_commit_codeowners,
        facts.tip_codeowners,
        facts.owners,
        deciding_paths(facts, requirement.manifest),
    )
    causes = (*voiding.causes(facts, requirement), *owners.faults)
    judged = reviews.judge(facts, requirement, owners.groups)
    if causes:
        # The reviews are judged all the same, so that each of them is told why it doesn't count.
        return Void(reasons=causes, findings=(*causes, *judged.findings))
    if judged.denied_by is not None:
        return Denied(by=judged.denied_by, findings=judged.findings)
    covered = coverage.measure(facts, requirement, owners.groups, judged.counted)
    findings = (*judged.findings, *covered.findings)
    if covered.still_needed:
        return _waiting(facts, covered, findings)
    return Approved(
        approvals=tuple(_approval(review, owners.groups, requirement) for review in judged.counted),
        findings=findings,
    )


def deciding_paths(facts: Facts, manifest: Manifest) -> tuple[str, ...]:
    """The paths whose owners decide: changed files, old and new name, source files, owned paths."""
    return paths.of(facts.pull_request.files, manifest)


def _waiting(facts: Facts, covered: Coverage, findings: tuple[Finding, ...]) -> Waiting:
    return Waiting(
        missing_paths=tuple(sorted(path for group in covered.missing for path in group.paths)),
        still_needed=covered.still_needed,
        may_approve={
            path: tuple(sorted(facts.logins.get(person, f"user {person}") for person in people))
            for group, people in covered.candidates
            for path in group.paths
        },
        findings=findings,
    )


def _approval(review: CountedReview, groups: tuple[OwnedPaths, ...], requirement: Requirement) -> Approval:
    own = [group for group in groups if review.person.id in group.people]
    return Approval(
        review_id=review.review_id,
        person=review.person,
        commit=requirement.head_sha,
        covers=tuple(sorted(path for group in own for path in group.paths)),
        lines=tuple(sorted(group.line for group in own)),
    )
