"""Lost webhooks are found in GitHub's own list and asked for again, on the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot import missed_deliveries, webhook_events
from bot.missed_deliveries import MissedDeliveries
from github_simulator import simulator
from policy.refusal import Code, Refused
from tests.unit.bot.app_on_github import AppOnGitHub, install
from tests.unit.bot.ground import SECRET, Ground, listening


@dataclass(slots=True)
class Scene:
    """A bot that listens, GitHub that delivers to it, and the look through GitHub's list."""

    ground: Ground
    at_github: AppOnGitHub
    missed: MissedDeliveries
    port: int

    def push(self, name: str) -> None:
        world = self.at_github.github.world
        world.push(self.at_github.repository, "main", {name: "x"}, author="alice")
        self.at_github.github.wait_for_deliveries()

    def look(self) -> missed_deliveries.Look:
        """A look half a minute from now, when no delivery is young any more."""
        self.ground.clock.moment = datetime.now(UTC) + timedelta(seconds=30)
        look = self.missed.look()
        self.at_github.github.wait_for_deliveries()
        return look

    def stored(self) -> list[str]:
        return [row.event for row in self.ground.inbox_rows()]


@pytest.fixture
def scene(ground: Ground, tmp_path: Path) -> Iterator[Scene]:
    with simulator.running(data=tmp_path / "github") as github:
        at_github = install(github, tmp_path)
        github.world.add_user("alice")
        github.world.grant_access(at_github.repository, "alice", "push")
        serves = webhook_events.Scope(
            repository_id=at_github.repository.id, installation_id=at_github.installation.id
        )
        ground.wiring.inbox.start()
        with listening(ground.application(serves=serves)) as port:
            address = f"http://127.0.0.1:{port}/webhooks/github"
            github.world.set_webhook(at_github.app, address, SECRET.decode())
            ground.clock.moment = datetime.now(UTC)
            missed = MissedDeliveries(ground.database, at_github.made(), serves, ground.clock)
            yield Scene(ground, at_github, missed, port)


def test_when_nothing_is_lost_nothing_is_asked_for(scene: Scene) -> None:
    scene.push("a")
    look = scene.look()
    assert (look.asked, look.given_up) == ((), ())
    assert scene.stored() == ["push"]


def test_a_lost_delivery_is_asked_for_and_arrives(scene: Scene) -> None:
    scene.push("a")
    scene.at_github.github.faults.webhooks(drop=2, event="push")
    scene.push("b")
    scene.push("c")
    scene.push("d")
    assert scene.stored() == ["push"] * 2
    look = scene.look()
    assert len(look.asked) == 2
    assert scene.stored() == ["push"] * 4
    assert [row.delivery_id for row in scene.ground.inbox_rows()][2:] == list(look.asked)
    assert scene.look().asked == ()


def test_one_that_never_arrives_is_given_up(
    scene: Scene, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missed_deliveries, "YOUNG", timedelta(0))
    scene.at_github.github.faults.webhooks(drop=1, event="push")
    scene.push("a")
    # The secret is another one at GitHub, so every further attempt is refused.
    hook = scene.at_github.github.world
    address = f"http://127.0.0.1:{scene.port}/webhooks/github"
    hook.set_webhook(scene.at_github.app, address, "a secret that the bot doesn't know")
    asked = [len(scene.look().asked) for _ in range(5)]
    assert asked == [1, 1, 1, 0, 0]
    assert len(scene.look().given_up) == 1
    assert scene.stored() == []


def test_a_young_delivery_may_still_be_on_its_way(scene: Scene) -> None:
    scene.at_github.github.faults.webhooks(drop=1, event="push")
    scene.push("a")
    scene.ground.clock.moment = datetime.now(UTC)
    assert scene.missed.look().asked == ()
    assert len(scene.look().asked) == 1


def test_what_is_none_of_the_bot_s_business_is_not_asked_for(scene: Scene) -> None:
    github = scene.at_github.github
    elsewhere = github.world.add_repository("acme", "elsewhere")
    github.world.grant_access(elsewhere, "alice", "push")
    github.world.set_installation_repositories(
        scene.at_github.installation, [scene.at_github.repository, elsewhere]
    )
    github.wait_for_deliveries()
    github.faults.webhooks(drop=1, event="push")
    github.world.push(elsewhere, "main", {"a": "x"}, author="alice")
    github.wait_for_deliveries()
    assert scene.look().asked == ()


def test_many_pages_are_read_and_a_look_asks_for_a_bounded_number(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missed_deliveries, "PAGE", 3)
    monkeypatch.setattr(missed_deliveries, "MOST_ASKED", 4)
    scene.at_github.github.faults.webhooks(drop=10, event="push")
    for number in range(10):
        scene.push(f"file-{number}")
    looks = [scene.look() for _ in range(4)]
    assert [len(look.asked) for look in looks] == [4, 4, 2, 0]
    assert scene.stored() == ["push"] * 10


def test_the_next_look_begins_where_the_last_good_one_did(scene: Scene) -> None:
    scene.look()
    scene.ground.clock.move(hours=5)
    faults = scene.at_github.github.faults
    faults.fail(502, path="/app/hook/deliveries", times=10)
    with pytest.raises(Refused) as caught:
        scene.missed.look()
    assert caught.value.refusal.code is Code.GITHUB_UNAVAILABLE
    faults.clear()
    faults.webhooks(drop=1, event="push")
    scene.push("a")
    assert len(scene.look().asked) == 1


def test_it_looks_at_most_three_days_back(scene: Scene) -> None:
    scene.push("a")
    scene.ground.clock.moment = datetime.now(UTC) + timedelta(days=4)
    assert scene.missed.look().listed == 0
