"""The operations for setting up and looking after a repository, each at least once in strict mode."""

from tests.unit.github_simulator.conftest import SECRET, Acme


def test_hooks_are_read_pinged_redelivered_and_deleted(acme: Acme) -> None:
    root, path = acme.user("root"), f"{acme.path}/hooks"
    config = {"url": acme.receiver.url, "content_type": "json", "secret": SECRET}
    hook = root.post(path, json={"config": config, "events": ["push"]}).json()
    one = f"{path}/{hook['id']}"
    assert [found["id"] for found in root.get(path).json()] == [hook["id"]]
    assert root.get(one).json()["config"]["url"] == acme.receiver.url
    assert root.post(one + "/pings").status_code == 204
    acme.github.wait_for_deliveries()
    latest = root.get(f"{one}/deliveries").json()[0]
    assert root.get(f"{one}/deliveries/{latest['id']}").json()["request"]["payload"]["zen"]
    assert root.post(f"{one}/deliveries/{latest['id']}/attempts").status_code == 202
    again = root.post(path, json={"config": config})
    assert again.json()["errors"][0]["message"] == "Hook already exists on this repository"
    assert root.delete(one).status_code == 204
    assert root.get(one).status_code == 404


def test_an_app_changes_its_webhook_and_finds_its_installation(acme: Acme) -> None:
    app = acme.app_client()
    assert app.get("/orgs/acme/installation").json()["id"] == acme.installation.id
    assert app.patch("/app/hook/config", json={"secret": "other"}).json()["secret"] == "********"
    app.patch("/app/hook/config", json={"secret": SECRET}).raise_for_status()
    bot = acme.bot()
    assert bot.delete("/installation/token").status_code == 204
    assert bot.get(acme.path).status_code == 401


def test_protection_is_set_read_and_removed(acme: Acme) -> None:
    root, path = acme.user("root"), f"{acme.path}/branches/main/protection"
    assert root.get(path).json()["message"] == "Branch not protected"
    rules = {
        "required_status_checks": {"strict": True, "contexts": ["gate"]},
        "enforce_admins": True,
        "required_pull_request_reviews": {
            "required_approving_review_count": 2,
            "dismiss_stale_reviews": True,
        },
        "restrictions": None,
    }
    assert root.put(path, json=rules).status_code == 200
    shown = root.get(path).json()
    assert shown["required_pull_request_reviews"]["required_approving_review_count"] == 2
    assert shown["required_status_checks"]["contexts"] == ["gate"]
    assert acme.user("alice").get(path).status_code == 404
    assert acme.bot().get(path).status_code == 200
    branch = acme.user("alice").get(f"{acme.path}/branches/main").json()
    assert branch["protected"] is True
    assert acme.user("alice").get(f"{acme.path}/rules/branches/main").json() == []
    assert root.delete(path).status_code == 204
    assert root.delete(path).status_code == 404


def test_labels_reactions_and_inline_comments_are_listed(acme: Acme) -> None:
    pull, alice, bob = acme.pull(), acme.user("alice"), acme.user("bob")
    number = pull["number"]
    alice.post(f"{acme.path}/issues/{number}/labels", json={"labels": ["a", "b"]})
    assert [one["name"] for one in alice.get(f"{acme.path}/issues/{number}/labels").json()] == ["a", "b"]
    assert alice.delete(f"{acme.path}/issues/{number}/labels/zzz").status_code == 404
    comment = bob.post(f"{acme.path}/issues/{number}/comments", json={"body": "c"}).json()
    reactions = f"{acme.path}/issues/comments/{comment['id']}/reactions"
    bob.post(reactions, json={"content": "eyes"})
    assert [one["content"] for one in bob.get(reactions).json()] == ["eyes"]
    inline = [{"path": "feature.txt", "line": 1, "body": "why new?"}]
    acme.review(number, "bob", "COMMENT", comments=inline).raise_for_status()
    found = alice.get(f"{acme.path}/pulls/{number}/comments").json()
    assert [(one["path"], one["line"], one["body"]) for one in found] == [("feature.txt", 1, "why new?")]


def test_a_pending_review_can_be_thrown_away_and_a_given_one_cannot(acme: Acme) -> None:
    pull, bob = acme.pull(), acme.user("bob")
    path = f"{acme.path}/pulls/{pull['number']}/reviews"
    pending = bob.post(path, json={}).json()
    assert bob.delete(f"{path}/{pending['id']}").status_code == 200
    given = acme.review(pull["number"], "bob", "APPROVE").json()
    assert bob.delete(f"{path}/{given['id']}").status_code == 422


def test_members_and_teams_of_a_repository(acme: Acme) -> None:
    root = acme.user("root")
    assert {one["login"] for one in root.get("/orgs/acme/members").json()} == {"root", "bob"}
    assert [one["login"] for one in root.get("/orgs/acme/members", params={"role": "admin"}).json()] == [
        "root"
    ]
    assert acme.user("dave").get("/orgs/acme/members").json() == []
    team = "/orgs/acme/teams/platform/repos/acme/infra"
    assert root.get(team).status_code == 204
    as_repository = root.get(team, headers={"accept": "application/vnd.github.v3.repository+json"})
    assert as_repository.json()["role_name"] == "write"
    assert [one["slug"] for one in root.get(f"{acme.path}/teams").json()] == ["platform"]
    assert root.get(f"{acme.path}/collaborators/bob").status_code == 204
    assert root.get(f"{acme.path}/collaborators/dave").status_code == 404


def test_settings_and_archiving(acme: Acme) -> None:
    root = acme.user("root")
    assert root.patch(acme.path, json={"name": "other", "description": "d"}).json()["name"] == "other"
    assert acme.user("alice").patch("/repos/acme/other", json={"description": "x"}).status_code == 403
    root.patch("/repos/acme/other", json={"archived": True}).raise_for_status()
    refused = root.post("/repos/acme/other/issues", json={"title": "t"})
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "Repository was archived so is read-only.",
    )


def test_merge_settings_are_kept(acme: Acme) -> None:
    root, pull = acme.user("root"), acme.pull()
    root.patch(
        acme.path, json={"allow_squash_merge": False, "delete_branch_on_merge": True}
    ).raise_for_status()
    path = f"{acme.path}/pulls/{pull['number']}/merge"
    assert root.put(path, json={"merge_method": "squash"}).status_code == 405
    assert root.put(path, json={}).status_code == 200
    assert root.get(f"{acme.path}/git/ref/heads/feature").status_code == 404
