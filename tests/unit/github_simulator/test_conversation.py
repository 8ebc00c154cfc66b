"""Issues, comments, reactions, locks, the timeline, and when something was last edited."""

from tests.unit.github_simulator.conftest import Acme

LAST_EDITED = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    issue(number: $number) { lastEditedAt comments(first: 100) { nodes { databaseId lastEditedAt } } }
  }
}
"""


def test_comments_on_a_pull_request_know_it(acme: Acme) -> None:
    pull = acme.pull()
    acme.user("bob").post(f"{acme.path}/issues/{pull['number']}/comments", json={"body": "hello"})
    acme.github.wait_for_deliveries()
    assert acme.receiver.last("issue_comment.created")["issue"]["pull_request"]["url"] == pull["url"]


def test_an_edit_keeps_what_was_there_in_its_event(acme: Acme) -> None:
    pull, bob = acme.pull(), acme.user("bob")
    comment = bob.post(f"{acme.path}/issues/{pull['number']}/comments", json={"body": "/approve"}).json()
    bob.patch(f"{acme.path}/issues/comments/{comment['id']}", json={"body": "/approve 2"})
    acme.github.wait_for_deliveries()
    assert acme.receiver.last("issue_comment.edited")["changes"] == {"body": {"from": "/approve"}}
    bob.delete(f"{acme.path}/issues/comments/{comment['id']}")
    assert bob.get(f"{acme.path}/issues/comments/{comment['id']}").status_code == 404
    events = bob.get(f"{acme.path}/issues/{pull['number']}/timeline").json()
    assert "commented" not in [event["event"] for event in events]


def test_graphql_tells_when_something_was_edited(acme: Acme) -> None:
    alice, bob = acme.user("alice"), acme.user("bob")
    number = alice.post(f"{acme.path}/issues", json={"title": "t", "body": "b"}).json()["number"]
    comment = bob.post(f"{acme.path}/issues/{number}/comments", json={"body": "c"}).json()
    asked = {"query": LAST_EDITED, "variables": {"owner": "acme", "name": "infra", "number": number}}
    shown = acme.bot().post("/graphql", json=asked).json()["data"]["repository"]["issue"]
    assert shown["lastEditedAt"] is None
    alice.patch(f"{acme.path}/issues/{number}", json={"title": "only the title"})
    assert (
        acme.bot().post("/graphql", json=asked).json()["data"]["repository"]["issue"]["lastEditedAt"] is None
    )
    alice.patch(f"{acme.path}/issues/{number}", json={"body": "changed"})
    bob.patch(f"{acme.path}/issues/comments/{comment['id']}", json={"body": "d"})
    shown = acme.bot().post("/api/graphql", json=asked).json()["data"]["repository"]["issue"]
    assert shown["lastEditedAt"] is not None
    assert shown["comments"]["nodes"][0]["lastEditedAt"] is not None


def test_graphql_refuses_what_it_cannot_see_or_understand(acme: Acme) -> None:
    asked = {"query": LAST_EDITED, "variables": {"owner": "acme", "name": "infra", "number": 99}}
    assert acme.user("alice").post("/graphql", json=asked).json()["errors"][0]["type"] == "NOT_FOUND"
    assert acme.user("dave").post("/graphql", json=asked).json()["errors"][0]["path"] == ["repository"]
    assert acme.user("alice").post("/graphql", json={"query": "{ viewer { login } }"}).json()["errors"]
    assert acme.github.with_token(None).post("/graphql", json=asked).status_code == 401


def test_reactions_count_once(acme: Acme) -> None:
    pull, bob = acme.pull(), acme.user("bob")
    comment = bob.post(f"{acme.path}/issues/{pull['number']}/comments", json={"body": "c"}).json()
    path = f"{acme.path}/issues/comments/{comment['id']}/reactions"
    assert [bob.post(path, json={"content": "confused"}).status_code for _ in range(2)] == [201, 200]
    assert bob.get(f"{acme.path}/issues/comments/{comment['id']}").json()["reactions"]["confused"] == 1


def test_a_locked_conversation_is_for_writers(acme: Acme) -> None:
    acme.world.grant_access(acme.repo, "dave", "pull")
    pull = acme.pull()
    path = f"{acme.path}/issues/{pull['number']}"
    assert acme.user("bob").put(f"{path}/lock", json={"lock_reason": "resolved"}).status_code == 204
    assert acme.user("dave").post(f"{path}/comments", json={"body": "c"}).status_code == 403
    assert acme.user("carol").post(f"{path}/comments", json={"body": "c"}).status_code == 201
    assert acme.user("bob").delete(f"{path}/lock").status_code == 204


def test_the_timeline_tells_the_story_in_order(acme: Acme) -> None:
    pull, alice = acme.pull(), acme.user("alice")
    number = pull["number"]
    acme.review(number, "bob", "APPROVE", "ok")
    alice.post(f"{acme.path}/issues/{number}/labels", json={"labels": ["x"]})
    alice.patch(f"{acme.path}/pulls/{number}", json={"title": "new"})
    acme.world.push(acme.repo, "feature", {"n": "1"}, author="alice", parent="main")
    acme.user("bob").put(f"{acme.path}/pulls/{number}/merge", json={})
    events = [event["event"] for event in alice.get(f"{acme.path}/issues/{number}/timeline").json()]
    assert events == [
        "committed",
        "review_requested",
        "reviewed",
        "labeled",
        "renamed",
        "head_ref_force_pushed",
        "committed",
        "merged",
        "closed",
    ]


def test_issues_list_pull_requests_too(acme: Acme) -> None:
    acme.pull()
    acme.user("alice").post(f"{acme.path}/issues", json={"title": "t", "labels": ["a"]})
    alice = acme.user("alice")
    assert ["pull_request" in issue for issue in alice.get(f"{acme.path}/issues").json()] == [False, True]
    assert len(alice.get(f"{acme.path}/issues", params={"labels": "a"}).json()) == 1
    assert alice.patch(f"{acme.path}/issues/1", json={"state": "closed"}).json()["state"] == "closed"
