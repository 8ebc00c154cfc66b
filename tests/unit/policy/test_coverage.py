"""When approvals are enough, and what is said when they can't be."""

from __future__ import annotations

from policy.approval import Approved, Waiting
from policy.facts import OwnerFact
from policy.findings import Finding, FindingCode
from tests.approval_facts import (
    ALICE,
    ASKER,
    CAROL,
    a_requirement,
    in_order,
    owners,
    review,
    verdict,
)


def nobody(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.reason for finding in findings if finding.code is FindingCode.NOBODY_MAY_APPROVE]


def test_an_unresolved_owner_is_told_with_the_reason() -> None:
    decision = verdict(owners=owners(acme__platform=[]))
    assert isinstance(decision, Waiting)
    assert decision.may_approve == {"terraform/web/": (), "terraform/web/main.tf": ()}
    assert nobody(decision.findings) == [
        (
            "Nobody may approve terraform/web/: CODEOWNERS line 2 names @acme/platform (has no write "
            "access), and of them nobody with write access is free to approve this request."
        ),
        "Approvals still needed: 1; owners who may still give one: 0.",
    ]


def test_people_of_an_owner_that_was_not_resolved_do_not_count() -> None:
    doubtful = OwnerFact(name="@acme/platform", people=frozenset({ALICE.id}), unresolved="is a secret team")
    assert isinstance(verdict(review(ALICE), owners={"@acme/platform": doubtful}), Waiting)


def test_an_owner_that_was_not_looked_up_is_nobody() -> None:
    decision = verdict(review(ALICE), owners={})
    assert isinstance(decision, Waiting)
    assert decision.findings[0].reason == (
        "@alice approved, but is not an owner of terraform/web/ "
        "(CODEOWNERS line 2 names @acme/platform (not looked up))."
    )


def test_a_path_owned_only_by_the_one_who_asks_can_be_approved_by_nobody() -> None:
    decision = verdict(review(ASKER), owners=owners(acme__platform=[ASKER]))
    assert isinstance(decision, Waiting)
    assert len(nobody(decision.findings)) == 2


def test_too_few_owners_for_the_number_are_told() -> None:
    requirement = a_requirement(required=3)
    decision = verdict(review(ALICE), requirement=requirement)
    assert isinstance(decision, Waiting)
    assert decision.still_needed == 2
    assert decision.findings[-1].reason == ("Approvals still needed: 2; owners who may still give one: 1.")
    assert [finding.ok for finding in decision.findings] == [True, True, False, False]


def test_enough_owners_for_the_number_are_not_complained_about() -> None:
    decision = verdict(review(ALICE), requirement=a_requirement(required=2))
    assert isinstance(decision, Waiting)
    assert nobody(decision.findings) == []
    assert decision.findings[-1].reason == "1 of 2 needed approvals by different owners."


def test_all_who_cover_a_path_are_named() -> None:
    decision = verdict(*in_order(review(CAROL), review(ALICE)), logins={ALICE.id: "alice"})
    assert isinstance(decision, Approved)
    assert decision.findings[-2].reason == (
        "@alice and @3 approved as owner of terraform/web/ (CODEOWNERS line 2)."
    )
