"""Effects at GitHub under faults: nothing twice, nothing lost, limits honoured without sleeping."""

from __future__ import annotations

import pytest

from bot import outbox
from bot.outbox import Effect
from bot.unit_of_work import step
from policy.states import State
from tests.living_bot import Agent, LivingBot
from tests.scripted_runner import ScriptedRunner

PLACES = [
    ("POST", "*/git/trees"),
    ("POST", "*/git/commits"),
    ("POST", "*/git/refs"),
    ("POST", "*/pulls"),
    ("POST", "*/issues/*/comments"),
    ("POST", "*/check-runs"),
]


def opened(bot: LivingBot, request_id: str) -> int:
    """The one pull request of a request, with one comment, one check and one commit."""
    number = int(bot.request(request_id).pull_request or 0)
    assert [pull["number"] for pull in bot.get("/pulls?state=open")] == [number]
    assert len(bot.status_comments(number)) == 1
    head = bot.get(f"/pulls/{number}")["head"]["sha"]
    assert bot.get(f"/commits/{head}/check-runs")["total_count"] == 1
    assert len(bot.get(f"/pulls/{number}/commits")) == 1
    return number


def test_an_error_at_any_call_posts_nothing_twice(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, subtests: pytest.Subtests
) -> None:
    cases = [(method, path, when) for method, path in PLACES for when in ("before", "after")]
    for number, (method, path, when) in enumerate(cases, start=1):
        with subtests.test(f"{method} {path} {when}"):
            request_id = agent.apply(text=f"{path} {when}".replace("*", ""))["id"]
            runner.plan()
            bot.github.faults.fail(502, when=when, method=method, path=path)  # type: ignore[arg-type]
            bot.settle(seconds=60)
            assert bot.request(request_id).state is State.PENDING
            assert opened(bot, request_id) == number
            assert agent.cancel(request_id).status_code == 200
            bot.settle()
    assert len(bot.get("/pulls?state=all")) == len(cases)


def test_until_the_pull_request_is_there_the_agent_is_told_why(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    request_id = agent.apply()["id"]
    runner.plan()
    bot.github.faults.fail(502, method="POST", path="*/pulls")
    bot.core.run_outbox_once()
    view = agent.view(request_id)
    assert (view["state"], view["next_action"]) == ("planning", "check_request")
    assert "tried again by itself" in view["cause"]


@pytest.mark.parametrize(("status", "retry_after"), [(403, 40), (429, 40), (403, None), (429, None)])
def test_a_limit_is_waited_for_without_calls(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, status: int, retry_after: int | None
) -> None:
    request_id = agent.apply()["id"]
    runner.plan()
    bot.github.faults.secondary_limit(
        status=status, retry_after=retry_after, method="POST", path="*/git/trees", times=1
    )
    bot.core.run_outbox_once()
    bot.github.faults.fail(500, times=1000)
    bot.clock.move(seconds=30)
    assert bot.core.run_outbox_once() == 0
    bot.github.faults.clear()
    bot.clock.move(seconds=31)
    bot.settle()
    opened(bot, request_id)


def test_a_refused_pull_request_ends_the_request(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    request_id = agent.apply()["id"]
    runner.plan()
    bot.github.faults.fail(422, method="POST", path="*/pulls", times=100)
    bot.settle()
    view = agent.view(request_id)
    assert (view["state"], view["refusal"]["code"]) == ("failed", "pull_request_impossible")


def test_a_branch_of_somebody_else_is_not_taken(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> None:
    request_id = agent.apply()["id"]
    runner.plan()
    bot.push(f"ownergate/{request_id}", {"terraform/demo/main.tf": "# mine\n"}, author="mallory")
    bot.settle()
    assert agent.view(request_id)["state"] == "failed"
    assert bot.get("/pulls?state=all") == []


def test_a_deleted_comment_is_written_anew(bot: LivingBot, pending: str, number: int) -> None:
    comment = bot.get(f"/issues/{number}/comments")[0]
    bot.core.parts.writer()._call("DELETE", f"/issues/comments/{comment['id']}")
    bot.review(number, "mallory")
    bot.settle()
    assert len(bot.status_comments(number)) == 1


def test_cancelling_while_the_pull_request_opens_closes_it(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    request_id = agent.apply()["id"]
    runner.plan()
    bot.github.faults.fail(502, when="after", method="POST", path="*/pulls")
    bot.core.run_outbox_once()
    assert agent.cancel(request_id).json()["state"] == "cancelled"
    bot.settle()
    pulls = bot.get("/pulls?state=all")
    assert [pull["state"] for pull in pulls] == ["closed"]
    assert bot.request(request_id).state is State.CANCELLED


def test_notes_for_the_same_are_one_note(bot: LivingBot, pending: str) -> None:
    with step(bot.core.parts) as unit:
        outbox.enqueue(unit, pending, Effect.STATUS, delay_seconds=50)
        outbox.enqueue(unit, pending, Effect.STATUS, delay_seconds=50)
        assert outbox.waiting_count(unit.connection) == 1
        assert outbox.due(unit.connection, unit.now) == []
        outbox.enqueue(unit, pending, Effect.CHECK)
        assert [note.effect for note in outbox.due(unit.connection, unit.now)] == [Effect.STATUS]


def test_a_request_costs_few_calls(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests

    calls: list[str] = []
    send = requests.Session.send

    def counted(self: requests.Session, request: requests.PreparedRequest, **more: object) -> object:
        calls.append(f"{request.method} {request.path_url}")
        return send(self, request, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as counting:
        counting.setattr(requests.Session, "send", counted)
        request_id = agent.apply()["id"]
    # The scripted runner reads the source with the bot's own reader; that is not the bot's call.
    runner.plan()
    monkeypatch.setattr(requests.Session, "send", counted)
    bot.settle()
    bot.review(int(bot.request(request_id).pull_request or 0), "alice")
    bot.settle()
    runner.execute()
    bot.settle()
    assert bot.request(request_id).state is State.SUCCEEDED
    assert len(calls) <= 42, "\n".join(calls)
