"""Reviews behave as GitHub's do: states, refusals, commits, dismissals."""

import pytest

from tests.unit.github_simulator.conftest import Acme


def test_an_approval_is_answered_200_with_the_head_as_its_commit(acme: Acme) -> None:
    pull = acme.pull()
    answer = acme.review(pull["number"], "bob", "APPROVE")
    assert answer.status_code == 200
    assert answer.json()["state"] == "APPROVED"
    assert answer.json()["commit_id"] == pull["head"]["sha"]
    acme.github.wait_for_deliveries()
    assert acme.receiver.last("pull_request_review.submitted")["review"]["state"] == "approved"


def test_nobody_approves_their_own_pull_request(acme: Acme) -> None:
    pull = acme.pull()
    for event, verb in (("APPROVE", "approve"), ("REQUEST_CHANGES", "request changes on")):
        answer = acme.review(pull["number"], "alice", event, "no")
        assert answer.status_code == 422
        assert answer.json()["errors"] == [f"Can not {verb} your own pull request"]
    assert acme.review(pull["number"], "alice", "COMMENT", "a thought").json()["state"] == "COMMENTED"


def test_an_app_cannot_approve_its_own_pull_request(acme: Acme) -> None:
    acme.world.push(acme.repo, "bot", {"x": "1"}, author="alice")
    bot = acme.bot()
    number = bot.post(f"{acme.path}/pulls", json={"title": "t", "head": "bot", "base": "main"}).json()[
        "number"
    ]
    answer = bot.post(f"{acme.path}/pulls/{number}/reviews", json={"event": "APPROVE"})
    assert answer.status_code == 422


def test_requesting_changes_needs_words(acme: Acme) -> None:
    pull = acme.pull()
    assert acme.review(pull["number"], "bob", "REQUEST_CHANGES").status_code == 422
    assert acme.review(pull["number"], "bob", "REQUEST_CHANGES", "why").json()["state"] == "CHANGES_REQUESTED"


def test_an_unknown_commit_is_refused_and_an_older_one_accepted(acme: Acme) -> None:
    pull = acme.pull()
    old = pull["head"]["sha"]
    acme.world.push(acme.repo, "feature", {"more.txt": "more\n"}, author="alice")
    assert acme.review(pull["number"], "bob", "APPROVE", commit_id="f" * 40).status_code == 422
    assert acme.review(pull["number"], "bob", "APPROVE", commit_id=old).json()["commit_id"] == old


def test_a_pending_review_is_one_and_private(acme: Acme) -> None:
    pull = acme.pull()
    bob, path = acme.user("bob"), f"{acme.path}/pulls/{pull['number']}/reviews"
    pending = bob.post(path, json={"body": "draft"}).json()
    assert pending["state"] == "PENDING"
    assert "submitted_at" not in pending
    again = bob.post(path, json={"event": "APPROVE"})
    assert again.json()["errors"] == ["User can only have one pending review per pull request"]
    assert acme.user("alice").get(path).json() == []
    submitted = bob.post(f"{path}/{pending['id']}/events", json={"event": "APPROVE"})
    assert submitted.json()["state"] == "APPROVED"
    assert [one["id"] for one in acme.user("alice").get(path).json()] == [pending["id"]]


def test_dismissal_keeps_body_and_commit(acme: Acme) -> None:
    pull = acme.pull()
    given = acme.review(pull["number"], "bob", "APPROVE", "lgtm").json()
    path = f"{acme.path}/pulls/{pull['number']}/reviews/{given['id']}/dismissals"
    dismissed = acme.user("alice").put(path, json={"message": "stale"}).json()
    assert dismissed == given | {"state": "DISMISSED"}
    again = acme.user("alice").put(path, json={"message": "stale"})
    assert again.json()["errors"] == ["Can not dismiss a dismissed pull request review"]
    acme.github.wait_for_deliveries()
    assert acme.receiver.last("pull_request_review.dismissed")["review"]["state"] == "dismissed"


def test_a_comment_cannot_be_dismissed(acme: Acme) -> None:
    pull = acme.pull()
    given = acme.review(pull["number"], "bob", "COMMENT", "hm").json()
    path = f"{acme.path}/pulls/{pull['number']}/reviews/{given['id']}/dismissals"
    answer = acme.user("alice").put(path, json={"message": "no"})
    assert answer.json()["errors"] == ["Can not dismiss a commented pull request review"]


def test_old_approvals_stay_on_the_old_commit(acme: Acme) -> None:
    pull = acme.pull()
    given = acme.review(pull["number"], "bob", "APPROVE").json()
    acme.world.push(acme.repo, "feature", {"more.txt": "more\n"}, author="alice")
    kept = acme.user("bob").get(f"{acme.path}/pulls/{pull['number']}/reviews/{given['id']}").json()
    assert kept == given


def test_protection_dismisses_stale_approvals_on_push(acme: Acme) -> None:
    acme.world.protect(acme.repo, "main", required_approving_reviews=1, dismiss_stale_reviews=True)
    pull = acme.pull()
    given = acme.review(pull["number"], "bob", "APPROVE").json()
    acme.world.push(acme.repo, "feature", {"more.txt": "more\n"}, author="alice")
    kept = acme.user("bob").get(f"{acme.path}/pulls/{pull['number']}/reviews/{given['id']}").json()
    assert kept["state"] == "DISMISSED"


@pytest.mark.parametrize("repoint", [False, True])
def test_a_base_merge_may_repoint_review_commits(acme: Acme, repoint: bool) -> None:
    acme.github.faults.repoint_on_base_merge = repoint
    pull = acme.pull()
    given = acme.review(pull["number"], "bob", "APPROVE").json()
    acme.world.push(acme.repo, "main", {"other.txt": "x\n"}, author="root")
    answer = acme.user("alice").put(f"{acme.path}/pulls/{pull['number']}/update-branch", json={})
    assert answer.status_code == 202
    head = acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}").json()["head"]["sha"]
    kept = acme.user("bob").get(f"{acme.path}/pulls/{pull['number']}/reviews/{given['id']}").json()
    assert head != pull["head"]["sha"]
    assert kept["commit_id"] == (head if repoint else given["commit_id"])


def test_a_stranger_sees_nothing(acme: Acme) -> None:
    pull = acme.pull()
    assert acme.review(pull["number"], "dave", "APPROVE").status_code == 404


def test_reviews_are_paged_with_links(acme: Acme) -> None:
    pull = acme.pull()
    for number in range(35):
        assert acme.review(pull["number"], "bob", "COMMENT", f"c{number}").status_code == 200
    path = f"{acme.path}/pulls/{pull['number']}/reviews"
    first = acme.user("alice").get(path)
    assert len(first.json()) == 30
    assert first.links["next"]["url"] == first.links["last"]["url"]
    second = acme.user("alice").get(first.links["next"]["url"])
    assert [one["body"] for one in first.json() + second.json()] == [f"c{number}" for number in range(35)]
    assert len(acme.user("alice").get(path, params={"per_page": 500}).json()) == 35
