"""Pull requests: opening, moving heads, files, owners, limits, merging."""

import pytest

from tests.unit.github_simulator.conftest import Acme


def test_code_owners_of_the_changed_paths_are_asked_and_nobody_else(acme: Acme) -> None:
    pull = acme.pull("docs", docs__guide_md="x")
    acme.world.push(acme.repo, "docs", {"docs/guide.md": "changed\n"}, author="alice")
    shown = acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}").json()
    assert [user["login"] for user in shown["requested_reviewers"]] == ["carol"]
    other = acme.pull("code", main_tf="x")
    shown = acme.user("alice").get(f"{acme.path}/pulls/{other['number']}").json()
    assert [team["slug"] for team in shown["requested_teams"]] == ["platform"]
    assert shown["requested_reviewers"] == []


def test_owners_come_from_the_base_not_from_the_pull_request(acme: Acme) -> None:
    acme.world.push(acme.repo, "evil", {"CODEOWNERS": "* @alice\n", "x": "1"}, author="alice")
    asked = {"title": "t", "head": "evil", "base": "main"}
    number = acme.user("alice").post(f"{acme.path}/pulls", json=asked).json()["number"]
    shown = acme.user("alice").get(f"{acme.path}/pulls/{number}").json()
    assert [team["slug"] for team in shown["requested_teams"]] == ["platform"]


def test_a_review_answers_the_request_to_the_reviewers_team(acme: Acme) -> None:
    pull = acme.pull()
    acme.review(pull["number"], "bob", "COMMENT", "hm")
    shown = acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}").json()
    assert shown["requested_teams"] == []


def test_duplicates_and_empty_pull_requests_are_refused(acme: Acme) -> None:
    acme.pull()
    alice, path = acme.user("alice"), f"{acme.path}/pulls"
    again = alice.post(path, json={"title": "t", "head": "feature", "base": "main"})
    assert again.status_code == 422
    assert again.json()["errors"][0]["message"] == "A pull request already exists for acme:feature."
    head = alice.get(f"{acme.path}/git/ref/heads/main").json()["object"]["sha"]
    alice.post(f"{acme.path}/git/refs", json={"ref": "refs/heads/same", "sha": head}).raise_for_status()
    empty = alice.post(path, json={"title": "t", "head": "same", "base": "main"})
    assert empty.json()["errors"][0]["message"] == "No commits between main and same"
    assert alice.post(path, json={"title": "t", "head": "nowhere", "base": "main"}).status_code == 422


def test_mergeable_is_null_first_and_conflicts_are_real(acme: Acme) -> None:
    acme.world.push(acme.repo, "left", {"README.md": "left\n"}, author="alice")
    number = (
        acme.user("alice")
        .post(f"{acme.path}/pulls", json={"title": "t", "head": "left", "base": "main"})
        .json()["number"]
    )
    path = f"{acme.path}/pulls/{number}"
    assert acme.user("alice").get(path).json()["mergeable"] is None
    assert acme.user("alice").get(path).json()["mergeable_state"] == "clean"
    acme.world.push(acme.repo, "main", {"README.md": "right\n"}, author="root")
    assert acme.user("alice").get(path).json()["mergeable"] is None
    assert acme.user("alice").get(path).json()["mergeable_state"] == "dirty"
    assert acme.user("alice").put(f"{path}/merge", json={}).status_code == 405


def test_the_base_sha_is_not_the_merge_base(acme: Acme) -> None:
    start = acme.user("alice").get(f"{acme.path}/commits/main").json()["sha"]
    acme.world.push(acme.repo, "topic", {"x": "1"}, author="alice")
    tip = acme.world.push(acme.repo, "main", {"y": "1"}, author="root")
    alice = acme.user("alice")
    pull = alice.post(f"{acme.path}/pulls", json={"title": "t", "head": "topic", "base": "main"}).json()
    assert pull["base"]["sha"] == tip
    compared = alice.get(f"{acme.path}/compare/main...topic").json()
    assert compared["merge_base_commit"]["sha"] == start
    assert (compared["status"], compared["ahead_by"], compared["behind_by"]) == ("diverged", 1, 1)
    assert [file["filename"] for file in alice.get(f"{acme.path}/pulls/{pull['number']}/files").json()] == [
        "x"
    ]


def test_renames_name_both_paths_and_binaries_have_no_patch(acme: Acme) -> None:
    long = "".join(f"line {number}\n" for number in range(50))
    acme.world.push(acme.repo, "main", {"old name.txt": long}, author="root")
    acme.world.push(
        acme.repo,
        "move",
        {"old name.txt": None, "new.txt": long, "bin": b"\0\1\2", "a.txt": "x"},
        author="alice",
    )
    alice = acme.user("alice")
    number = alice.post(f"{acme.path}/pulls", json={"title": "t", "head": "move", "base": "main"}).json()[
        "number"
    ]
    files = {file["filename"]: file for file in alice.get(f"{acme.path}/pulls/{number}/files").json()}
    assert files["new.txt"]["status"] == "renamed"
    assert files["new.txt"]["previous_filename"] == "old name.txt"
    assert "patch" not in files["bin"]
    assert files["a.txt"]["patch"].startswith("@@ ")


def test_bodies_and_comments_are_limited(acme: Acme) -> None:
    pull = acme.pull()
    alice = acme.user("alice")
    answer = alice.patch(f"{acme.path}/pulls/{pull['number']}", json={"body": "x" * 65_537})
    assert answer.json()["errors"][0]["message"] == "body is too long (maximum is 65536 characters)"
    comments = f"{acme.path}/issues/{pull['number']}/comments"
    answer = alice.post(comments, json={"body": "x" * 65_537})
    assert answer.json()["errors"][0]["code"] == "unprocessable"
    assert alice.post(comments, json={"body": "x" * 65_536}).status_code == 201


def test_an_edit_tells_what_was_there_before(acme: Acme) -> None:
    pull = acme.pull()
    acme.user("alice").patch(f"{acme.path}/pulls/{pull['number']}", json={"body": "other", "title": "T2"})
    acme.github.wait_for_deliveries()
    changes = acme.receiver.last("pull_request.edited")["changes"]
    assert changes == {"title": {"from": pull["title"]}, "body": {"from": "Please."}}


def test_only_the_author_and_writers_may_edit(acme: Acme) -> None:
    acme.world.grant_access(acme.repo, "dave", "pull")
    pull = acme.pull()
    answer = acme.user("dave").patch(f"{acme.path}/pulls/{pull['number']}", json={"title": "mine"})
    assert answer.status_code == 403
    assert (
        acme.user("bob").patch(f"{acme.path}/pulls/{pull['number']}", json={"title": "ours"}).status_code
        == 200
    )


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_merging_makes_real_commits(acme: Acme, method: str) -> None:
    pull = acme.pull()
    acme.world.push(acme.repo, "feature", {"second.txt": "2\n"}, author="alice")
    acme.world.push(acme.repo, "main", {"other.txt": "o\n"}, author="root")
    path = f"{acme.path}/pulls/{pull['number']}"
    bob = acme.user("bob")
    head = bob.get(path).json()["head"]["sha"]
    assert bob.put(f"{path}/merge", json={"sha": pull["head"]["sha"]}).status_code == 409
    merged = bob.put(f"{path}/merge", json={"sha": head, "merge_method": method})
    assert merged.status_code == 200, merged.text
    commit = bob.get(f"{acme.path}/commits/{merged.json()['sha']}").json()
    assert len(commit["parents"]) == (2 if method == "merge" else 1)
    for name in ("feature.txt", "second.txt", "other.txt"):
        assert acme.world.read_file(acme.repo, "main", name) is not None
    shown = bob.get(path).json()
    assert (shown["merged"], shown["state"], shown["changed_files"]) == (True, "closed", 2)
    assert bob.get(f"{path}/merge").status_code == 204
    assert bob.put(f"{path}/merge", json={}).status_code == 405
    acme.github.wait_for_deliveries()
    assert acme.receiver.last("pull_request.closed")["pull_request"]["merged"] is True


def test_protection_asks_for_reviews_checks_and_code_owners(acme: Acme) -> None:
    acme.world.protect(
        acme.repo,
        "main",
        required_approving_reviews=1,
        require_code_owner_reviews=True,
        contexts=["gate"],
        enforce_admins=True,
    )
    pull = acme.pull()
    path, root = f"{acme.path}/pulls/{pull['number']}", acme.user("root")
    merge = root.put(f"{path}/merge", json={})
    assert merge.status_code == 405
    assert (
        merge.json()["message"] == "At least 1 approving review is required by reviewers with write access."
    )
    acme.review(pull["number"], "carol", "APPROVE")
    assert root.put(f"{path}/merge", json={}).json()["message"] == "Waiting on code owner review."
    acme.review(pull["number"], "bob", "APPROVE")
    assert 'status check "gate"' in root.put(f"{path}/merge", json={}).json()["message"]
    acme.user("bob").post(
        f"{acme.path}/statuses/{pull['head']['sha']}", json={"state": "success", "context": "gate"}
    )
    assert root.put(f"{path}/merge", json={}).status_code == 200


def test_drafts_ask_nobody_and_cannot_be_merged(acme: Acme) -> None:
    acme.world.push(acme.repo, "wip", {"x": "1"}, author="alice")
    asked = {"title": "t", "head": "wip", "base": "main", "draft": True}
    pull = acme.user("alice").post(f"{acme.path}/pulls", json=asked).json()
    assert pull["requested_teams"] == []
    assert acme.user("bob").put(f"{acme.path}/pulls/{pull['number']}/merge", json={}).status_code == 405


def test_closing_and_reopening(acme: Acme) -> None:
    pull = acme.pull()
    path, alice = f"{acme.path}/pulls/{pull['number']}", acme.user("alice")
    assert alice.patch(path, json={"state": "closed"}).json()["state"] == "closed"
    assert alice.get(f"{acme.path}/pulls").json() == []
    assert alice.patch(path, json={"state": "open"}).json()["state"] == "open"
    events = [event["event"] for event in alice.get(f"{acme.path}/issues/{pull['number']}/timeline").json()]
    assert events[-2:] == ["closed", "reopened"]


def test_retargeting_is_an_edit_with_a_timeline_event(acme: Acme) -> None:
    acme.world.push(acme.repo, "release", {"r": "1"}, author="root")
    pull = acme.pull()
    path, alice = f"{acme.path}/pulls/{pull['number']}", acme.user("alice")
    assert alice.patch(path, json={"base": "release"}).json()["base"]["ref"] == "release"
    events = [event["event"] for event in alice.get(f"{acme.path}/issues/{pull['number']}/timeline").json()]
    assert events[-1] == "base_ref_changed"


def test_the_author_cannot_be_asked_for_a_review(acme: Acme) -> None:
    pull = acme.pull()
    path = f"{acme.path}/pulls/{pull['number']}/requested_reviewers"
    answer = acme.user("bob").post(path, json={"reviewers": ["alice"]})
    assert (answer.status_code, answer.json()["message"]) == (
        422,
        "Review cannot be requested from pull request author.",
    )
    assert acme.user("bob").post(path, json={"reviewers": ["dave"]}).status_code == 422


def test_a_pull_request_from_a_fork(acme: Acme) -> None:
    acme.world.grant_access(acme.repo, "dave", "pull")
    fork = acme.world.fork(acme.repo, "dave")
    sha = acme.world.push(fork, "patch", {"p.txt": "p\n"}, author="dave")
    dave = acme.user("dave")
    pull = dave.post(f"{acme.path}/pulls", json={"title": "t", "head": "dave:patch", "base": "main"}).json()
    assert pull["head"]["label"] == "dave:patch"
    assert pull["head"]["sha"] == sha
    newer = acme.world.push(fork, "patch", {"p.txt": "q\n"}, author="dave")
    assert acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}").json()["head"]["sha"] == newer
    acme.world.remove_repository(fork)
    assert acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}").json()["head"]["repo"] is None


def test_a_draft_made_ready_asks_its_owners(acme: Acme) -> None:
    pull = acme.pull()
    number = pull["number"]
    acme.world.set_draft(acme.repo, number, draft=True, by="alice")
    assert acme.user("alice").get(f"{acme.path}/pulls/{number}").json()["draft"] is True
    acme.world.set_draft(acme.repo, number, draft=False, by="alice")
    events = [
        event["event"] for event in acme.user("alice").get(f"{acme.path}/issues/{number}/timeline").json()
    ]
    assert events[-2:] == ["convert_to_draft", "ready_for_review"]
    acme.github.wait_for_deliveries()
    assert acme.receiver.names()[-2:] == ["pull_request.converted_to_draft", "pull_request.ready_for_review"]
