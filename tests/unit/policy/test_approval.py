"""The verdict as a whole: approved, waiting, denied or void, and with what words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policy import manifest
from policy.approval import Approved, Denied, Void, Waiting, decide, deciding_paths
from policy.facts import ChangedFile, witness
from policy.findings import FindingCode
from tests.approval_facts import (
    ALICE,
    APP,
    ASKER,
    BOB,
    CAROL,
    HEAD,
    MALLORY,
    OWN_FILES,
    SOURCE,
    a_manifest,
    a_pull_request,
    a_requirement,
    in_order,
    owners,
    review,
    some_facts,
    source_of,
    verdict,
)


def test_an_owners_review_of_the_apps_commit_approves() -> None:
    decision = verdict(review(ALICE))
    assert isinstance(decision, Approved)
    (approval,) = decision.approvals
    assert (approval.review_id, approval.person, approval.commit) == (10, ALICE, HEAD)
    assert approval.covers == ("terraform/web/", "terraform/web/main.tf")
    assert approval.lines == (2,)
    assert [(finding.ok, finding.subject, finding.reason) for finding in decision.findings] == [
        (True, "review 10 by @alice", "@alice approved ccccccc."),
        (
            True,
            "terraform/web/",
            "@alice approved as owner of terraform/web/ (CODEOWNERS line 2).",
        ),
        (True, "approvals", "1 of 1 needed approvals by different owners."),
    ]


def test_without_a_review_it_waits_and_says_for_whom() -> None:
    decision = verdict()
    assert isinstance(decision, Waiting)
    assert decision.missing_paths == ("terraform/web/", "terraform/web/main.tf")
    assert decision.still_needed == 1
    assert decision.may_approve == {
        "terraform/web/": ("alice", "carol"),
        "terraform/web/main.tf": ("alice", "carol"),
    }
    assert [finding.code for finding in decision.findings] == [
        FindingCode.PATH_MISSING,
        FindingCode.APPROVALS_MISSING,
    ]
    assert decision.findings[0].reason == (
        "An approval by an owner of terraform/web/ is missing (CODEOWNERS line 2 names @acme/platform)."
    )


def test_a_void_request_is_void_even_when_it_is_approved_or_denied() -> None:
    for state, told in (
        ("APPROVED", FindingCode.APPROVED),
        ("CHANGES_REQUESTED", FindingCode.CHANGES_REQUESTED),
    ):
        decision = verdict(review(ALICE, state), changed_since_base=frozenset({"terraform/web/main.tf"}))
        assert isinstance(decision, Void)
        assert [finding.code for finding in decision.reasons] == [FindingCode.BASE_SOURCE_MOVED]
        assert [finding.code for finding in decision.findings] == [FindingCode.BASE_SOURCE_MOVED, told]


def test_reviews_of_a_void_request_are_told_even_when_nobody_owns_anything() -> None:
    decision = verdict(review(MALLORY), review(BOB, "CHANGES_REQUESTED", id=11), text=None)
    assert isinstance(decision, Void)
    assert [finding.reason for finding in decision.findings] == [
        "There is no CODEOWNERS file at commit bbbbbbb, so nobody can approve.",
        "@mallory approved, but is not an owner of anything in this request, for nobody is for certain.",
        "@bob requested changes, but is not an owner of anything in this request, for nobody is for certain.",
    ]


def test_all_causes_of_a_void_request_are_told_at_once() -> None:
    decision = verdict(
        review(ALICE),
        pull_request=a_pull_request(draft=True, body="other"),
        text=b"* @a\n",
        tip_text=b"* @b\n",
    )
    assert isinstance(decision, Void)
    assert [finding.code for finding in decision.reasons] == [
        FindingCode.PULL_REQUEST_DRAFT,
        FindingCode.BODY_EDITED,
        FindingCode.OWNERS_CHANGED,
    ]


def test_an_owner_who_requests_changes_denies_whoever_else_approved() -> None:
    decision = verdict(*in_order(review(CAROL, "CHANGES_REQUESTED"), review(ALICE)))
    assert isinstance(decision, Denied)
    assert decision.by == CAROL
    assert decision.findings[0].reason == "@carol, an owner, requested changes."


def test_the_person_behind_the_agent_may_refuse_but_not_approve() -> None:
    assert isinstance(verdict(review(ASKER, "CHANGES_REQUESTED"), review(ALICE, id=11)), Denied)
    decision = verdict(review(ASKER))
    assert isinstance(decision, Waiting)
    assert decision.findings[0].reason == "@agent-owner asked for this change and can't approve it."


def test_every_deciding_path_needs_its_own_owner() -> None:
    files = (
        *a_pull_request().files,
        ChangedFile(path="terraform/web/x.tf", previous_path=None, status="added"),
    )
    plain = a_manifest(owned=("terraform/web/", "terraform/db/"))
    facts = some_facts(review(ALICE), plain=plain, pull_request=a_pull_request(files=files))
    decision = decide(facts, a_requirement(plain))
    assert isinstance(decision, Waiting)
    assert decision.missing_paths == ("terraform/db/",)
    assert decision.still_needed == 1
    assert decision.may_approve == {"terraform/db/": ("bob",)}
    both = decide(replace(facts, reviews=in_order(review(ALICE), review(BOB))), a_requirement(plain))
    assert isinstance(both, Approved)
    assert [approval.covers for approval in both.approvals] == [
        ("terraform/web/", "terraform/web/main.tf", "terraform/web/x.tf"),
        ("terraform/db/",),
    ]


def test_a_module_elsewhere_needs_the_owner_of_that_module() -> None:
    files = {**SOURCE, "terraform/db/shared.tf": b"# shared\n"}
    plain = a_manifest(source=source_of(files))
    facts = some_facts(review(ALICE), plain=plain, head=files)
    decision = decide(facts, a_requirement(plain, source=files))
    assert isinstance(decision, Waiting)
    assert decision.missing_paths == ("terraform/db/shared.tf",)


def test_a_file_moved_inside_the_source_needs_the_owners_of_its_old_and_new_name() -> None:
    text = b"/terraform/web/ @acme/platform\n/terraform/web/old/ @bob\n"
    files = (
        ChangedFile(
            path="terraform/web/main.tf", previous_path="terraform/web/old/main.tf", status="renamed"
        ),
    )
    decision = verdict(review(ALICE), text=text, pull_request=a_pull_request(files=files))
    assert isinstance(decision, Waiting)
    assert decision.missing_paths == ("terraform/web/old/main.tf",)


@pytest.mark.parametrize(("required", "in_manifest"), [(2, 1), (1, 2), (2, 2)])
def test_the_larger_number_of_approvals_counts(required: int, in_manifest: int) -> None:
    plain = a_manifest(approvals_required=in_manifest)
    requirement = a_requirement(plain, required=required)
    one = decide(some_facts(review(ALICE), plain=plain), requirement)
    assert isinstance(one, Waiting)
    assert one.missing_paths == ()
    assert one.still_needed == 1
    assert one.may_approve == {"terraform/web/": ("carol",), "terraform/web/main.tf": ("carol",)}
    two = decide(some_facts(*in_order(review(ALICE), review(CAROL)), plain=plain), requirement)
    assert isinstance(two, Approved)
    assert [approval.person for approval in two.approvals] == [ALICE, CAROL]


@pytest.mark.parametrize("number", [0, -1])
def test_no_number_below_one_approves_by_itself(number: int) -> None:
    plain = a_manifest(approvals_required=number)
    assert isinstance(decide(some_facts(plain=plain), a_requirement(plain, required=number)), Waiting)


def test_one_person_in_two_teams_counts_once() -> None:
    text = b"/terraform/web/ @acme/platform @acme/sre\n"
    people = owners(acme__platform=[ALICE], acme__sre=[ALICE, BOB])
    requirement = a_requirement(required=2)
    decision = verdict(review(ALICE), requirement=requirement, text=text, owners=people)
    assert isinstance(decision, Waiting)
    assert decision.still_needed == 1
    assert decision.may_approve["terraform/web/"] == ("bob",)


def test_one_persons_two_approvals_count_once() -> None:
    decision = verdict(*in_order(review(ALICE), review(ALICE)), requirement=a_requirement(required=2))
    assert isinstance(decision, Waiting)
    assert decision.still_needed == 1


def test_a_person_who_owns_another_path_only_counts_there_only() -> None:
    plain = a_manifest(owned=("terraform/web/", "terraform/db/"), approvals_required=2)
    decision = decide(some_facts(review(BOB), plain=plain), a_requirement(plain))
    assert isinstance(decision, Waiting)
    assert decision.missing_paths == ("terraform/web/", "terraform/web/main.tf")
    assert decision.still_needed == 1


def test_a_waiting_request_names_people_it_has_no_login_for_by_number() -> None:
    decision = verdict(logins={})
    assert isinstance(decision, Waiting)
    assert decision.may_approve["terraform/web/"] == ("user 1", "user 3")


def test_the_bots_first_own_reading_is_evidence_once_it_is_stored() -> None:
    facts = some_facts(review(ALICE, witnessed_commit=None), review(BOB, id=11))
    decision = decide(facts, a_requirement())
    assert isinstance(decision, Waiting)
    assert decision.findings[0].code is FindingCode.COMMIT_UNWITNESSED
    seen = witness(facts, {10: HEAD})
    assert [one.witnessed_commit for one in seen.reviews] == [HEAD, HEAD]
    assert isinstance(decide(seen, a_requirement()), Approved)


def test_the_apps_account_is_nobodys_candidate() -> None:
    decision = verdict(owners=owners(acme__platform=[APP, CAROL]))
    assert isinstance(decision, Waiting)
    assert decision.may_approve["terraform/web/"] == ("carol",)


def test_deciding_paths_leave_out_the_requests_own_files_only() -> None:
    other = OWN_FILES.manifest.replace("og-0", "og-1")
    files = (*a_pull_request().files, ChangedFile(path=other, previous_path="elsewhere", status="renamed"))
    plain = a_manifest()
    facts = some_facts(pull_request=a_pull_request(files=files))
    assert deciding_paths(facts, plain) == (
        "elsewhere",
        "terraform/web/",
        other,
        "terraform/web/main.tf",
    )
    assert deciding_paths(facts, replace(plain, owned=(), source=None))[0] == "elsewhere"


def test_a_tool_without_source_is_decided_by_its_owned_path() -> None:
    plain = a_manifest(source=None, owned=("terraform/db/",))
    files = tuple(
        replace(file, path=file.path.replace("/web/", "/db/")) for file in a_pull_request().files[:2]
    )
    facts = some_facts(review(BOB), plain=plain, pull_request=a_pull_request(files=files))
    assert manifest.digest(plain) == a_requirement(plain).digest
    decision = decide(facts, a_requirement(plain))
    assert isinstance(decision, Approved)
    assert decision.approvals[0].covers == ("terraform/db/",)


def test_a_strangers_approval_is_refused_in_words() -> None:
    decision = verdict(review(MALLORY))
    assert isinstance(decision, Waiting)
    assert decision.findings[0].reason == (
        "@mallory approved, but is not an owner of terraform/web/ (CODEOWNERS line 2 names @acme/platform)."
    )
