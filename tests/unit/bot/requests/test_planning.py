"""A plan becomes a pull request only if the bot's own policy and reading agree with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policy import canonical, manifest, request_files
from policy.agent_protocol import RefusalView
from policy.manifest import Manifest
from policy.runner_protocol import Job, JobKind, JobOutcome, JobResult, PlanResult
from tests.living_bot import Agent, LivingBot
from tests.scripted_runner import ScriptedRunner


@pytest.fixture
def job(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> Job:
    """A planning job of a runner."""
    agent.apply()
    return runner.need_job(JobKind.PLAN)


def document(bot: LivingBot, request_id: str) -> Manifest:
    """The manifest that was committed."""
    request = bot.request(request_id)
    own = request_files.place(request.owned[0], request_id)
    content = bot.github.world.read_file(bot.repository, str(request.head_sha), own.manifest)
    assert content is not None
    read = manifest.parse(content)
    assert manifest.encode(read) == content
    assert manifest.digest(read) == request.digest
    return read


def test_the_manifest_is_committed_in_one_commit_by_the_app(
    bot: LivingBot, agent: Agent, pending: str, number: int
) -> None:
    read = document(bot, pending)
    assert read.requester == manifest.Requester(
        agent="editor", person_id=bot.github.world.account("bob").id, login="bob"
    )
    assert read.approvals_required == 1
    assert read.owned == ("terraform/demo/",)
    commits = bot.get(f"/pulls/{number}/commits")
    assert [commit["author"]["id"] for commit in commits] == [bot.app.bot.id]
    assert [parent["sha"] for parent in commits[0]["parents"]] == [read.base.sha]
    changed = {file["filename"] for file in bot.get(f"/pulls/{number}/files")}
    own = request_files.paths(read)
    assert changed == {"terraform/demo/main.tf", own.manifest, own.rendering}


def test_the_agent_gets_the_link_the_digest_and_the_shape_of_the_plan(
    bot: LivingBot, agent: Agent, pending: str, number: int
) -> None:
    view = agent.view(pending)
    assert view["link"].endswith(f"/pull/{number}")
    assert view["digest"] == bot.request(pending).digest
    assert view["next_action"] == "share_link_and_stop"
    assert view["approval"] == {"required": 1, "given": 0, "may_approve": ["alice", "carol"]}
    assert view["plan"]["verdict"] == view["verdict"]
    assert view["expires_at"] is not None


def test_a_worse_plan_needs_two(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> None:
    view = agent.apply()
    runner.plan("worst")
    bot.settle()
    assert agent.view(view["id"])["approval"]["required"] == 2
    number = int(bot.request(view["id"]).pull_request or 0)
    bot.review(number, "alice")
    bot.settle()
    view = agent.view(view["id"])
    assert (view["state"], view["approval"]["given"]) == ("pending", 1)
    assert "in part" in view["cause"]
    bot.review(number, "carol")
    bot.settle()
    assert agent.view(view["id"])["state"] == "granted"


def test_nothing_to_do_asks_nobody(bot: LivingBot, agent: Agent, runner: ScriptedRunner, job: Job) -> None:
    runner.result(job, runner.ended(JobOutcome.NO_CHANGE, "The plan changes nothing."))
    bot.settle()
    view = agent.view(job.request_id)
    assert (view["state"], view["next_action"], view["link"]) == ("no_change", "none", None)
    assert bot.get("/pulls") == []


def test_a_plan_beyond_the_expectation_goes_back_to_the_agent(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    view = agent.apply(expect={"creates": 1})
    runner.plan()
    bot.settle()
    view = agent.view(view["id"])
    assert (view["state"], view["refusal"]["code"]) == ("refused", "expectation_exceeded")
    assert view["next_action"] == "fix_arguments"
    assert view["plan"]["summary"]["creates"] == 5
    assert bot.get("/pulls") == []


def test_a_refused_plan_tells_the_agent_why(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, job: Job
) -> None:
    refusal = RefusalView(code="plan_unseen", what="a provisioner", rule="R.", remedy="Take it out.")
    runner.result(job, runner.ended(JobOutcome.REFUSED, "a provisioner", refusal=refusal))
    view = agent.view(job.request_id)
    assert (view["state"], view["refusal"]["what"]) == ("refused", "a provisioner")


def test_a_failed_plan_shows_its_output(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, job: Job
) -> None:
    runner.result(job, runner.ended(JobOutcome.FAILED, "Step 1 failed.", output="Error: no such thing"))
    view = agent.view(job.request_id)
    assert (view["state"], view["result"]["output"]) == ("failed", "Error: no such thing")
    assert "Step 1 failed." in view["cause"]


def _step(result: JobResult, **changes: Any) -> PlanResult:
    assert result.plan is not None
    execution = result.plan.execution
    first = replace(execution.steps[0], **changes)
    return replace(result.plan, execution=replace(execution, steps=(first, *execution.steps[1:])))


def _tampered(result: JobResult, how: str) -> PlanResult:
    plan = result.plan
    assert plan is not None
    assert plan.plan is not None
    assert plan.source is not None
    match how:
        case "argv":
            return _step(result, argv=("sh", "-c", "id"))
        case "lease":
            return _step(result, lease=True)
        case "network":
            return _step(result, network="all")
        case "fewer steps":
            return replace(plan, execution=replace(plan.execution, steps=plan.execution.steps[:1]))
        case "image":
            return replace(plan, execution=replace(plan.execution, image="another"))
        case "timeout":
            return replace(plan, execution=replace(plan.execution, timeout_seconds=99_999))
        case "source":
            return replace(plan, source=replace(plan.source, sha256="0" * 64))
        case "masked":
            return replace(plan, masked_plan=(plan.masked_plan or "") + " ")
        case "summary":
            return replace(plan, plan=replace(plan.plan, summary={**plan.plan.summary, "creates": 0}))
        case "sealed":
            return replace(plan, sealed_plan="not base64!")
        case _:
            return replace(plan, sealed_plan=None)


TAMPERED = (
    "argv",
    "lease",
    "network",
    "fewer steps",
    "image",
    "timeout",
    "source",
    "masked",
    "summary",
    "sealed",
    "no sealed plan",
)


def test_a_plan_that_is_not_the_policys_is_refused(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, subtests: pytest.Subtests
) -> None:
    for how in TAMPERED:
        with subtests.test(how):
            request_id = agent.apply(text=how)["id"]
            job = runner.need_job(JobKind.PLAN)
            result = runner.planned(job)
            answer = runner.result(job, replace(result, plan=_tampered(result, how)))
            assert answer.status_code == 200
            view = agent.view(request_id)
            assert view["state"] == "refused"
            assert view["refusal"]["code"] in ("result_invalid", "source_differs")
    bot.settle()
    assert bot.get("/pulls?state=all") == []


def test_a_tool_without_preview_is_shown_as_such(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    arguments = {"module": "demo", "address": "terraform_data.service"}
    view = agent.call("terraform_state_remove", arguments).json()
    job = runner.plan()
    bot.settle()
    view = agent.view(view["id"])
    assert (view["state"], view["verdict"], view["plan"]) == ("pending", "NO PREVIEW", None)
    number = bot.request(job.request_id).pull_request
    assert "NO PREVIEW" in bot.get(f"/pulls/{number}")["body"]
    assert "terraform state rm terraform_data.service" in bot.get(f"/pulls/{number}")["body"]


def test_a_secret_in_the_plan_is_never_committed(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, job: Job
) -> None:
    result = runner.planned(job)
    assert result.plan is not None
    assert result.plan.plan is not None
    leaked = (result.plan.masked_plan or "").replace("terraform_data", "ghp_" + "a" * 40, 1)
    bound = replace(result.plan.plan, masked_json_sha256=canonical.sha256_bytes(leaked.encode()))
    runner.result(job, replace(result, plan=replace(result.plan, masked_plan=leaked, plan=bound)))
    bot.settle()
    assert agent.view(job.request_id)["state"] == "refused"
    assert bot.get("/pulls") == []
