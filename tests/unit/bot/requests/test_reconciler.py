"""Without any webhook: polling sees what people did, clocks end what is over, lost hints cost nothing."""

from __future__ import annotations

import pytest
import yaml

from bot.parts import Limits
from policy.runner_protocol import JobKind
from policy.states import State
from tests.living_bot import Agent, LivingBot
from tests.scripted_runner import ScriptedRunner


@pytest.fixture(autouse=True)
def no_webhooks(bot: LivingBot) -> None:
    """A bot without a public address."""
    bot.github.world.set_webhook(bot.app, None, None)


def rounds(bot: LivingBot, count: int = 1) -> None:
    for _ in range(count):
        bot.core.reconcile_once()
        bot.core.run_outbox_once()


def test_polling_alone_carries_a_request_through(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, pending: str, number: int
) -> None:
    bot.review(number, "mallory")
    rounds(bot)
    assert "is not an owner" in bot.status_comments(number)[0]
    bot.review(number, "alice")
    rounds(bot)
    assert agent.view(pending)["state"] == "granted"
    runner.execute()
    bot.clock.move(seconds=10)
    rounds(bot)
    assert bot.get(f"/pulls/{number}")["merged"] is True


def test_a_quiet_round_costs_two_calls(
    bot: LivingBot, pending: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests

    bot.clock.move(seconds=10)
    rounds(bot)
    calls: list[str] = []
    send = requests.Session.send

    def counted(self: requests.Session, request: requests.PreparedRequest, **more: object) -> object:
        calls.append(f"{request.method} {request.path_url}")
        return send(self, request, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(requests.Session, "send", counted)
    rounds(bot)
    assert [call.split("?")[0] for call in calls] == [
        "GET /repos/acme/infra/git/ref/heads/main",
        "GET /repos/acme/infra/pulls",
    ]


def test_everything_is_read_again_after_some_minutes(bot: LivingBot, pending: str) -> None:
    bot.clock.move(seconds=10)
    rounds(bot)
    before = bot.request(pending).looked_at
    bot.clock.move(seconds=Limits().reread_seconds + 1)
    rounds(bot)
    after = bot.request(pending).looked_at
    assert before is not None
    assert after is not None
    assert after > before


def test_closing_is_seen(bot: LivingBot, agent: Agent, pending: str, number: int) -> None:
    carol = bot.github.as_user("carol")
    carol.patch(f"/repos/acme/infra/pulls/{number}", json={"state": "closed"}).raise_for_status()
    rounds(bot)
    assert agent.view(pending)["state"] == "void"


def test_a_push_on_the_base_is_seen(bot: LivingBot, agent: Agent, pending: str) -> None:
    rounds(bot)
    bot.push("main", {"terraform/demo/main.tf": "# by hand\n"})
    rounds(bot)
    assert agent.view(pending)["state"] == "void"


def test_nobody_approves_in_time(bot: LivingBot, agent: Agent, pending: str, number: int) -> None:
    bot.clock.move(hours=24)
    rounds(bot)
    view = agent.view(pending)
    assert (view["state"], "in time" in view["cause"]) == ("expired", True)
    assert bot.get(f"/pulls/{number}")["state"] == "closed"


def test_a_declaration_that_changed_voids(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted_by_polling: str
) -> None:
    policy = yaml.safe_load((bot.folder / "bot" / "policy.yaml").read_text())
    policy["tools"]["terraform_apply"]["run"]["sandbox"]["timeout"] = "21m"
    from dataclasses import replace

    from bot import sweeping
    from bot.unit_of_work import step
    from policy import policy_file

    parts = replace(bot.core.parts, policy=policy_file.load(yaml.safe_dump(policy)))
    with step(parts) as unit:
        sweeping.sweep(parts, unit)
    view = agent.view(granted_by_polling)
    assert (view["state"], "declaration changed" in view["cause"]) == ("void", True)
    assert runner.poll() is None


@pytest.fixture
def granted_by_polling(bot: LivingBot, pending: str, number: int) -> str:
    """A granted request of a bot without webhooks."""
    bot.review(number, "alice")
    rounds(bot)
    assert bot.request(pending).state is State.GRANTED
    return pending


def test_github_away_stops_nothing_else(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted_by_polling: str
) -> None:
    from policy.refusal import Refused

    bot.github.faults.fail(500, times=1000)
    bot.clock.move(minutes=31)
    with pytest.raises(Refused, match="GitHub"):
        bot.core.reconcile_once()
    assert agent.view(granted_by_polling)["state"] == "expired"


def test_a_limit_is_waited_for_without_calls(bot: LivingBot, pending: str, number: int) -> None:
    from policy.refusal import Refused

    bot.review(number, "alice")
    bot.github.faults.secondary_limit(retry_after=40, method="GET", path="*/pulls", times=1)
    with pytest.raises(Refused, match="GitHub"):
        bot.core.reconcile_once()
    bot.core.reconcile_once()
    assert bot.request(pending).state is State.PENDING
    bot.clock.move(seconds=41)
    bot.core.reconcile_once()
    assert bot.request(pending).state is State.GRANTED


def test_what_no_runner_takes_ends(bot: LivingBot, agent: Agent) -> None:
    read = agent.call("sandbox_report").json()["id"]
    plan = agent.apply()["id"]
    bot.clock.move(hours=25)
    rounds(bot)
    assert agent.view(read)["state"] == "refused"
    assert agent.view(plan)["state"] == "failed"


def test_a_replan_closes_the_old_one(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, pending: str, number: int
) -> None:
    successor = bot.core.replan(pending)
    bot.core.run_outbox_once()
    assert bot.request(pending).state is State.STALE
    assert bot.get(f"/pulls/{number}")["state"] == "closed"
    assert runner.need_job(JobKind.PLAN).request_id == successor
    assert agent.view(successor)["state"] == "planning"
