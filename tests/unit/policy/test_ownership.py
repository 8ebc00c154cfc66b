"""Who owns the deciding paths, at two commits that must agree."""

from __future__ import annotations

import pytest

from policy import ownership
from policy.approval import Approved, Void
from policy.facts import CodeownersFact
from policy.findings import FindingCode
from policy.ownership import OwnedPaths
from tests.approval_facts import ALICE, BASE, TIP, codeowners, owners, review, some_facts, verdict

CASES = {
    "no file": (None, "the same", FindingCode.CODEOWNERS_MISSING, "no CODEOWNERS file at commit bbbbbbb"),
    "no file any more": (
        b"* @acme/platform\n",
        None,
        FindingCode.CODEOWNERS_MISSING,
        "no CODEOWNERS file at commit ddddddd",
    ),
    "empty file": (
        b"",
        "the same",
        FindingCode.PATH_UNOWNED,
        "Nobody owns terraform/web/ and terraform/web/main.tf: no line of CODEOWNERS matches.",
    ),
    "cleared": (
        b"* @acme/platform\n/terraform/web/\n",
        "the same",
        FindingCode.PATH_UNOWNED,
        "Nobody owns terraform/web/ and terraform/web/main.tf: line 2 of CODEOWNERS names nobody.",
    ),
    "one file cleared": (
        b"* @acme/platform\n*.tf\n",
        "the same",
        FindingCode.PATH_UNOWNED,
        "Nobody owns terraform/web/main.tf: line 2 of CODEOWNERS names nobody.",
    ),
    "cleared since": (
        b"* @acme/platform\n",
        b"* @acme/platform\n/terraform/\n",
        FindingCode.PATH_UNOWNED,
        "line 2 of CODEOWNERS names nobody.",
    ),
    "unowned before": (
        b"/other/ @bob\n",
        b"* @acme/platform\n",
        FindingCode.PATH_UNOWNED,
        "no line of CODEOWNERS matches.",
    ),
    "invalid": (
        b"* @acme/platform\n/terraform/ @acme/platform oops\n",
        "the same",
        FindingCode.PATH_UNCERTAIN,
        "line 2 of CODEOWNERS is invalid: 'oops' is no @user, @org/team or e-mail address.",
    ),
    "invalid since": (
        b"* @acme/platform\n",
        b"* @acme/platform\n!*.tf\n",
        FindingCode.PATH_UNCERTAIN,
        "Who owns terraform/web/main.tf is not certain: line 2",
    ),
    "invalid before": (
        b"* @acme/platform\n!*.tf\n",
        b"* @acme/platform\n",
        FindingCode.PATH_UNCERTAIN,
        "Who owns terraform/web/main.tf is not certain: line 2",
    ),
    "given to others": (
        b"* @acme/platform\n",
        b"* @acme/platform\n/terraform/ @bob @carol\n",
        FindingCode.OWNERS_CHANGED,
        "changed since this was asked for: CODEOWNERS of the base now names @bob and @carol (line 2).",
    ),
    "one more owner": (
        b"* @acme/platform\n",
        b"* @acme/platform @bob\n",
        FindingCode.OWNERS_CHANGED,
        "now names @acme/platform and @bob (line 1).",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_path_without_certain_owners_is_denied_in_words(case: str) -> None:
    text, tip_text, code, words = CASES[case]
    decision = verdict(review(ALICE), text=text, tip_text=tip_text)
    assert isinstance(decision, Void)
    (reason,) = decision.reasons
    assert reason.code is code
    assert words in reason.reason


@pytest.mark.parametrize(
    "tip_text",
    [
        b"# a new comment\n\n/terraform/web/ @acme/platform\n/other/ @bob\n",
        b"* @acme/platform\n",
        b"/terraform/web/ @ACME/Platform\n",
        b"oops nobody\n/terraform/web/ @acme/platform\n",
    ],
)
def test_a_change_that_leaves_the_owners_keeps_the_approval(tip_text: bytes) -> None:
    decision = verdict(review(ALICE), tip_text=tip_text)
    assert isinstance(decision, Approved)
    assert decision.approvals[0].lines == (2,)


def test_a_link_instead_of_the_file_is_no_file() -> None:
    link = CodeownersFact(commit=BASE, path="CODEOWNERS", text=None)
    decision = verdict(review(ALICE), base_commit_codeowners=link)
    assert isinstance(decision, Void)
    assert decision.reasons[0].reason == (
        "CODEOWNERS at commit bbbbbbb is no regular file under 3 MB, so nobody can approve."
    )


def test_several_owners_of_a_line_are_one_group() -> None:
    people = owners(acme__platform=[], bob=[ALICE])
    decision = verdict(review(ALICE), text=b"* @acme/platform @bob\n", owners=people)
    assert isinstance(decision, Approved)


def test_the_owners_to_look_up_come_from_both_files_and_these_paths_only() -> None:
    files = (
        codeowners(b"* @all\n/a/ @one two@x.org\n"),
        codeowners(b"/a/ @three\n/b/ @four\n", TIP),
        codeowners(None),
    )
    assert ownership.owner_names(files, ["a/x"]) == {"@one", "two@x.org", "@three"}


def test_a_folder_stands_for_what_is_in_it() -> None:
    group = OwnedPaths(line=1, names=(), people=frozenset(), paths=("a/", "a/b/", "a/b/c", "ab", "b/c"))
    assert group.shown() == "a/, ab and b/c"


def test_owners_are_described_with_what_is_wrong_with_them() -> None:
    facts = some_facts(owners=owners(bob=[]))
    assert (
        ownership.described(facts.owners, ["@bob", "@eve"])
        == "@bob (has no write access) and @eve (not looked up)"
    )
