"""Probes: pull requests, their heads, files, limits and merges."""

import pytest

from tests.contract.github.hub import Hub


def test_a_duplicate_is_refused(hub: Hub) -> None:
    pull = hub.pull()
    asked = {"title": "Probe", "head": pull["head"]["ref"], "base": "main"}
    again = hub.person("author").post(f"{hub.path}/pulls", json=asked)
    assert again.status_code == 422
    assert again.json()["errors"][0]["message"].startswith("A pull request already exists for ")


def test_no_commits_between_is_refused(hub: Hub) -> None:
    branch = hub.branch()
    tip = hub.main()
    url = f"{hub.path}/git/refs/heads/{branch}"
    hub.person("author").patch(url, json={"sha": tip, "force": True}).raise_for_status()
    answer = hub.person("author").post(
        f"{hub.path}/pulls", json={"title": "t", "head": branch, "base": "main"}
    )
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"].startswith("No commits between")


def test_an_unknown_head_is_refused(hub: Hub) -> None:
    asked = {"title": "t", "head": "no-such-branch", "base": "main"}
    answer = hub.person("author").post(f"{hub.path}/pulls", json=asked)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "head"


def test_mergeable_is_unknown_at_first(hub: Hub) -> None:
    pull = hub.pull()
    assert pull["mergeable"] is None
    assert hub.settled(f"{hub.path}/pulls/{pull['number']}", "mergeable")["mergeable"] is True


def test_the_head_moves_with_its_branch(hub: Hub) -> None:
    pull = hub.pull()
    sha = hub.commit(pull["head"]["ref"], f"move-{pull['number']}.txt", "x\n")
    assert hub.person("author").get(f"{hub.path}/pulls/{pull['number']}").json()["head"]["sha"] == sha


def test_a_force_push_stands_in_the_timeline(hub: Hub) -> None:
    pull = hub.pull()
    other = hub.branch()
    sha = hub.person("author").get(f"{hub.path}/git/ref/heads/{other}").json()["object"]["sha"]
    url = f"{hub.path}/git/refs/heads/{pull['head']['ref']}"
    assert hub.person("author").patch(url, json={"sha": sha}).status_code == 422
    hub.person("author").patch(url, json={"sha": sha, "force": True}).raise_for_status()
    timeline = hub.person("author").get(f"{hub.path}/issues/{pull['number']}/timeline").json()
    assert "head_ref_force_pushed" in [event["event"] for event in timeline]


def test_files_have_patches(hub: Hub) -> None:
    number = hub.pull()["number"]
    files = hub.person("author").get(f"{hub.path}/pulls/{number}/files").json()
    assert [(one["status"], one["additions"]) for one in files] == [("added", 1)]
    assert files[0]["patch"] == "@@ -0,0 +1 @@\n+new"


def test_code_owners_are_asked(hub: Hub) -> None:
    pull = hub.pull()
    path = f"{hub.path}/pulls/{pull['number']}/requested_reviewers"
    asked = hub.person("author").get(path).json()
    assert [team["slug"] for team in asked["teams"]] == [hub.team]


def test_the_author_cannot_be_asked(hub: Hub) -> None:
    number = hub.pull()["number"]
    asked = {"reviewers": [hub.logins["author"]]}
    answer = hub.person("admin").post(f"{hub.path}/pulls/{number}/requested_reviewers", json=asked)
    assert answer.status_code == 422


def test_a_body_of_65537_is_refused(hub: Hub) -> None:
    number = hub.pull()["number"]
    answer = hub.person("author").patch(f"{hub.path}/pulls/{number}", json={"body": "x" * 65_537})
    assert answer.status_code == 422
    assert "maximum is 65536 characters" in answer.json()["errors"][0]["message"]


def test_a_wrong_sha_does_not_merge(hub: Hub) -> None:
    number = hub.pull()["number"]
    hub.settled(f"{hub.path}/pulls/{number}", "mergeable")
    answer = hub.person("admin").put(f"{hub.path}/pulls/{number}/merge", json={"sha": "f" * 40})
    assert answer.status_code == 409
    assert answer.json()["message"] == "Head branch was modified. Review and try the merge again."


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_merging(hub: Hub, method: str) -> None:
    pull = hub.pull()
    path = f"{hub.path}/pulls/{pull['number']}"
    hub.settled(path, "mergeable")
    asked = {"sha": pull["head"]["sha"], "merge_method": method}
    merged = hub.person("admin").put(f"{path}/merge", json=asked)
    assert (merged.status_code, merged.json()["merged"]) == (200, True)
    shown = hub.person("author").get(path).json()
    assert (shown["merged"], shown["state"], shown["merge_commit_sha"]) == (
        True,
        "closed",
        merged.json()["sha"],
    )
    assert hub.person("author").get(f"{path}/merge").status_code == 204
    assert hub.person("admin").put(f"{path}/merge", json={}).status_code == 405


def test_a_draft_does_not_merge(hub: Hub) -> None:
    number = hub.pull(draft=True)["number"]
    assert hub.person("admin").put(f"{hub.path}/pulls/{number}/merge", json={}).status_code == 405


def test_closing_and_reopening(hub: Hub) -> None:
    number = hub.pull()["number"]
    path, author = f"{hub.path}/pulls/{number}", hub.person("author")
    assert author.patch(path, json={"state": "closed"}).json()["state"] == "closed"
    assert author.put(f"{path}/merge", json={}).status_code == 405
    assert author.patch(path, json={"state": "open"}).json()["state"] == "open"


def test_deleting_the_branch_closes(hub: Hub) -> None:
    pull = hub.pull()
    hub.person("author").delete(f"{hub.path}/git/refs/heads/{pull['head']['ref']}").raise_for_status()
    assert hub.person("author").get(f"{hub.path}/pulls/{pull['number']}").json()["state"] == "closed"


def test_the_pull_request_ref_stays(hub: Hub) -> None:
    pull = hub.pull()
    found = hub.person("author").get(f"{hub.path}/git/ref/pull/{pull['number']}/head")
    assert found.json()["object"]["sha"] == pull["head"]["sha"]


def test_updating_the_branch(hub: Hub) -> None:
    pull = hub.pull()
    hub.commit("main", f"base-{pull['number']}.txt", "x\n", role="admin")
    path = f"{hub.path}/pulls/{pull['number']}/update-branch"
    wrong = hub.person("author").put(path, json={"expected_head_sha": "f" * 40})
    assert wrong.status_code == 422
    assert hub.person("author").put(path, json={"expected_head_sha": pull["head"]["sha"]}).status_code == 202


def test_a_pull_request_is_an_issue(hub: Hub) -> None:
    pull = hub.pull()
    issue = hub.person("author").get(f"{hub.path}/issues/{pull['number']}").json()
    assert issue["pull_request"]["url"] == pull["url"]
    assert issue["id"] != pull["id"]
