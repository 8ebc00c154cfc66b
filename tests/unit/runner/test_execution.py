"""Executions: exactly what was approved, once. What must stop one is in `test_execution_refused`."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

from policy.audit import Kind
from policy.receipt import Outcome, Residue
from policy.refusal import Code
from policy.runner_protocol import JobOutcome
from runner import recovery, rescued_states
from runner.sealing import SealingKeys
from runner.work_loop import WorkLoop
from tests.openbao import running_openbao
from tests.runner_stack import MAIN, Stack

STATE = {
    "version": 4,
    "terraform_version": "1.11.4",
    "serial": 1,
    "lineage": "00000000-0000-0000-0000-000000000000",
    "outputs": {},
    "resources": [
        {
            "mode": "managed",
            "type": "terraform_data",
            "name": "disk",
            "provider": 'provider["terraform.io/builtin/terraform"]',
            "instances": [{"schema_version": 0, "attributes": {"id": "1", "input": None, "output": None}}],
        }
    ],
}
CHANGED = MAIN.decode().replace('"small"', '"large"')


def test_an_approved_request_is_carried_out(stack: Stack) -> None:
    module = stack.module()
    opened = stack.ready(module)
    granted = stack.grants(opened)
    job = stack.execution(opened)
    result = stack.work(job)
    assert result.outcome is JobOutcome.SUCCEEDED, result
    assert "Apply complete" in result.output
    assert result.reason.endswith("A second plan changes nothing.")
    assert stack.bot.kinds(job.id)[:6] == [
        Kind.GRANT_SPENT,
        Kind.CREDENTIAL_REQUESTED,
        Kind.CREDENTIAL_ISSUED,
        Kind.SANDBOX_STARTED,
        Kind.SANDBOX_COMPLETED,
        Kind.CREDENTIAL_REVOKED,
    ]
    signed = stack.receipt(result)
    assert signed.outcome is Outcome.SUCCEEDED
    assert signed.residue is Residue.NONE
    assert signed.grant_id == granted.jti
    assert signed.digest == opened.digest
    assert [lease.role for lease in signed.leases] == ["terraform-apply", "terraform-plan"]
    assert stack.state(module).exists()
    assert (stack.data.spent / granted.jti).exists()
    assert not list(stack.data.jobs.iterdir())
    assert not list(stack.data.results.iterdir())
    assert not list(stack.data.leases.iterdir())

    _, planned = stack.plan(module)
    assert planned.outcome is JobOutcome.NO_CHANGE
    assert planned.plan is None

    # One saved plan is not applied twice, not even on the empty state that it was made on.
    shutil.rmtree(stack.state(module).parent)
    again = stack.work(stack.execution(opened))
    assert again.refusal is not None
    assert again.refusal.code == Code.GRANT_SPENT
    assert not stack.state(module).exists()


def test_a_change_that_replaces_and_then_a_replay_of_its_grant(stack: Stack) -> None:
    module = stack.module()
    first = stack.ready(module)
    stack.grants(first)
    assert stack.work(stack.execution(first)).outcome is JobOutcome.SUCCEEDED
    before = stack.state(module).read_bytes()
    opened = stack.ready(module, source={"files": {f"terraform/{module}/main.tf": CHANGED}})
    assert opened.manifest.plan is not None
    assert opened.manifest.plan.summary["replaces"] == 1
    stack.grants(opened)
    assert stack.work(stack.execution(opened)).outcome is JobOutcome.SUCCEEDED
    assert b'"large"' in stack.state(module).read_bytes()

    again = stack.work(stack.execution(opened))
    assert again.outcome is JobOutcome.STALE, "the state has moved on"

    # Even with the very state that the plan was made on, a spent grant stays spent.
    stack.state(module).write_bytes(before)
    job = stack.execution(opened)
    replayed = stack.work(job)
    assert replayed.outcome is JobOutcome.REFUSED
    assert replayed.refusal is not None
    assert replayed.refusal.code == Code.GRANT_SPENT
    assert stack.state(module).read_bytes() == before
    assert Kind.CREDENTIAL_REQUESTED not in stack.bot.kinds(job.id)


def test_a_second_plan_that_is_not_empty_is_told(stack: Stack) -> None:
    module = stack.module()
    text = 'resource "terraform_data" "clock" { input = timestamp() }\n'
    opened = stack.ready(module, source={"files": {f"terraform/{module}/main.tf": text}})
    stack.grants(opened)
    result = stack.work(stack.execution(opened))
    assert result.outcome is JobOutcome.SUCCEEDED
    assert stack.receipt(result).residue is Residue.DIFFERS
    assert "A second plan still updates 1" in result.reason
    assert isinstance(result.structure, dict)
    assert "second_plan" in result.structure


def test_a_tool_without_preview(stack: Stack) -> None:
    module = stack.module()
    stack.state(module).parent.mkdir(parents=True)
    stack.state(module).write_text(json.dumps(STATE))
    arguments = {"module": module, "address": "terraform_data.disk"}
    job, planned = stack.plan(module, tool="forget", arguments=arguments)
    assert planned.outcome is JobOutcome.PLANNED
    assert planned.plan is not None
    assert planned.plan.plan is None
    opened = stack.open(job, planned)
    stack.forge.review(opened.number, "alice", commit=opened.head)
    stack.grants(opened)
    result = stack.work(stack.execution(opened))
    assert result.outcome is JobOutcome.SUCCEEDED, result
    assert stack.receipt(result).residue is Residue.NOT_PLANNED
    assert json.loads(stack.state(module).read_text())["resources"] == []


def test_a_deadline_ends_it_and_the_state_that_was_not_stored_is_kept(stack: Stack) -> None:
    module = stack.module()
    job, planned = stack.plan(module, tool="half_done")
    opened = stack.open(job, planned)
    stack.forge.review(opened.number, "alice", commit=opened.head)
    stack.grants(opened)
    execution = stack.execution(opened)
    result = stack.work(execution)
    assert result.outcome is JobOutcome.FAILED
    assert "kept" in result.reason
    assert stack.receipt(result).state_rescued
    assert stack.bot.kinds(execution.id)[-1] is Kind.STATE_RESCUED
    kept = next(stack.data.rescued.glob(f"{opened.manifest.id}.*.sealed"))
    assert MAIN not in kept.read_bytes()
    sealing = SealingKeys.from_files([stack.folder / "sealing.key"])
    assert rescued_states.read(kept, sealing) == MAIN
    assert kept.stat().st_mode & 0o077 == 0


def test_openbao_that_goes_away_after_the_grant_is_spent(stack: Stack, tmp_path: Path) -> None:
    with running_openbao(tmp_path / "openbao") as bao:
        own = stack.with_openbao(tmp_path / "runner", bao)
        module = own.module()
        opened = own.ready(module)
        own.grants(opened)
        job = own.execution(opened)

        def stop(job_id: str, event: object) -> None:
            if job_id == job.id and getattr(event, "kind", None) is Kind.GRANT_SPENT:
                bao.stop()

        own.bot.on_event = stop
        try:
            result = own.work(job)
        finally:
            own.bot.on_event = lambda job_id, event: None
    assert result.outcome is JobOutcome.FAILED
    assert result.reason.startswith("Nothing was done, and the grant is spent")
    assert Kind.SANDBOX_STARTED not in own.bot.kinds(job.id)
    assert not own.state(module).exists()


def test_openbao_that_goes_away_before_the_revocation(stack: Stack, tmp_path: Path) -> None:
    """What was done is known and told; what was printed is not, and the lease is left to the sweeper."""
    with running_openbao(tmp_path / "openbao") as bao:
        own = stack.with_openbao(tmp_path / "runner", bao)
        module = own.module()
        opened = own.ready(module)
        own.grants(opened)
        job = own.execution(opened)

        def stop(job_id: str, event: object) -> None:
            if job_id == job.id and getattr(event, "kind", None) is Kind.SANDBOX_STARTED:
                bao.stop()

        own.bot.on_event = stop
        try:
            result = own.work(job)
        finally:
            own.bot.on_event = lambda job_id, event: None
    assert result.outcome is JobOutcome.SUCCEEDED
    assert result.output == ""
    assert "withheld" in result.reason
    assert own.state(module).exists()
    assert len(list(own.data.leases.iterdir())) == 1


def test_a_bot_that_is_away_at_the_end_gets_the_result_later(stack: Stack, tmp_path: Path) -> None:
    own = stack.variant(tmp_path / "runner")
    module = own.module()
    opened = own.ready(module)
    own.grants(opened)
    job = own.execution(opened)

    def leave(job_id: str, event: object) -> None:
        if job_id == job.id and getattr(event, "kind", None) is Kind.SANDBOX_COMPLETED:
            own.bot.away.set()

    own.bot.on_event = leave
    try:
        own.bot.give(job)
        with own.equipment() as equipment:
            WorkLoop(equipment, stop=threading.Event()).run_once()
            assert len(list(own.data.results.glob("*.json"))) == 1
            kept = next(own.data.results.glob("*.json"))
            assert kept.stat().st_mode & 0o077 == 0
            own.bot.away.clear()
            own.bot.on_event = lambda job_id, event: None
            assert recovery.deliver_kept(equipment) == 0
    finally:
        own.bot.away.clear()
        own.bot.on_event = lambda job_id, event: None
    result = own.bot.result_of(job.id, timeout=1)
    assert result.outcome is JobOutcome.SUCCEEDED
    assert own.bot.kinds(job.id).count(Kind.SANDBOX_COMPLETED) == 2, "with the second plan's"
    assert not list(own.data.results.iterdir())
