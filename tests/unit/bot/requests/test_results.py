"""What runners report: events in order, results once, receipts that fit, and runners that fall silent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bot import audit_export
from bot.parts import Limits
from policy import audit, receipt
from policy.audit import Kind
from policy.receipt import Outcome
from policy.runner_protocol import Job, JobKind, JobOutcome
from policy.states import State
from tests.living_bot import Agent, LivingBot
from tests.scripted_runner import ScriptedRunner

SILENT = Limits().heartbeat_seconds + 1


def lock_is_held(bot: LivingBot, request_id: str) -> bool:
    from bot import locks

    with bot.base.database.reading() as connection:
        return locks.holds(connection, bot.request(request_id))


def test_a_read_is_answered_with_its_receipt(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> None:
    request_id = agent.call("sandbox_report").json()["id"]
    runner.read("Linux version 4.4.0\n")
    view = agent.view(request_id)
    assert (view["state"], view["next_action"]) == ("succeeded", "none")
    assert view["result"]["output"] == "Linux version 4.4.0\n"
    assert view["result"]["leases"][0]["powerless_after_ms"] == 12
    assert bot.kinds(request_id)[-1] == Kind.TOOL_RESULT.value
    assert view["link"] is None


def test_a_second_read_asks_github_nothing(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> None:
    agent.call("sandbox_report")
    runner.read()
    bot.github.faults.fail(500, times=1000)
    request_id = agent.call("sandbox_report").json()["id"]
    runner.read()
    assert agent.view(request_id)["state"] == "succeeded"


def test_the_whole_way_of_a_change(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str, number: int
) -> None:
    runner.execute()
    assert lock_is_held(bot, granted)
    bot.settle()
    view = agent.view(granted)
    assert (view["state"], view["next_action"], view["final"]) == ("succeeded", "none", True)
    pull = bot.get(f"/pulls/{number}")
    assert (pull["merged"], pull["state"]) == (True, "closed")
    assert f"ownergate/{granted}" not in {branch["name"] for branch in bot.get("/branches")}
    assert not lock_is_held(bot, granted)
    runs = bot.get(f"/commits/{pull['head']['sha']}/check-runs")["check_runs"]
    assert [(run["name"], run["conclusion"]) for run in runs] == [("ownergate", "success")]
    comments = bot.status_comments(number)
    assert len(comments) == 1
    assert "### Done" in comments[0]
    assert "pki/issue/terraform-apply/abc" in comments[0]
    assert bot.kinds(granted)[-1] == Kind.PULL_REQUEST_MERGED.value


def test_the_pull_request_alone_proves_the_trail(
    bot: LivingBot, runner: ScriptedRunner, granted: str, number: int
) -> None:
    runner.execute()
    bot.settle()
    trail = audit_export.read(bot.status_comments(number)[0])
    assert trail.request_id == granted
    assert audit.verify_request(trail.events, request_id=granted) == ()
    assert [event.kind.value for event in trail.events] == bot.kinds(granted)
    signed = receipt.verify(str(trail.receipt), bot.base.receipt_keys)
    assert (signed.request_id, signed.outcome) == (granted, Outcome.SUCCEEDED)
    assert trail.tip.sequence >= trail.events[-1].sequence


def test_what_needs_no_merge_is_closed(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> None:
    request_id = agent.apply(text=None)["id"]
    runner.plan()
    bot.settle()
    number = int(bot.request(request_id).pull_request or 0)
    bot.review(number, "alice")
    bot.settle()
    runner.execute()
    bot.settle()
    pull = bot.get(f"/pulls/{number}")
    assert (pull["merged"], pull["state"]) == (False, "closed")
    assert agent.view(request_id)["state"] == "succeeded"
    assert not lock_is_held(bot, request_id)


def test_a_merge_that_fails_keeps_the_lock_and_turns_red(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str, number: int
) -> None:
    runner.execute()
    bot.github.faults.fail(405, method="PUT", path="*/merge", times=1000)
    bot.settle(seconds=60)
    view = agent.view(granted)
    assert view["state"] == "succeeded"
    assert "could not be merged" in view["cause"]
    assert lock_is_held(bot, granted)
    head = bot.get(f"/pulls/{number}")["head"]["sha"]
    runs = bot.get(f"/commits/{head}/check-runs")["check_runs"]
    assert [run["conclusion"] for run in runs] == ["failure"]
    assert "could not be merged" in bot.status_comments(number)[0]


def test_a_failure_is_told_and_the_lock_is_freed(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str, number: int
) -> None:
    runner.execute(Outcome.FAILED, output="Error: quota\n")
    bot.settle()
    view = agent.view(granted)
    assert (view["state"], view["result"]["exit_code"]) == ("failed", 1)
    assert not lock_is_held(bot, granted)
    assert bot.get(f"/pulls/{number}")["state"] == "closed"
    assert "Error: quota" in bot.status_comments(number)[0]


def test_a_rescued_state_keeps_the_lock(bot: LivingBot, runner: ScriptedRunner, granted: str) -> None:
    runner.execute(Outcome.FAILED, state_rescued=True)
    bot.settle()
    assert bot.request(granted).state is State.FAILED
    assert lock_is_held(bot, granted)
    assert bot.core.unlock(granted)
    assert not lock_is_held(bot, granted)


def test_output_with_a_secret_is_not_posted(
    bot: LivingBot, runner: ScriptedRunner, granted: str, number: int
) -> None:
    secret = "ghp_" + "b" * 40
    runner.execute(output=f"token {secret}\n")
    bot.settle()
    assert secret not in bot.status_comments(number)[0]
    assert "looks like a GitHub token" in bot.status_comments(number)[0]


@pytest.fixture
def started(bot: LivingBot, runner: ScriptedRunner, granted: str) -> Job:
    """An execution that runs."""
    job, _ = runner.start()
    assert bot.request(granted).state is State.RUNNING
    return job


def test_a_receipt_by_another_key_is_refused(bot: LivingBot, runner: ScriptedRunner, started: Job) -> None:
    result = runner.ran(started)
    signed = receipt.sign(
        runner.receipt(started, Outcome.SUCCEEDED, result.output), Ed25519PrivateKey.generate()
    )
    answer = runner.result(started, replace(result, receipt=signed))
    assert answer.json()["refusal"]["code"] == "receipt_signature"
    assert bot.request(started.request_id).state is State.RUNNING


def test_a_receipt_about_something_else_is_refused(
    bot: LivingBot, runner: ScriptedRunner, started: Job, subtests: pytest.Subtests
) -> None:
    wrong: list[dict[str, object]] = [
        {"request_id": "og-" + "1" * 26},
        {"digest": "0" * 64},
        {"tool": "another"},
        {"target": "another"},
        {"runner": "another"},
        {"output_sha256": "0" * 64},
        {"outcome": Outcome.FAILED},
    ]
    for change in wrong:
        with subtests.test(str(change)):
            signed = receipt.sign(
                replace(runner.receipt(started, Outcome.SUCCEEDED, "done\n"), **change),  # type: ignore[arg-type]
                bot.receipt_key,
            )
            answer = runner.result(started, replace(runner.ran(started), receipt=signed))
            assert answer.json()["refusal"]["code"] == "receipt_invalid"
    assert bot.request(started.request_id).state is State.RUNNING


def test_success_without_a_receipt_is_refused(bot: LivingBot, runner: ScriptedRunner, started: Job) -> None:
    answer = runner.result(started, runner.ended(JobOutcome.SUCCEEDED))
    assert answer.json()["refusal"]["code"] == "result_invalid"


def test_the_same_result_twice_is_one(bot: LivingBot, runner: ScriptedRunner, started: Job) -> None:
    result = runner.ran(started)
    assert runner.result(started, result).status_code == 200
    assert runner.result(started, result).status_code == 200
    assert bot.kinds(started.request_id).count(Kind.TOOL_RESULT.value) == 1
    answer = runner.result(started, runner.ran(started, Outcome.FAILED))
    assert answer.json()["refusal"]["code"] == "result_invalid"


def test_another_runners_result_is_refused(bot: LivingBot, runner: ScriptedRunner, started: Job) -> None:
    other = ScriptedRunner(bot, name="runner-2")
    assert other.result(started, runner.ran(started)).status_code == 403
    assert other.event(started, Kind.SANDBOX_COMPLETED).status_code == 403
    assert other.heartbeat(started).status_code == 403


def test_events_that_are_not_the_jobs_are_refused(
    bot: LivingBot, runner: ScriptedRunner, started: Job, subtests: pytest.Subtests
) -> None:
    before = bot.events()
    for kind in (
        Kind.APPROVAL_GIVEN,
        Kind.GRANT_ISSUED,
        Kind.TOOL_RESULT,
        Kind.PLAN_STARTED,
        Kind.GRANT_SPENT,
    ):
        with subtests.test(kind.value):
            answer = runner.event(started, kind, step=99)
            assert (answer.status_code, answer.json()["refusal"]["code"]) == (409, "event_misplaced")
    assert bot.events() == before


def test_nothing_is_reported_before_the_claim(bot: LivingBot, runner: ScriptedRunner, granted: str) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    for kind in (Kind.GRANT_SPENT, Kind.SANDBOX_STARTED):
        assert runner.event(job, kind).status_code == 409
    assert bot.request(granted).state is State.GRANTED


def test_the_same_event_twice_is_one(bot: LivingBot, runner: ScriptedRunner, started: Job) -> None:
    first = runner.event(started, Kind.SANDBOX_COMPLETED, step=9).json()
    assert runner.event(started, Kind.SANDBOX_COMPLETED, step=9).json() == first
    assert bot.kinds(started.request_id).count(Kind.SANDBOX_COMPLETED.value) == 1


def test_a_huge_event_is_refused(bot: LivingBot, runner: ScriptedRunner, started: Job) -> None:
    assert runner.event(started, Kind.SANDBOX_COMPLETED, text="x" * 20_000).status_code == 409


def test_a_secret_in_an_event_does_not_reach_the_trail(
    bot: LivingBot, runner: ScriptedRunner, started: Job
) -> None:
    secret = "ghp_" + "c" * 40
    runner.event(started, Kind.SANDBOX_COMPLETED, text=secret)
    assert secret not in str(bot.events(started.request_id))


def test_a_silent_runner_before_the_claim_loses_nothing(
    bot: LivingBot, runner: ScriptedRunner, granted: str
) -> None:
    runner.need_job(JobKind.EXECUTE)
    bot.clock.move(seconds=SILENT)
    bot.core.reconcile_once()
    assert runner.need_job(JobKind.EXECUTE).request_id == granted


def test_a_silent_runner_after_the_claim_leaves_it_unknown_for_ever(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, started: Job, number: int
) -> None:
    bot.clock.move(seconds=SILENT)
    bot.core.reconcile_once()
    bot.settle()
    view = agent.view(started.request_id)
    assert (view["state"], view["next_action"]) == ("unknown", "ask_a_person")
    assert runner.poll() is None
    assert lock_is_held(bot, started.request_id)
    assert "### Outcome unknown" in bot.status_comments(number)[0]
    assert runner.heartbeat(started).json() == {"cancel": True}


def test_a_late_result_is_told_and_changes_no_state(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, started: Job, number: int
) -> None:
    bot.clock.move(seconds=SILENT)
    bot.core.reconcile_once()
    assert runner.event(started, Kind.SANDBOX_COMPLETED, step=9).status_code == 200
    result = runner.ran(started)
    assert runner.result(started, result).status_code == 200
    assert runner.result(started, result).status_code == 200
    bot.settle()
    view = agent.view(started.request_id)
    assert view["state"] == "unknown"
    assert "it succeeded" in view["cause"]
    assert view["result"]["exit_code"] == 0
    assert lock_is_held(bot, started.request_id)


def test_a_runner_that_speaks_is_not_lost(bot: LivingBot, runner: ScriptedRunner, started: Job) -> None:
    for _ in range(3):
        bot.clock.move(seconds=SILENT - 10)
        assert runner.heartbeat(started).json() == {"cancel": False}
        bot.core.reconcile_once()
    bot.clock.move(seconds=SILENT - 10)
    runner.poll(running=(started.id,))
    bot.clock.move(seconds=SILENT - 10)
    bot.core.reconcile_once()
    assert bot.request(started.request_id).state is State.RUNNING


def test_a_lost_plan_is_planned_again_once(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> None:
    request_id = agent.apply()["id"]
    for _ in range(2):
        runner.need_job(JobKind.PLAN)
        bot.clock.move(seconds=SILENT)
        bot.core.reconcile_once()
    view = agent.view(request_id)
    assert (view["state"], "twice" in view["cause"]) == ("failed", True)


def test_a_lost_read_is_handed_out_again_once(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> None:
    request_id = agent.call("sandbox_report").json()["id"]
    for _ in range(2):
        runner.need_job(JobKind.READ)
        bot.clock.move(seconds=SILENT)
        bot.core.reconcile_once()
    assert agent.view(request_id)["state"] == "refused"


def test_a_read_that_was_lost_while_it_ran_failed(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    request_id = agent.call("sandbox_report").json()["id"]
    job = runner.need_job(JobKind.READ)
    runner.tell(job, Kind.SANDBOX_STARTED)
    bot.clock.move(seconds=SILENT)
    bot.core.reconcile_once()
    assert agent.view(request_id)["state"] == "failed"


def test_a_runner_that_could_not_begin_gets_it_again(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str
) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    runner.result(job, runner.ended(JobOutcome.FAILED, "OpenBao is sealed."))
    assert runner.poll() is None
    view = agent.view(granted)
    assert (view["state"], "OpenBao is sealed." in view["cause"]) == ("granted", True)
    bot.clock.move(seconds=20)
    runner.execute()
    assert agent.view(granted)["state"] == "succeeded"


def test_a_runner_that_refuses_before_the_claim_voids(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str
) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    runner.event(job, Kind.RUNNER_REFUSED, code="source_differs")
    runner.result(job, runner.ended(JobOutcome.REFUSED, "the source"))
    assert agent.view(granted)["state"] == "void"


def test_a_changed_state_is_planned_anew(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str
) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    runner.result(job, runner.ended(JobOutcome.STALE, "the state"))
    bot.settle()
    stale = bot.request(granted)
    assert stale.state is State.STALE
    assert bot.request(str(stale.successor_id)).state is State.PLANNING


def test_a_running_read_is_asked_to_stop(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> None:
    request_id = agent.call("sandbox_report").json()["id"]
    job = runner.need_job(JobKind.READ)
    runner.tell(job, Kind.SANDBOX_STARTED)
    assert agent.cancel(request_id).status_code == 200
    assert runner.heartbeat(job).json() == {"cancel": True}


def test_a_runner_with_another_policy_gets_nothing(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    request_id = agent.call("sandbox_report").json()["id"]
    assert runner.poll(policy_sha256="0" * 64) is None
    assert "another policy.yaml" in agent.view(request_id)["cause"]
    status = agent.client.get("/api/v1/sandbox").json()
    assert [(one["name"], one["policy_agrees"]) for one in status["runners"]] == [("runner-1", False)]


def test_what_could_not_start_after_the_claim_did_not_run(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str, number: int
) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    assert runner.claim(job).status_code == 200
    runner.result(job, runner.ended(JobOutcome.FAILED, "OpenBao answered 503."))
    bot.settle()
    view = agent.view(granted)
    assert (view["state"], "Nothing ran." in view["cause"]) == ("failed", True)
    assert "OpenBao answered 503." in view["cause"]
    assert "OpenBao answered 503." in bot.status_comments(number)[0]
    assert not lock_is_held(bot, granted)


def test_what_a_runner_refuses_after_the_claim_is_refused(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str
) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    assert runner.claim(job).status_code == 200
    runner.event(job, Kind.RUNNER_REFUSED, code="plan_changed")
    runner.result(job, runner.ended(JobOutcome.REFUSED, "the plan's bytes"))
    bot.settle()
    assert agent.view(granted)["state"] == "refused"
    assert not lock_is_held(bot, granted)
