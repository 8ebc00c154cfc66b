"""Probes: contents, git objects, comments, checks, teams, Apps, and HTTP itself."""

import base64
import time

from tests.contract.github.hub import Hub


def test_a_stale_blob_is_a_conflict(hub: Hub) -> None:
    branch = hub.branch()
    path = f"{hub.path}/contents/{branch.replace('/', '-')}.txt"
    asked = {"message": "m", "content": base64.b64encode(b"x").decode(), "branch": branch}
    assert hub.person("author").put(path, json=asked | {"sha": "f" * 40}).status_code == 409
    assert hub.person("author").put(path, json=asked).status_code == 422


def test_git_objects_make_a_commit(hub: Hub) -> None:
    author, tip = hub.person("author"), hub.main()
    blob = author.post(f"{hub.path}/git/blobs", json={"content": "hello\n"}).json()["sha"]
    base = author.get(f"{hub.path}/git/commits/{tip}").json()["tree"]["sha"]
    entry = {"path": "probe/x.txt", "mode": "100644", "type": "blob", "sha": blob}
    tree = author.post(f"{hub.path}/git/trees", json={"base_tree": base, "tree": [entry]}).json()["sha"]
    asked = {"message": "m", "tree": tree, "parents": [tip]}
    made = author.post(f"{hub.path}/git/commits", json=asked)
    assert made.status_code == 201
    listed = author.get(f"{hub.path}/git/trees/{made.json()['sha']}", params={"recursive": "1"}).json()
    assert "probe/x.txt" in [one["path"] for one in listed["tree"]]
    assert listed["truncated"] is False


def test_ref_refusals(hub: Hub) -> None:
    author, tip = hub.person("author"), hub.main()
    assert author.post(f"{hub.path}/git/refs", json={"ref": "refs/heads/main", "sha": tip}).status_code == 422
    assert (
        author.post(f"{hub.path}/git/refs", json={"ref": "refs/heads/n", "sha": "f" * 40}).status_code == 422
    )
    assert author.get(f"{hub.path}/git/ref/heads/nowhere").status_code == 404


def test_unknown_commits(hub: Hub) -> None:
    assert hub.person("author").get(f"{hub.path}/commits/{'f' * 40}").status_code == 422
    assert hub.person("author").get(f"{hub.path}/git/commits/{'f' * 40}").status_code == 404


def test_comparing_is_from_the_merge_base(hub: Hub) -> None:
    branch, start = hub.branch(), hub.main()
    hub.commit("main", f"ahead-{branch.replace('/', '-')}.txt", "x\n", role="admin")
    compared = hub.person("author").get(f"{hub.path}/compare/main...{branch}").json()
    assert (compared["status"], compared["ahead_by"]) == ("diverged", 1)
    assert compared["merge_base_commit"]["sha"] == start
    assert len(compared["files"]) == 1


def test_comments_are_made_changed_and_deleted(hub: Hub) -> None:
    number, author = hub.pull()["number"], hub.person("author")
    made = author.post(f"{hub.path}/issues/{number}/comments", json={"body": "one"})
    assert made.status_code == 201
    url = f"{hub.path}/issues/comments/{made.json()['id']}"
    assert author.patch(url, json={"body": "two"}).json()["body"] == "two"
    assert author.delete(url).status_code == 204
    assert author.get(url).status_code == 404


def test_a_comment_of_65537_is_refused(hub: Hub) -> None:
    number = hub.pull()["number"]
    answer = hub.person("author").post(f"{hub.path}/issues/{number}/comments", json={"body": "x" * 65_537})
    assert answer.status_code == 422


def test_when_a_body_was_edited(hub: Hub) -> None:
    author = hub.person("author")
    issue = author.post(f"{hub.path}/issues", json={"title": "Probe", "body": "one"}).json()
    query = (
        "query($o: String!, $r: String!, $n: Int!) { repository(owner: $o, name: $r) "
        "{ issue(number: $n) { lastEditedAt } } }"
    )
    asked = {"query": query, "variables": {"o": hub.owner, "r": hub.repo, "n": issue["number"]}}
    assert author.post("/graphql", json=asked).json()["data"]["repository"]["issue"]["lastEditedAt"] is None
    author.patch(f"{hub.path}/issues/{issue['number']}", json={"body": "two"}).raise_for_status()
    assert (
        author.post("/graphql", json=asked).json()["data"]["repository"]["issue"]["lastEditedAt"] is not None
    )


def test_people_make_no_check_runs(hub: Hub) -> None:
    asked = {"name": "probe", "head_sha": hub.main()}
    answer = hub.person("admin").post(f"{hub.path}/check-runs", json=asked)
    assert (answer.status_code, answer.json()["message"]) == (403, "You must authenticate via a GitHub App.")


def test_annotations_are_limited_and_appended(hub: Hub) -> None:
    bot, sha = hub.bot(), hub.pull()["head"]["sha"]
    one = {"path": "README.md", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}
    output = {"title": "t", "summary": "s"}
    too_many = {"name": "probe", "head_sha": sha, "output": output | {"annotations": [one] * 51}}
    assert bot.post(f"{hub.path}/check-runs", json=too_many).status_code == 422
    asked = {"name": "probe", "head_sha": sha, "output": output | {"annotations": [one] * 2}}
    made = bot.post(f"{hub.path}/check-runs", json=asked)
    assert made.status_code == 201
    path = f"{hub.path}/check-runs/{made.json()['id']}"
    more = bot.patch(path, json={"output": output | {"annotations": [one]}})
    assert more.json()["output"]["annotations_count"] == 3


def test_statuses_combine(hub: Hub) -> None:
    author, sha = hub.person("author"), hub.pull()["head"]["sha"]
    assert author.get(f"{hub.path}/commits/{sha}/status").json()["state"] == "pending"
    made = author.post(f"{hub.path}/statuses/{sha}", json={"state": "success", "context": "probe"})
    assert made.status_code == 201
    assert author.get(f"{hub.path}/commits/{sha}/status").json()["state"] == "success"


def test_team_membership(hub: Hub) -> None:
    bot, path = hub.bot(), f"/orgs/{hub.owner}/teams/{hub.team}"
    assert bot.get(f"{path}/memberships/{hub.logins['reviewer']}").json()["state"] == "active"
    assert bot.get(f"{path}/memberships/{hub.logins['author']}").status_code == 404
    team = bot.get(path).json()
    assert bot.get(f"{team['url']}/memberships/{hub.logins['reviewer']}").json()["state"] == "active"


def test_collaborator_permission(hub: Hub) -> None:
    answer = hub.bot().get(f"{hub.path}/collaborators/{hub.logins['author']}/permission").json()
    assert (answer["permission"], answer["role_name"]) == ("write", "write")


def test_codeowners_errors(hub: Hub) -> None:
    assert hub.person("author").get(f"{hub.path}/codeowners/errors").json()["errors"] == []


def test_app_tokens(hub: Hub) -> None:
    app, path = hub.client(hub.jwt()), f"/app/installations/{hub.installation_id()}/access_tokens"
    everything = app.post(path, json={"permissions": {}}).json()
    assert everything["permissions"]["contents"] == "write"
    beyond = app.post(path, json={"permissions": {"administration": "write"}})
    assert beyond.status_code == 422
    assert beyond.json()["message"] == "The permissions requested are not granted to this installation."
    narrow = hub.bot(permissions={"issues": "read"})
    refused = narrow.post(f"{hub.path}/issues", json={"title": "Probe"})
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")


def test_a_jwt_must_be_short_and_signed(hub: Hub) -> None:
    now = int(time.time())
    assert hub.client(hub.jwt(exp=now + 3600)).get("/app").status_code == 401
    assert hub.client(hub.jwt(exp=now - 60)).get("/app").status_code == 401
    assert hub.client(hub.jwt()[:-6] + "AAAAAA").get("/app").status_code == 401
    assert hub.person("author").get("/app").status_code == 401


def test_credentials(hub: Hub) -> None:
    answer = hub.client("ghp_" + "0" * 36).get("/user")
    assert (answer.status_code, answer.json()["message"]) == (401, "Bad credentials")


def test_conditional_reads_and_headers(hub: Hub) -> None:
    author = hub.person("author")
    first = author.get(hub.path)
    assert {"etag", "x-github-request-id", "x-ratelimit-remaining"} <= set(first.headers)
    assert author.get(hub.path, headers={"if-none-match": first.headers["etag"]}).status_code == 304


def test_the_raw_media_type(hub: Hub) -> None:
    raw = hub.person("author").get(
        f"{hub.path}/contents/CODEOWNERS", headers={"accept": "application/vnd.github.raw+json"}
    )
    assert raw.text.startswith("* @")
