"""Probes: reviews."""

from typing import Any

import httpx2

from tests.contract.github.hub import Hub


def give(hub: Hub, role: str, number: int, event: str | None = None, **more: Any) -> httpx2.Response:
    asked = ({"event": event} if event else {}) | more
    return hub.person(role).post(f"{hub.path}/pulls/{number}/reviews", json=asked)


def test_approving_answers_200_on_the_head(hub: Hub) -> None:
    pull = hub.pull()
    answer = give(hub, "reviewer", pull["number"], "APPROVE")
    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["commit_id"]) == ("APPROVED", pull["head"]["sha"])


def test_one_cannot_approve_ones_own(hub: Hub) -> None:
    answer = give(hub, "author", hub.pull()["number"], "APPROVE")
    assert answer.status_code == 422
    assert answer.json()["errors"] == ["Can not approve your own pull request"]


def test_one_may_comment_on_ones_own(hub: Hub) -> None:
    assert give(hub, "author", hub.pull()["number"], "COMMENT", body="a thought").status_code == 200


def test_requesting_changes_needs_a_body(hub: Hub) -> None:
    assert give(hub, "reviewer", hub.pull()["number"], "REQUEST_CHANGES").status_code == 422


def test_an_unknown_commit_is_refused(hub: Hub) -> None:
    assert give(hub, "reviewer", hub.pull()["number"], "APPROVE", commit_id="f" * 40).status_code == 422


def test_an_older_commit_is_accepted(hub: Hub) -> None:
    pull = hub.pull()
    hub.commit(pull["head"]["ref"], f"second-{pull['number']}.txt", "x\n")
    answer = give(hub, "reviewer", pull["number"], "APPROVE", commit_id=pull["head"]["sha"])
    assert answer.json()["commit_id"] == pull["head"]["sha"]


def test_a_misspelled_event_is_refused(hub: Hub) -> None:
    assert give(hub, "reviewer", hub.pull()["number"], "APROVE").status_code == 422


def test_one_pending_review_a_person(hub: Hub) -> None:
    number = hub.pull()["number"]
    assert give(hub, "reviewer", number, body="draft").json()["state"] == "PENDING"
    again = give(hub, "reviewer", number, body="draft")
    assert again.status_code == 422
    assert again.json()["errors"] == ["User can only have one pending review per pull request"]


def test_a_new_head_leaves_the_old_approval_on_the_old_commit(hub: Hub) -> None:
    pull = hub.pull()
    given = give(hub, "reviewer", pull["number"], "APPROVE").json()
    hub.commit(pull["head"]["ref"], f"later-{pull['number']}.txt", "x\n")
    kept = hub.person("author").get(f"{hub.path}/pulls/{pull['number']}/reviews/{given['id']}").json()
    assert (kept["state"], kept["commit_id"]) == ("APPROVED", pull["head"]["sha"])


def test_dismissing_keeps_body_and_commit(hub: Hub) -> None:
    pull = hub.pull()
    given = give(hub, "reviewer", pull["number"], "APPROVE", body="lgtm").json()
    path = f"{hub.path}/pulls/{pull['number']}/reviews/{given['id']}/dismissals"
    dismissed = hub.person("admin").put(path, json={"message": "stale"}).json()
    assert (dismissed["state"], dismissed["body"]) == ("DISMISSED", "lgtm")
    assert dismissed["commit_id"] == given["commit_id"]


def test_a_comment_cannot_be_dismissed(hub: Hub) -> None:
    pull = hub.pull()
    given = give(hub, "reviewer", pull["number"], "COMMENT", body="hm").json()
    path = f"{hub.path}/pulls/{pull['number']}/reviews/{given['id']}/dismissals"
    answer = hub.person("admin").put(path, json={"message": "stale"})
    assert answer.status_code == 422
    assert answer.json()["errors"] == ["Can not dismiss a commented pull request review"]


def test_a_dismissed_review_cannot_be_dismissed_again(hub: Hub) -> None:
    pull = hub.pull()
    given = give(hub, "reviewer", pull["number"], "APPROVE").json()
    path = f"{hub.path}/pulls/{pull['number']}/reviews/{given['id']}/dismissals"
    hub.person("admin").put(path, json={"message": "stale"}).raise_for_status()
    assert hub.person("admin").put(path, json={"message": "stale"}).status_code == 422


def test_reviews_are_listed_oldest_first_and_paged(hub: Hub) -> None:
    number = hub.pull()["number"]
    for word in ("one", "two", "three"):
        give(hub, "reviewer", number, "COMMENT", body=word).raise_for_status()
    first = hub.person("author").get(f"{hub.path}/pulls/{number}/reviews", params={"per_page": 2})
    assert [one["body"] for one in first.json()] == ["one", "two"]
    assert {"next", "last"} <= set(first.links)
    rest = hub.person("author").get(first.links["next"]["url"])
    assert [one["body"] for one in rest.json()] == ["three"]
    assert {"prev", "first"} <= set(rest.links)


def test_a_review_answers_the_request(hub: Hub) -> None:
    number = hub.pull()["number"]
    path = f"{hub.path}/pulls/{number}/requested_reviewers"
    hub.person("author").post(path, json={"reviewers": [hub.logins["reviewer"]]}).raise_for_status()
    give(hub, "reviewer", number, "APPROVE").raise_for_status()
    assert hub.person("author").get(path).json()["users"] == []


def test_an_app_approves_as_a_bot(hub: Hub) -> None:
    number = hub.pull()["number"]
    given = hub.bot().post(f"{hub.path}/pulls/{number}/reviews", json={"event": "APPROVE"}).json()
    assert given["user"]["type"] == "Bot"
    assert given["user"]["login"].endswith("[bot]")


def test_an_app_cannot_approve_its_own(hub: Hub) -> None:
    bot = hub.bot()
    asked = {"title": "Probe", "head": hub.branch(), "base": "main"}
    number = bot.post(f"{hub.path}/pulls", json=asked).json()["number"]
    assert bot.post(f"{hub.path}/pulls/{number}/reviews", json={"event": "APPROVE"}).status_code == 422
