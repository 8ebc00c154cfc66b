"""A simulator of GitHub with an organisation, for reading through real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evidence.app_client import AppClients
from github_simulator import simulator
from tests.request_on_github import FILES, PEOPLE, PERMISSIONS, Forge


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    """A GitHub for one test, which may change anything in it."""
    yield from _forge(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    """A GitHub for tests that change nothing but their own pull request and branches."""
    yield from _forge(tmp_path_factory.mktemp("github"))


@pytest.fixture
def faulty(shared: Forge) -> Iterator[Forge]:
    """The shared GitHub, whose faults are over after the test."""
    yield shared
    shared.github.faults.clear()


def _forge(folder: Path) -> Iterator[Forge]:
    with simulator.running(data=folder) as github:
        world = github.world
        for login in PEOPLE:
            world.add_user(login)
        world.add_organization("acme", members=PEOPLE)
        world.add_team("acme", "platform", members=["alice", "carol", "agent-owner"])
        repository = world.add_repository("acme", "infra", files=FILES)
        world.grant_team_access(repository, "acme/platform", "push")
        world.grant_access(repository, "bob", "push")
        world.grant_access(repository, "mallory", "push")
        bot = world.add_app("ownergate", permissions=PERMISSIONS, owner="acme")
        runner = world.add_app(
            "runner",
            owner="acme",
            permissions={name: "read" for name in PERMISSIONS if name != "checks"},
        )
        installations = [world.install(app, "acme", repositories=[repository]) for app in (bot, runner)]
        clients = [
            AppClients(
                base_url=github.url,
                app_id=app.id,
                private_key=app.private_key_pem,
                installation_id=installation.id,
                read_only=app is runner,
            )
            for app, installation in zip((bot, runner), installations, strict=True)
        ]
        yield Forge(
            github=github,
            repository=repository,
            bot=bot,
            bot_installation=installations[0],
            bot_clients=clients[0],
            runner_clients=clients[1],
        )
        assert github.violations == []
