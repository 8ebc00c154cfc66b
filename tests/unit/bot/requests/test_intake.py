"""Calls at the door: what is refused, what joins, what is the same call again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from policy.audit import Kind
from policy.runner_protocol import JobKind
from tests.living_bot import POLICY, Agent, LivingBot, living
from tests.scripted_runner import ScriptedRunner


def code(answer: object) -> str:
    return str(answer.json()["refusal"]["code"])  # type: ignore[attr-defined]


def test_an_unknown_tool_is_refused_with_the_nearest_name(bot: LivingBot, agent: Agent) -> None:
    answer = agent.call("terraform_aply", {"module": "demo"})
    assert (answer.status_code, code(answer)) == (422, "tool_unknown")
    assert "Did you mean terraform_apply?" in answer.json()["refusal"]["remedy"]
    assert answer.json()["next_action"] == "fix_arguments"


def test_wrong_arguments_are_refused_before_anything_is_stored(
    bot: LivingBot, agent: Agent, subtests: pytest.Subtests
) -> None:
    wrong: list[dict[str, object]] = [
        {"module": 7},
        {"module": "-demo"},
        {"module": "../demo"},
        {"module": "demo\x00"},
        {"module": "demo", "force": True},
        {},
    ]
    for arguments in wrong:
        with subtests.test(str(arguments)):
            answer = agent.call("terraform_apply", arguments)
            assert (answer.status_code, code(answer)) == (422, "arguments_invalid")
    assert agent.client.get("/api/v1/requests").json() == {"requests": []}


def test_a_refused_call_stands_in_the_trail_without_what_was_sent(bot: LivingBot, agent: Agent) -> None:
    secret = "ghp_" + "a" * 40
    answer = agent.call("terraform_apply", {"module": "demo"}, reason=f"use {secret}")
    assert code(answer) == "credential_literal"
    assert secret not in answer.text
    refused = bot.events()[-1]
    assert refused.kind is Kind.POLICY_DECISION
    assert refused.data["code"] == "credential_literal"
    assert secret not in str(refused)


def test_a_secret_in_a_source_file_is_refused(bot: LivingBot, agent: Agent) -> None:
    text = "token = " + "AKIA" + "ABCDEFGHIJKLMNOP"
    answer = agent.call(
        "terraform_apply", {"module": "demo"}, source={"files": {"terraform/demo/x.tf": text}}
    )
    assert code(answer) == "credential_literal"


def test_a_file_outside_of_the_source_is_refused(bot: LivingBot, agent: Agent) -> None:
    answer = agent.call(
        "terraform_apply", {"module": "demo"}, source={"files": {"terraform/settings/main.tf": "x"}}
    )
    assert code(answer) == "source_invalid"


def test_an_expectation_of_a_tool_without_a_plan_is_refused(bot: LivingBot, agent: Agent) -> None:
    arguments = {"module": "demo", "address": "terraform_data.service"}
    answer = agent.call("terraform_state_remove", arguments, expect={"replaces": 0})
    assert code(answer) == "expectation_invalid"


def test_a_reason_that_is_too_long_is_refused(bot: LivingBot, agent: Agent) -> None:
    answer = agent.call("terraform_apply", {"module": "demo"}, reason="x" * 4001)
    assert code(answer) == "arguments_invalid"


def test_duplicate_keys_of_json_are_refused(bot: LivingBot, agent: Agent) -> None:
    answer = agent.client.post(
        "/api/v1/requests",
        content=b'{"tool": "a", "tool": "b"}',
        headers={"Content-Type": "application/json"},
    )
    assert (answer.status_code, code(answer)) == (400, "json_invalid")


def test_the_same_key_and_call_is_the_same_request(bot: LivingBot, agent: Agent) -> None:
    first = agent.apply(idempotency_key="k1")
    again = agent.apply(idempotency_key="k1", reason="in other words")
    assert first["id"] == again["id"]
    assert len(bot.events(first["id"])) == 2


def test_the_same_key_for_another_call_is_refused(bot: LivingBot, agent: Agent) -> None:
    agent.apply(idempotency_key="k1")
    answer = agent.call("terraform_apply", {"module": "settings"}, idempotency_key="k1")
    assert code(answer) == "idempotency_key_reused"


def test_a_key_belongs_to_its_agent(bot: LivingBot, agent: Agent) -> None:
    first = agent.apply(idempotency_key="k1")
    other = bot.agent("dave").apply("settings", text=None, idempotency_key="k1")
    assert first["id"] != other["id"]


def test_twenty_identical_calls_make_one_request(bot: LivingBot, runner: ScriptedRunner) -> None:
    agents = [bot.agent("bob"), bot.agent("dave")]
    with ThreadPoolExecutor(8) as pool:
        views = list(pool.map(lambda turn: agents[turn % 2].apply(), range(20)))
    assert len({view["id"] for view in views}) == 1
    runner.plan()
    bot.settle()
    assert runner.poll() is None
    assert len(bot.get("/pulls")) == 1


def test_who_joins_is_barred_and_named_in_the_pull_request(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, pending: str, number: int
) -> None:
    joined = bot.agent("alice").apply()
    assert joined["id"] == pending
    bot.settle()
    assert "Also asked for by an agent of `alice`" in bot.status_comments(number)[0]
    bot.review(number, "alice")
    bot.settle()
    assert agent.view(pending)["state"] == "pending"
    assert "asked for this change and can't approve it" in bot.status_comments(number)[0]
    bot.review(number, "carol")
    bot.settle()
    job = runner.need_job(JobKind.EXECUTE)
    assert job.barred == tuple(sorted(bot.github.world.account(login).id for login in ("alice", "bob")))
    assert Kind.REQUEST_JOINED.value in bot.kinds(pending)


def test_another_argument_or_source_is_another_request(bot: LivingBot, agent: Agent) -> None:
    ids = {
        agent.apply(text="one")["id"],
        agent.apply(text="two")["id"],
        agent.apply("settings", text=None)["id"],
    }
    assert len(ids) == 3


def test_three_open_requests_an_agent(bot: LivingBot, agent: Agent) -> None:
    for text in ("one", "two", "three"):
        agent.apply(text=text)
    answer = agent.call("terraform_apply", {"module": "settings"})
    assert code(answer) == "too_many_open"
    assert bot.agent("dave").apply("settings", text=None)["state"] == "planning"


def test_requests_of_others_are_not_found(bot: LivingBot, pending: str) -> None:
    dave = bot.agent("dave")
    assert dave.client.get(f"/api/v1/requests/{pending}").status_code == 404
    assert dave.cancel(pending).status_code == 404
    assert dave.client.get("/api/v1/requests").json() == {"requests": []}


def test_a_tool_with_an_issue_is_refused_clearly(tmp_path: Path) -> None:
    policy = yaml.safe_load(POLICY.read_text())
    policy["tools"]["terraform_apply"]["approval"]["via"] = "issue"
    with living(tmp_path, policy=yaml.safe_dump(policy)) as bot:
        answer = bot.agent().call("terraform_apply", {"module": "demo"})
        assert code(answer) == "channel_unavailable"


def test_no_other_role_can_ask(bot: LivingBot, runner: ScriptedRunner) -> None:
    assert Agent(runner.client).call("sandbox_report").status_code == 403
