"""Whose reviews count: one person after another, each with a reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from policy.approval import Approved, CommitEvidence, Decision, Denied, Waiting
from policy.findings import FindingCode
from tests.approval_facts import (
    ALICE,
    APP,
    ASKER,
    BOB,
    CAROL,
    HEAD,
    MALLORY,
    NOW,
    a_requirement,
    in_order,
    owners,
    review,
    verdict,
)

OLD = "1a2b3c4" + "0" * 33


def codes(decision: Decision) -> list[tuple[str, FindingCode]]:
    """The findings about reviews, with the review's subject."""
    return [(one.subject, one.code) for one in decision.findings if one.subject.startswith("review")]


def test_the_approval_of_an_older_commit_is_refused_in_words() -> None:
    decision = verdict(review(ALICE, witnessed_commit=OLD))
    assert isinstance(decision, Waiting)
    assert decision.findings[0].reason == ("The approval by @alice is on 1a2b3c4, the request is at ccccccc.")
    assert decision.findings[0].code is FindingCode.OTHER_COMMIT


def test_what_the_bot_saw_decides_not_what_github_says_later() -> None:
    assert isinstance(verdict(review(ALICE, witnessed_commit=OLD, commit=HEAD)), Waiting)
    assert isinstance(verdict(review(ALICE, witnessed_commit=HEAD, commit=OLD)), Approved)


def test_the_bot_asks_again_for_an_approval_that_nobody_saw() -> None:
    decision = verdict(review(ALICE, witnessed_commit=None))
    assert isinstance(decision, Waiting)
    assert decision.findings[0].reason == (
        "Nobody saw which commit @alice approved when the review was given; please approve once more."
    )


def test_the_runner_takes_the_only_commit_there_ever_was() -> None:
    runner = a_requirement(commit_evidence=CommitEvidence.ONLY_COMMIT, body=None)
    assert isinstance(verdict(review(ALICE, witnessed_commit=None), requirement=runner), Approved)
    for commit, code in ((OLD, FindingCode.OTHER_COMMIT), (None, FindingCode.COMMIT_UNWITNESSED)):
        one = review(ALICE, witnessed_commit=HEAD, commit=commit)
        decision = verdict(one, requirement=runner)
        assert isinstance(decision, Waiting)
        assert codes(decision) == [("review 10 by @alice", code)]


def test_the_latest_decision_of_a_person_wins() -> None:
    approved_then_refused = in_order(review(ALICE), review(ALICE, "CHANGES_REQUESTED"))
    decision = verdict(*approved_then_refused)
    assert isinstance(decision, Denied)
    assert codes(decision) == [
        ("review 10 by @alice", FindingCode.REVIEW_SUPERSEDED),
        ("review 11 by @alice", FindingCode.CHANGES_REQUESTED),
    ]
    assert decision.findings[0].reason == "@alice decided again later, in review 11."
    assert isinstance(verdict(*in_order(review(ALICE, "CHANGES_REQUESTED"), review(ALICE))), Approved)


def test_the_order_of_the_list_does_not_matter_but_the_time_does() -> None:
    older, newer = in_order(review(ALICE), review(ALICE, "CHANGES_REQUESTED"))
    assert isinstance(verdict(newer, older), Denied)
    assert isinstance(verdict(older, newer), Denied)


def test_a_pending_review_that_was_opened_early_and_sent_late_is_the_latest() -> None:
    sent_late = review(ALICE, "CHANGES_REQUESTED", id=1, submitted_at=NOW + timedelta(minutes=9))
    assert isinstance(verdict(sent_late, review(ALICE, id=2)), Denied)


def test_in_the_same_second_the_larger_number_is_the_latest() -> None:
    assert isinstance(verdict(review(ALICE, id=2), review(ALICE, "CHANGES_REQUESTED", id=1)), Approved)
    assert isinstance(verdict(review(ALICE, id=1), review(ALICE, "CHANGES_REQUESTED", id=2)), Denied)


def test_a_comment_changes_nothing() -> None:
    decision = verdict(*in_order(review(ALICE), review(ALICE, "COMMENTED")))
    assert isinstance(decision, Approved)
    assert codes(decision) == [
        ("review 11 by @alice", FindingCode.REVIEW_IS_COMMENT),
        ("review 10 by @alice", FindingCode.APPROVED),
    ]
    assert isinstance(
        verdict(*in_order(review(ALICE, "CHANGES_REQUESTED"), review(ALICE, "COMMENTED"))), Denied
    )


def test_a_state_that_nobody_knows_decides_nothing() -> None:
    assert isinstance(verdict(review(ALICE, "APPROVED_WITH_LOVE")), Waiting)


def test_a_dismissal_never_revives_an_older_approval() -> None:
    decision = verdict(*in_order(review(ALICE), review(ALICE, "DISMISSED")))
    assert isinstance(decision, Waiting)
    assert codes(decision)[-1] == ("review 11 by @alice", FindingCode.REVIEW_DISMISSED)


def test_a_dismissed_approval_counts_no_more_and_a_new_one_does() -> None:
    assert isinstance(verdict(review(ALICE, "DISMISSED")), Waiting)
    assert isinstance(verdict(*in_order(review(ALICE, "DISMISSED"), review(ALICE))), Approved)


def test_a_strangers_request_for_changes_does_not_deny() -> None:
    decision = verdict(*in_order(review(MALLORY, "CHANGES_REQUESTED"), review(ALICE)))
    assert isinstance(decision, Approved)
    assert decision.findings[0].code is FindingCode.CHANGES_REQUESTED_BY_OTHER
    assert decision.findings[0].reason == (
        "@mallory requested changes, but is not an owner of terraform/web/ "
        "(CODEOWNERS line 2 names @acme/platform)."
    )


def test_the_first_owner_who_refused_is_named() -> None:
    decision = verdict(
        *in_order(review(CAROL, "CHANGES_REQUESTED"), review(ALICE, "CHANGES_REQUESTED"), review(MALLORY))
    )
    assert isinstance(decision, Denied)
    assert decision.by == CAROL


@pytest.mark.parametrize("state", ["APPROVED", "CHANGES_REQUESTED"])
def test_no_program_decides_even_if_an_owner_by_mistake(state: str) -> None:
    people = owners(acme__platform=[ALICE, APP, BOB])
    machine = replace(BOB, is_bot=True)
    for program in (APP, machine, replace(APP, is_bot=False)):
        decision = verdict(review(program, state), owners=people)
        assert isinstance(decision, Waiting)
        assert decision.findings[0].code is FindingCode.AUTHOR_IS_BOT
        assert decision.findings[0].reason == f"@{program.login} is no person, and only people decide."


def test_the_review_of_a_deleted_account_counts_for_nobody() -> None:
    decision = verdict(review(None), review(ALICE, id=11))
    assert isinstance(decision, Approved)
    assert codes(decision)[0] == ("review 10", FindingCode.AUTHOR_GONE)


def test_everyone_behind_the_request_is_barred() -> None:
    requirement = a_requirement(barred=frozenset({ASKER.id, ALICE.id}))
    decision = verdict(*in_order(review(ASKER), review(ALICE)), requirement=requirement)
    assert isinstance(decision, Waiting)
    assert [code for _, code in codes(decision)] == [FindingCode.OWN_REQUEST, FindingCode.OWN_REQUEST]
    assert decision.may_approve["terraform/web/"] == ("carol",)


def test_a_tool_that_allows_it_counts_self_approval_and_says_so() -> None:
    requirement = a_requirement(allow_self_approval=True)
    waiting = verdict(requirement=requirement)
    assert isinstance(waiting, Waiting)
    assert waiting.may_approve["terraform/web/"] == ("agent-owner", "alice", "carol")
    decision = verdict(review(ASKER), requirement=requirement)
    assert isinstance(decision, Approved)
    assert codes(decision) == [("review 10 by @agent-owner", FindingCode.SELF_APPROVED)]
    assert decision.findings[0].reason == (
        "@agent-owner approved a change of their own, which this tool allows."
    )


def test_self_approval_still_needs_the_right_commit() -> None:
    requirement = a_requirement(allow_self_approval=True)
    assert isinstance(verdict(review(ASKER, witnessed_commit=OLD), requirement=requirement), Waiting)


def test_the_same_login_with_another_number_is_another_person() -> None:
    impostor = replace(ALICE, id=4711)
    decision = verdict(review(impostor))
    assert isinstance(decision, Waiting)
    assert decision.findings[0].code is FindingCode.NOT_AN_OWNER


def test_a_renamed_owner_stays_the_same_person() -> None:
    assert isinstance(verdict(review(replace(ALICE, login="alice-new"))), Approved)
