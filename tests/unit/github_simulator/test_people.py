"""Users, organizations, teams, rights: what each caller may know."""

import pytest

from tests.unit.github_simulator.conftest import Acme


def test_numbers_stay_when_a_login_is_taken_again(acme: Acme) -> None:
    alice = acme.user("alice")
    first = alice.get("/users/dave").json()
    assert alice.get(f"/user/{first['id']}").json()["login"] == "dave"
    acme.world.remove_user("dave")
    assert alice.get("/users/dave").status_code == 404
    second = acme.world.add_user("dave")
    assert alice.get("/users/DAVE").json()["id"] == second.id != first["id"]
    assert alice.get(f"/user/{first['id']}").status_code == 404


def test_a_deleted_reviewer_becomes_null(acme: Acme) -> None:
    pull = acme.pull()
    acme.review(pull["number"], "bob", "APPROVE")
    acme.world.remove_user("bob")
    reviews = acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}/reviews").json()
    assert [one["user"] for one in reviews] == [None]
    acme.user("alice").get(f"{acme.path}/issues/{pull['number']}/timeline").raise_for_status()


def test_teams_in_teams(acme: Acme) -> None:
    acme.world.add_user("erin")
    acme.world.add_team("acme", "oncall", members=["erin"], parent="platform")
    bot = acme.bot()
    path = "/orgs/acme/teams/platform"
    assert [team["slug"] for team in bot.get(f"{path}/teams").json()] == ["oncall"]
    assert [user["login"] for user in bot.get(f"{path}/members").json()] == ["bob", "erin"]
    assert bot.get(f"{path}/memberships/erin").json()["state"] == "active"
    assert bot.get("/orgs/acme/teams/oncall/memberships/bob").status_code == 404
    assert bot.get(f"{acme.path}/collaborators/erin/permission").json()["permission"] == "write"
    team = bot.get(path).json()
    assert bot.get(team["url"]).json()["slug"] == "platform"
    assert bot.get(f"/teams/{team['id']}/memberships/erin").json()["state"] == "active"


def test_a_pending_member_is_no_active_one(acme: Acme) -> None:
    acme.world.add_to_team("acme/platform", "carol", state="pending")
    bot = acme.bot()
    assert bot.get("/orgs/acme/teams/platform/memberships/carol").json()["state"] == "pending"
    assert [user["login"] for user in bot.get("/orgs/acme/teams/platform/members").json()] == ["bob"]


def test_outsiders_and_apps_without_the_permission_see_no_teams(acme: Acme) -> None:
    assert acme.user("dave").get("/orgs/acme/teams/platform").status_code == 404
    blind = acme.bot(permissions={"contents": "read"})
    assert blind.get("/orgs/acme/teams/platform/members").status_code == 403


def test_secret_teams_are_for_their_members(acme: Acme) -> None:
    acme.world.add_team("acme", "hidden", members=["carol"], privacy="secret")
    assert acme.user("bob").get("/orgs/acme/teams/hidden").status_code == 404
    assert acme.user("carol").get("/orgs/acme/teams/hidden").status_code == 200


def test_adding_and_removing_members_is_told(acme: Acme) -> None:
    root, path = acme.user("root"), "/orgs/acme/teams/platform/memberships"
    acme.world.add_member("acme", "carol")
    assert root.put(f"{path}/carol", json={"role": "member"}).json()["state"] == "active"
    assert root.put(f"{path}/dave", json={"role": "member"}).json()["state"] == "pending"
    assert root.delete(f"{path}/bob").status_code == 204
    acme.github.wait_for_deliveries()
    assert acme.receiver.last("membership.added")["member"]["login"] == "carol"
    assert acme.receiver.last("membership.removed")["member"]["login"] == "bob"


@pytest.mark.parametrize(
    ("level", "permission", "role"),
    [
        ("pull", "read", "read"),
        ("triage", "read", "triage"),
        ("push", "write", "write"),
        ("maintain", "write", "maintain"),
        ("admin", "admin", "admin"),
        ("none", "none", "none"),
    ],
)
def test_permission_levels(acme: Acme, level: str, permission: str, role: str) -> None:
    acme.world.grant_access(acme.repo, "dave", level)
    shown = acme.bot().get(f"{acme.path}/collaborators/dave/permission").json()
    assert (shown["permission"], shown["role_name"]) == (permission, role)


def test_collaborators_are_for_writers(acme: Acme) -> None:
    acme.world.grant_access(acme.repo, "dave", "pull")
    answer = acme.user("dave").get(f"{acme.path}/collaborators")
    assert answer.json()["message"] == "Must have push access to view repository collaborators."
    direct = acme.user("alice").get(f"{acme.path}/collaborators", params={"affiliation": "direct"}).json()
    assert {one["login"] for one in direct} == {"alice", "carol", "dave"}


def test_private_repositories_do_not_exist_for_strangers(acme: Acme) -> None:
    for client in (acme.user("dave"), acme.github.with_token(None)):
        assert client.get(acme.path).status_code == 404
    public = acme.world.add_repository("acme", "open", private=False)
    assert acme.github.with_token(None).get(f"/repos/{public.full_name}").status_code == 200
    made = acme.github.with_token(None).post(f"/repos/{public.full_name}/issues", json={"title": "t"})
    assert made.status_code == 401


def test_a_renamed_account_keeps_its_number_and_frees_its_login(acme: Acme) -> None:
    number = acme.user("alice").get("/users/bob").json()["id"]
    acme.world.rename_user("bob", "robert")
    assert acme.user("alice").get(f"/user/{number}").json()["login"] == "robert"
    assert acme.user("alice").get("/users/bob").status_code == 404
    assert acme.world.add_user("bob").id != number
