"""Owners resolved to people, through real HTTP: users, teams, teams in teams, addresses, and who is none."""

from __future__ import annotations

import pytest

from evidence import Unavailable
from evidence.owners import Owners
from evidence.rest import Rest
from policy.approval import Approved, Waiting, decide
from policy.facts import OwnerFact
from tests.request_on_github import FILES, Forge


def resolve(forge: Forge, name: str, *, reviewers: tuple[str, ...] = ()) -> OwnerFact:
    owners = Owners(Rest(forge.runner_clients.client()), "acme/infra")
    return owners.resolve([name], reviewers={forge.id(login) for login in reviewers})[name]


def people(forge: Forge, *logins: str) -> frozenset[int]:
    return frozenset(forge.id(login) for login in logins)


def test_only_write_access_makes_an_owner(forge: Forge) -> None:
    for level in ("push", "maintain", "admin"):
        forge.github.world.grant_access(forge.repository, "bob", level)
        owner = resolve(forge, "@BOB")
        assert (owner.name, owner.people, owner.unresolved) == ("@BOB", people(forge, "bob"), None)
    for level in ("none", "pull", "triage"):
        forge.github.world.grant_access(forge.repository, "bob", level)  # type: ignore[arg-type]
        owner = resolve(forge, "@bob")
        assert owner.people == frozenset()
        assert owner.unresolved == "no person with write access to this repository"


def test_nobody_and_programs_and_organisations_are_no_people(shared: Forge) -> None:
    for name in ("@nobody-there", "@acme"):
        assert resolve(shared, name).people == frozenset()
    # GitHub lets an App's account never be an owner; the file can't even name it, and it would not count.
    assert resolve(shared, "@ownergate[bot]").people == frozenset()


def test_a_team_is_its_active_members(forge: Forge) -> None:
    forge.github.world.add_to_team("acme/platform", "bob", state="pending")
    owner = resolve(forge, "@ACME/Platform")
    assert owner.people == people(forge, "alice", "carol", "agent-owner")
    assert owner.unresolved is None


def test_members_of_teams_in_a_team_own_too(forge: Forge) -> None:
    world = forge.github.world
    world.add_team("acme", "inner", members=["bob"], parent="platform")
    world.add_team("acme", "innermost", members=["mallory"], parent="inner")
    assert resolve(forge, "@acme/platform").people == people(
        forge, "alice", "carol", "agent-owner", "bob", "mallory"
    )
    assert resolve(forge, "@acme/innermost").people == people(forge, "mallory")


def test_every_page_of_a_team_is_read(forge: Forge) -> None:
    world = forge.github.world
    for number in range(120):
        world.add_user(f"member-{number}")
        world.add_to_team("acme/platform", f"member-{number}")
    assert len(resolve(forge, "@acme/platform").people) == 123


def test_a_team_that_can_not_own_says_why(forge: Forge) -> None:
    world = forge.github.world
    for slug, level in (("hidden", "push"), ("readers", "pull"), ("strangers", "none"), ("empty", "push")):
        members = [] if slug == "empty" else ["alice", "bob"]
        world.add_team("acme", slug, members=members, privacy="secret" if slug == "hidden" else "closed")
        world.grant_team_access(forge.repository, f"acme/{slug}", level)  # type: ignore[arg-type]
    reasons = {
        "@acme/nothing": "no team that the App can see",
        "@other/platform": "a team of another organisation",
        "@acme/hidden": "a secret team, which can't own code",
        "@acme/readers": "a team without write access of its own to this repository",
        "@acme/strangers": "a team without write access of its own to this repository",
        "@acme/empty": "a team without members who can write to this repository",
    }
    for name, reason in reasons.items():
        owner = resolve(forge, name)
        assert (owner.people, owner.unresolved) == (frozenset(), reason)


def test_a_member_who_reviewed_is_looked_at_alone_as_well(shared: Forge) -> None:
    rest = Rest(shared.runner_clients.client())
    owners = Owners(rest, "acme/infra")
    found = owners.resolve(["@acme/platform"], reviewers={shared.id("alice"), shared.id("mallory")})
    assert shared.id("alice") in found["@acme/platform"].people
    # The team, its access, its members, and alice.
    assert rest.calls == 4


def test_an_address_is_the_person_whose_commits_it_made(forge: Forge) -> None:
    world = forge.github.world
    world.add_user("dora", email="dora@example.com")
    assert resolve(forge, "dora@example.com").unresolved == (
        "no commit here tells whose address this is; name the owner by login"
    )
    forge.push("main", {"x": "1"}, author="dora")
    assert resolve(forge, "dora@example.com").unresolved == "no person with write access to this repository"
    world.grant_access(forge.repository, "dora", "push")
    assert resolve(forge, "dora@example.com").people == people(forge, "dora")


def test_a_commit_with_another_address_tells_nothing_about_this_one(forge: Forge) -> None:
    # GitHub's parameter takes a login as well, and an address can look like one.
    forge.push("main", {"x": "1"}, author="bob")
    owners = Owners(Rest(forge.runner_clients.client()), "acme/infra")
    assert owners._email("bob").people == frozenset()


def test_an_address_as_owner_can_approve(forge: Forge) -> None:
    world = forge.github.world
    world.add_user("dora", email="dora@example.com")
    world.grant_access(forge.repository, "dora", "push")
    forge.push("main", {".github/CODEOWNERS": "* dora@example.com\n"}, author="dora")
    opened = forge.open_request()
    forge.review(opened.number, "dora")
    assert isinstance(decide(opened.facts(), opened.requirement()), Approved)


def test_a_login_taken_over_by_another_account_is_another_person(forge: Forge) -> None:
    forge.push("main", {".github/CODEOWNERS": "* @bob\n"})
    opened = forge.open_request()
    forge.review(opened.number, "bob")
    assert isinstance(decide(opened.facts(), opened.requirement()), Approved)
    old = forge.id("bob")
    forge.github.world.remove_user("bob")
    forge.github.world.add_user("bob")
    forge.github.world.grant_access(forge.repository, "bob", "push")
    assert forge.id("bob") != old
    assert isinstance(decide(opened.facts(), opened.requirement()), Waiting)


def test_what_was_asked_once_is_not_asked_again(shared: Forge) -> None:
    rest = Rest(shared.runner_clients.client())
    owners = Owners(rest, "acme/infra")
    owners.resolve(["@bob", "@Bob"], reviewers=())
    assert rest.calls == 1
    assert owners.logins == {shared.id("bob"): "bob"}


def test_an_app_that_may_not_see_teams_gives_no_facts_and_no_empty_team(forge: Forge) -> None:
    world = forge.github.world
    installation = next(one for one in world.state.installations.values() if one.app_id != forge.bot.id)
    installation.permissions.pop("members")
    opened = forge.open_request()
    with pytest.raises(Unavailable, match="403"):
        opened.facts()


def test_routing_names_who_may_approve_before_there_is_a_pull_request(shared: Forge) -> None:
    routing = shared.reader().routing(
        shared.tip(), ["terraform/web/", "terraform/web/main.tf"], barred={shared.id("agent-owner")}
    )
    assert routing.faults == ()
    assert [(path.path, path.line, path.names) for path in routing.owned] == [
        ("terraform/web/", 2, ("@acme/platform",)),
        ("terraform/web/main.tf", 2, ("@acme/platform",)),
    ]
    assert [person.login for person in routing.owned[0].people] == ["alice", "carol"]


def test_routing_tells_what_nobody_could_approve(forge: Forge) -> None:
    forge.push(
        "main",
        {".github/CODEOWNERS": FILES[".github/CODEOWNERS"] + "/docs/ @acme/nothing\n/x/ @agent-owner\n"},
    )
    forge.github.world.grant_access(forge.repository, "agent-owner", "push")
    routing = forge.reader().routing(
        forge.tip(), ["docs/", "x/", "README.md"], barred={forge.id("agent-owner")}
    )
    free = "and of them nobody with write access is free to approve this request."
    assert sorted(finding.reason for finding in routing.faults) == [
        "Nobody may approve docs/: CODEOWNERS line 4 names @acme/nothing (no team that the App can see), "
        + free,
        "Nobody may approve x/: CODEOWNERS line 5 names @agent-owner, " + free,
        "Nobody owns README.md: no line of CODEOWNERS matches.",
    ]
