"""Reading a request and deciding over it, through real HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from evidence import Unavailable, pull_request_facts, reader, rest
from evidence.owners import Owners
from policy.approval import Approved, CommitEvidence, Denied, Void, Waiting, decide
from policy.facts import Facts
from policy.findings import FindingCode
from tests.approval_facts import BODY, RENDERING
from tests.request_on_github import FILES, Forge, Opened

NEW_SOURCE = {"terraform/web/main.tf": b"# new\n", "terraform/web/more.tf": b"# more\n"}


def codes(opened: Opened, **requirement: Any) -> set[FindingCode]:
    """The codes of what voids the request, or else of everything that speaks against it."""
    decision = decide(opened.facts(), opened.requirement(**requirement))
    against = decision.reasons if isinstance(decision, Void) else decision.findings
    return {finding.code for finding in against if not finding.ok}


def test_an_approved_request_is_read_and_approved(shared: Forge) -> None:
    opened = shared.open_request(NEW_SOURCE)
    review = shared.review(opened.number, "alice")
    facts = opened.facts()
    decision = decide(facts, opened.requirement())
    assert isinstance(decision, Approved)
    (approval,) = decision.approvals
    assert (approval.review_id, approval.person.login) == (review, "alice")
    assert approval.covers == ("terraform/web/", "terraform/web/main.tf", "terraform/web/more.tf")
    pull = facts.pull_request
    assert (pull.number, pull.state, pull.draft, pull.merged) == (opened.number, "open", False, False)
    assert (pull.head_sha, pull.base_ref, pull.body) == (opened.head, "main", BODY)
    assert [commit.sha for commit in pull.commits] == [opened.head]
    assert pull.commits[0].parents == (opened.manifest.base.sha,)
    assert pull.timeline == ()
    assert facts.rendering == RENDERING
    assert facts.base_tip == shared.tip()
    assert facts.repository_id == shared.repository.id
    assert facts.base_commit_codeowners.text == FILES[".github/CODEOWNERS"].encode()
    assert facts.complete


def test_every_call_is_counted_and_there_are_few(shared: Forge) -> None:
    opened = shared.open_request()
    shared.review(opened.number, "alice")
    one = shared.reader()
    assert one.calls == 0
    facts = one.collect(opened.number, manifest=opened.manifest, witnessed={})
    # pull request, tip, commits, files, timeline, reviews, two trees, three blobs, the team, its access,
    # its members, the reviewer's access, and pull request and tip once more
    assert facts.calls == one.calls == 17
    again = one.collect(opened.number, manifest=opened.manifest, witnessed={})
    # Git objects never change and are kept.
    assert again.calls == 12
    assert one.calls == 29


def test_reading_does_not_change_anything(shared: Forge) -> None:
    requester = shared.runner_clients.client().requester
    with shared.github.lenient(), pytest.raises(Exception, match="Resource not accessible by integration"):
        requester.requestJsonAndCheck("POST", "/repos/acme/infra/issues/1/comments", input={"body": "x"})


def test_what_the_bot_saw_is_handed_through(shared: Forge) -> None:
    opened = shared.open_request()
    review = shared.review(opened.number, "alice")
    witnessed = opened.requirement(commit_evidence=CommitEvidence.WITNESSED, body=BODY)
    assert isinstance(decide(opened.facts(), witnessed), Waiting)
    assert isinstance(decide(opened.facts({review: opened.head}), witnessed), Approved)
    assert isinstance(decide(opened.facts({review: "e" * 40}), witnessed), Waiting)


@pytest.mark.parametrize(
    ("login", "code"),
    [
        ("mallory", FindingCode.NOT_AN_OWNER),
        ("bob", FindingCode.NOT_AN_OWNER),
        ("agent-owner", FindingCode.OWN_REQUEST),
    ],
)
def test_who_may_not_approve_is_refused(shared: Forge, login: str, code: FindingCode) -> None:
    opened = shared.open_request()
    shared.review(opened.number, login)
    assert code in codes(opened)


def test_an_owner_who_requests_changes_denies(shared: Forge) -> None:
    opened = shared.open_request()
    shared.review(opened.number, "alice")
    shared.review(opened.number, "carol", "REQUEST_CHANGES")
    assert isinstance(decide(opened.facts(), opened.requirement()), Denied)


def test_a_dismissed_request_for_changes_does_not_revive_the_approval_before_it(shared: Forge) -> None:
    opened = shared.open_request()
    shared.review(opened.number, "alice")
    review = shared.review(opened.number, "alice", "REQUEST_CHANGES")
    shared.github.as_user("mallory").put(
        f"/repos/acme/infra/pulls/{opened.number}/reviews/{review}/dismissals", json={"message": "no"}
    ).raise_for_status()
    decision = decide(opened.facts(), opened.requirement())
    assert isinstance(decision, Waiting)
    assert FindingCode.REVIEW_DISMISSED in codes(opened)


def test_a_pending_review_is_no_review(shared: Forge) -> None:
    opened = shared.open_request()
    shared.github.as_user("alice").post(
        f"/repos/acme/infra/pulls/{opened.number}/reviews", json={"body": "soon"}
    ).raise_for_status()
    assert opened.facts().reviews == ()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda o: o.forge.edit(o.number, "mallory", body="REPLACES 0"), FindingCode.BODY_EDITED),
        (lambda o: o.forge.edit(o.number, "mallory", state="closed"), FindingCode.PULL_REQUEST_CLOSED),
        (
            lambda o: (
                o.forge.edit(o.number, "mallory", state="closed"),
                o.forge.edit(o.number, "mallory", state="open"),
            ),
            FindingCode.DISTURBED,
        ),
        (
            lambda o: o.forge.push("side", {"x": "1"}) and o.forge.edit(o.number, "bob", base="side"),
            FindingCode.BASE_CHANGED,
        ),
    ],
    ids=["body", "closed", "closed and reopened", "retargeted"],
)
def test_what_people_do_to_the_pull_request_voids(
    shared: Forge, change: Callable[[Opened], object], code: FindingCode
) -> None:
    opened = shared.open_request()
    shared.review(opened.number, "alice")
    change(opened)
    assert code in codes(opened, body=BODY)


def branch(opened: Opened) -> str:
    return f"ownergate/{opened.manifest.id}"


def test_a_commit_after_the_approval_voids(shared: Forge) -> None:
    opened = shared.open_request()
    shared.review(opened.number, "alice")
    shared.push(branch(opened), {"terraform/web/main.tf": "# evil\n"}, author="mallory")
    assert {
        FindingCode.HEAD_DIFFERS,
        FindingCode.COMMITS_ADDED,
        FindingCode.COMMIT_NOT_OURS,
        FindingCode.SOURCE_DIFFERS,
    } <= codes(opened)


def test_a_forced_push_back_to_the_same_commit_voids(shared: Forge) -> None:
    opened = shared.open_request()
    shared.review(opened.number, "alice")
    shared.push(branch(opened), {"terraform/web/main.tf": "# evil\n"}, author="mallory")
    shared.as_bot("PATCH", f"/git/refs/heads/{branch(opened)}", {"sha": opened.head, "force": True})
    facts = opened.facts()
    assert facts.pull_request.head_sha == opened.head
    assert facts.pull_request.pushes == 1
    assert codes(opened) == {FindingCode.DISTURBED}


def test_a_base_merged_into_the_branch_voids_wherever_the_review_points_then(forge: Forge) -> None:
    opened = forge.open_request()
    forge.review(opened.number, "alice")
    forge.github.faults.repoint_on_base_merge = True
    forge.push("main", {"other/x": "1"})
    answer = forge.github.as_user("bob").put(
        f"/repos/acme/infra/pulls/{opened.number}/update-branch", json={}
    )
    answer.raise_for_status()
    assert FindingCode.COMMITS_ADDED in codes(opened)


@pytest.mark.parametrize(
    ("also", "code"),
    [
        ({"README.md": b"# evil\n"}, FindingCode.FILE_UNEXPECTED),
        ({"terraform/web/hidden.tf": b"# evil\n"}, FindingCode.SOURCE_DIFFERS),
        ({".github/CODEOWNERS": b"* @mallory\n"}, FindingCode.FILE_UNEXPECTED),
    ],
    ids=["another file", "more source than is told", "its own CODEOWNERS"],
)
def test_a_pull_request_that_does_more_than_its_manifest_voids(
    shared: Forge, also: dict[str, bytes], code: FindingCode
) -> None:
    opened = shared.open_request(also=also)
    shared.review(opened.number, "alice")
    shared.review(opened.number, "mallory")
    assert code in codes(opened)


def test_a_file_moved_out_of_an_owned_folder_shows_both_names(shared: Forge) -> None:
    opened = shared.open_request()
    shared.push(
        branch(opened),
        {"terraform/db/main.tf": None, "terraform/web/stolen.tf": FILES["terraform/db/main.tf"]},
    )
    facts = opened.facts()
    assert ("terraform/web/stolen.tf", "terraform/db/main.tf", "renamed") in {
        (file.path, file.previous_path, file.status) for file in facts.pull_request.files
    }
    assert FindingCode.FILE_UNEXPECTED in codes(opened)


def test_a_pull_request_that_a_person_opened_voids(shared: Forge) -> None:
    opened = shared.open_request()
    shared.edit(opened.number, "mallory", state="closed")
    body = {"title": "Replace web", "head": branch(opened), "base": "main", "body": BODY}
    answer = shared.github.as_user("mallory").post("/repos/acme/infra/pulls", json=body)
    number = answer.raise_for_status().json()["number"]
    shared.review(number, "alice")
    facts = shared.reader().collect(number, manifest=opened.manifest, witnessed={})
    decision = decide(facts, opened.requirement())
    assert isinstance(decision, Void)
    assert {finding.code for finding in decision.reasons} == {FindingCode.PULL_REQUEST_NOT_OURS}


def test_unrelated_merges_keep_an_approval_and_one_change_of_the_source_voids_it(forge: Forge) -> None:
    opened = forge.open_request()
    forge.review(opened.number, "alice")
    for number in range(5):
        forge.push("main", {f"other/{number}": "x", "terraform/db/main.tf": str(number)})
    assert isinstance(decide(opened.facts(), opened.requirement()), Approved)
    forge.push("main", {"terraform/web/.ownergate/og-1.json": "{}"})
    assert isinstance(decide(opened.facts(), opened.requirement()), Approved)
    forge.push("main", {"terraform/web/new.tf": "# new"})
    facts = opened.facts()
    assert facts.changed_since_base == {"terraform/web/new.tf"}
    assert codes(opened) == {FindingCode.BASE_SOURCE_MOVED}


def test_new_owners_on_the_base_void_and_other_lines_do_not(forge: Forge) -> None:
    opened = forge.open_request()
    forge.review(opened.number, "alice")
    forge.push("main", {".github/CODEOWNERS": "/docs/ @bob\n" + FILES[".github/CODEOWNERS"]})
    assert isinstance(decide(opened.facts(), opened.requirement()), Approved)
    forge.push("main", {".github/CODEOWNERS": "* @bob\n"})
    assert codes(opened) == {FindingCode.OWNERS_CHANGED}
    forge.push("main", {".github/CODEOWNERS": None})
    assert codes(opened) == {FindingCode.CODEOWNERS_MISSING}


def test_a_renamed_repository_voids(forge: Forge) -> None:
    opened = forge.open_request()
    forge.review(opened.number, "alice")
    forge.github.world.rename_repository(forge.repository, "infra-two")
    assert codes(opened) == {FindingCode.REPOSITORY_MOVED}


def test_a_pull_request_that_somebody_merges_by_hand_voids(forge: Forge) -> None:
    opened = forge.open_request()
    forge.review(opened.number, "alice")
    answer = forge.github.as_user("bob").put(f"/repos/acme/infra/pulls/{opened.number}/merge", json={})
    answer.raise_for_status()
    facts = opened.facts()
    assert (facts.pull_request.merged, facts.pull_request.state) == (True, "closed")
    assert {FindingCode.PULL_REQUEST_MERGED, FindingCode.DISTURBED} <= codes(opened)


def test_a_deleted_branch_voids(forge: Forge) -> None:
    opened = forge.open_request()
    forge.review(opened.number, "alice")
    path = f"/repos/acme/infra/git/refs/heads/{branch(opened)}"
    forge.github.as_user("bob").delete(path).raise_for_status()
    assert FindingCode.DISTURBED in codes(opened)


def test_a_transferred_repository_voids_or_can_not_be_read(forge: Forge) -> None:
    opened = forge.open_request()
    forge.review(opened.number, "alice")
    forge.github.world.transfer_repository(forge.repository, "bob")
    with pytest.raises(Unavailable):
        opened.facts()


def test_the_tree_of_a_renamed_repository_is_not_taken_for_whole(forge: Forge) -> None:
    tip, one = forge.tip(), forge.reader()
    forge.github.world.rename_repository(forge.repository, "infra-two")
    with pytest.raises(Unavailable, match="the repository acme/infra has another name now"):
        one.read_file(tip, "terraform/web/main.tf")


def test_lost_access_between_approval_and_claim_counts_no_more(forge: Forge) -> None:
    opened = forge.open_request()
    forge.review(opened.number, "alice")
    assert isinstance(decide(opened.facts(), opened.requirement()), Approved)
    forge.github.world.remove_from_team("acme/platform", "alice")
    assert FindingCode.NOT_AN_OWNER in codes(opened)


def test_a_deleted_account_approves_nothing(forge: Forge) -> None:
    opened = forge.open_request()
    forge.review(opened.number, "alice")
    forge.github.world.remove_user("alice")
    decision = decide(opened.facts(), opened.requirement())
    assert isinstance(decision, Waiting)
    forge.github.world.add_user("alice")
    forge.github.world.add_to_team("acme/platform", "alice")
    assert isinstance(decide(opened.facts(), opened.requirement()), Waiting)


def test_a_pull_request_that_moves_while_it_is_read_is_read_again(
    shared: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = shared.open_request()
    shared.review(opened.number, "alice")
    resolve = Owners.resolve
    pushed: list[str] = []

    def push_first(self: Owners, *args: Any, **kwargs: Any) -> Any:
        if not pushed:
            pushed.append(shared.push(branch(opened), {"README.md": "late"}, author="mallory"))
        return resolve(self, *args, **kwargs)

    monkeypatch.setattr(Owners, "resolve", push_first)
    facts = opened.facts()
    assert facts.pull_request.head_sha == pushed[0]
    assert len(facts.pull_request.commits) == 2


def test_a_base_that_moves_while_it_is_read_is_read_again(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = forge.open_request()
    resolve = Owners.resolve
    pushed: list[str] = []

    def push_first(self: Owners, *args: Any, **kwargs: Any) -> Any:
        if not pushed:
            pushed.append(forge.push("main", {"terraform/web/main.tf": "late"}))
        return resolve(self, *args, **kwargs)

    monkeypatch.setattr(Owners, "resolve", push_first)
    facts = opened.facts()
    assert facts.base_tip == pushed[0]
    assert facts.changed_since_base == {"terraform/web/main.tf"}


def test_what_never_holds_still_gives_no_facts(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = forge.open_request()
    resolve = Owners.resolve
    tries: list[str] = []

    def push_always(self: Owners, *args: Any, **kwargs: Any) -> Any:
        tries.append(forge.push("main", {"other/x": str(len(tries))}))
        return resolve(self, *args, **kwargs)

    monkeypatch.setattr(Owners, "resolve", push_always)
    with pytest.raises(Unavailable, match="kept changing while it was read"):
        opened.facts()
    assert len(tries) == reader.TRIES


def test_more_reviews_than_a_page_are_all_read(shared: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "PER_PAGE", 3)
    opened = shared.open_request()
    for _ in range(6):
        shared.review(opened.number, "mallory", "COMMENT")
    shared.review(opened.number, "carol", "REQUEST_CHANGES")
    facts = opened.facts()
    assert len(facts.reviews) == 7
    assert isinstance(decide(facts, opened.requirement()), Denied)


def test_more_files_than_a_page_are_all_read_and_a_limit_that_is_hit_denies(
    shared: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "PER_PAGE", 3)
    opened = shared.open_request()
    shared.review(opened.number, "alice")
    shared.push(branch(opened), {f"many/{number}": str(number) for number in range(7)})
    facts = opened.facts()
    assert facts.complete
    assert len({file.path for file in facts.pull_request.files}) == 10
    monkeypatch.setattr(pull_request_facts, "MOST_FILES", 9)
    limited = opened.facts()
    assert not limited.complete
    assert limited.limits == ("GitHub lists at most 9 changed files of a pull request, and this one has 10.",)
    assert FindingCode.FACTS_INCOMPLETE in codes(opened)


def test_a_request_without_owned_path_is_read_and_denied(shared: Forge) -> None:
    opened = shared.open_request()
    nothing = replace(opened.manifest, owned=(), source=None)
    facts: Facts = shared.reader().collect(opened.number, manifest=nothing, witnessed={})
    assert (facts.manifest, facts.rendering, facts.head_source) == (None, None, None)
    assert facts.changed_since_base == frozenset()


def test_what_is_not_there_gives_no_facts(shared: Forge) -> None:
    opened = shared.open_request()
    with pytest.raises(Unavailable, match="GitHub answered 404 for /repos/acme/infra/pulls/4711"):
        shared.reader().collect(4711, manifest=opened.manifest, witnessed={})
    with pytest.raises(Unavailable, match="heads/gone"):
        shared.reader().branch_tip("gone")


def test_an_answer_about_another_branch_gives_no_facts(
    shared: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    get = rest.Rest.get

    def another(self: rest.Rest, path: str, *args: Any, **kwargs: Any) -> Any:
        return get(self, path.replace("/heads/asked", "/heads/main"), *args, **kwargs)

    monkeypatch.setattr(rest.Rest, "get", another)
    with pytest.raises(Unavailable, match="the branch asked is about something else"):
        shared.reader().branch_tip("asked")


def test_a_branchs_tip_is_not_the_one_of_a_branch_with_a_longer_name(shared: Forge) -> None:
    shared.push("feature/long", {"x": "1"})
    assert shared.reader().branch_tip("feature/long") == shared.tip("feature/long")
    with pytest.raises(Unavailable):
        shared.reader().branch_tip("feature")


def test_a_lagging_github_approves_nothing_before_it_shows_it(forge: Forge) -> None:
    opened = forge.open_request()
    forge.github.faults.api_lag(milliseconds=60_000)
    forge.review(opened.number, "alice")
    assert isinstance(decide(opened.facts(), opened.requirement()), Waiting)
