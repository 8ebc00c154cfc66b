"""A living bot, an agent at its door and a runner that does what the test says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.living_bot import Agent, LivingBot, living
from tests.scripted_runner import ScriptedRunner


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[LivingBot]:
    """A whole bot; at the end its audit chain must hold."""
    with living(tmp_path) as made:
        yield made
        made.check_chain()


@pytest.fixture
def agent(bot: LivingBot) -> Agent:
    """bob's agent."""
    return bot.agent("bob")


@pytest.fixture
def runner(bot: LivingBot) -> ScriptedRunner:
    """One runner of the pool."""
    return ScriptedRunner(bot)


@pytest.fixture
def pending(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> str:
    """The id of a request whose pull request is open."""
    view = agent.apply()
    runner.plan()
    bot.settle()
    assert agent.view(view["id"])["state"] == "pending"
    return str(view["id"])


@pytest.fixture
def number(bot: LivingBot, pending: str) -> int:
    """Its pull request."""
    found = bot.request(pending).pull_request
    assert found is not None
    return found


@pytest.fixture
def granted(bot: LivingBot, pending: str, number: int) -> str:
    """The id of a request that alice approved."""
    bot.review(number, "alice")
    bot.settle()
    assert bot.request(pending).state.value == "granted"
    return pending
