"""Read-only calls through a real sandbox with a real lease."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from policy.audit import Kind
from policy.receipt import Outcome
from policy.refusal import Code
from policy.runner_protocol import JobKind, JobOutcome
from runner import heartbeat
from runner.readiness import Readiness
from runner.redaction import LEASE_MARK
from runner.work_loop import WorkLoop
from tests.openbao import running_openbao
from tests.runner_stack import MAIN, Stack

LEASED = [
    Kind.CREDENTIAL_REQUESTED,
    Kind.CREDENTIAL_ISSUED,
    Kind.SANDBOX_STARTED,
    Kind.SANDBOX_COMPLETED,
    Kind.CREDENTIAL_REVOKED,
]


def test_a_read_call_is_answered_after_its_lease_is_dead(stack: Stack) -> None:
    job = stack.job("report", {})
    result = stack.work(job)
    assert result.outcome is JobOutcome.SUCCEEDED, result
    assert "-----BEGIN CERTIFICATE-----" in result.output
    assert stack.bot.kinds(job.id) == LEASED
    signed = stack.receipt(result)
    assert signed.outcome is Outcome.SUCCEEDED
    assert "4.4.0" in signed.kernel
    assert [lease.role for lease in signed.leases] == ["report"]
    assert signed.leases[0].lease_id.startswith("pki/issue/report/")
    assert signed.audit_tip.sequence >= stack.bot.tip.sequence - 1
    assert not list(stack.data.leases.iterdir())


@pytest.mark.parametrize("tool", ["key_plain", "key_base64", "key_hex"])
def test_the_credential_in_the_output_is_taken_out(stack: Stack, tool: str) -> None:
    result = stack.work(stack.job(tool, {}))
    assert result.outcome is JobOutcome.SUCCEEDED
    assert LEASE_MARK in result.output or "private key" in result.output
    assert "MHcCAQ" not in result.output
    assert "4d 48 63 43" not in result.output


def test_a_flood_is_cut_and_the_cut_is_named(stack: Stack) -> None:
    result = stack.work(stack.job("flood", {}))
    assert result.output_cut_bytes > 4_000_000
    assert "ownergate cut" in result.output
    assert stack.receipt(result).output_cut_bytes == result.output_cut_bytes


def test_a_tool_that_fails_is_said_to_have_failed(stack: Stack) -> None:
    result = stack.work(stack.job("echo", {"text": "/no/such/file"}))
    assert result.outcome is JobOutcome.FAILED
    assert result.reason == "Step 1 ended with exit code 1."
    assert "No such file" in result.output
    assert stack.receipt(result).exit_code == 1


def test_a_cancelled_read_is_ended(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat.Heartbeat.__init__, "__kwdefaults__", {"period_seconds": 0.05})
    job = stack.job("slow", {})
    stack.bot.cancelled.add(job.id)
    result = stack.work(job)
    assert result.outcome is JobOutcome.FAILED
    assert result.reason == "The call was cancelled."
    assert stack.bot.kinds(job.id)[-1] is Kind.CREDENTIAL_REVOKED


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "code"),
    [
        ("terraform_apply", {"module": "m0"}, JobKind.READ, Code.TOOL_DIFFERS),
        ("report", {}, JobKind.PLAN, Code.TOOL_DIFFERS),
        ("report", {}, JobKind.EXECUTE, Code.REQUEST_DIFFERS),
        ("report", {"more": 1}, JobKind.READ, Code.ARGUMENTS_INVALID),
        ("echo", {"text": "-n"}, JobKind.READ, Code.ARGUMENTS_INVALID),
        ("echo", {}, JobKind.READ, Code.ARGUMENTS_INVALID),
        ("elsewhere", {}, JobKind.READ, Code.TARGET_DIFFERS),
    ],
)
def test_a_job_that_is_not_what_it_says(
    stack: Stack, tool: str, arguments: dict[str, object], kind: JobKind, code: Code
) -> None:
    job = stack.job(tool, arguments, kind)
    result = stack.work(job)
    assert result.outcome is JobOutcome.REFUSED
    assert result.refusal is not None
    assert result.refusal.code == code
    assert stack.bot.kinds(job.id) == [Kind.RUNNER_REFUSED]


def test_planning_by_itself_shows_structure_and_prints_nothing(stack: Stack) -> None:
    result = stack.work(stack.job("terraform_plan", {"module": stack.module()}))
    assert result.outcome is JobOutcome.SUCCEEDED, result
    assert result.output == ""
    assert isinstance(result.structure, dict)
    assert result.structure["verdict"] == "creates 1, changes 1 output"
    assert "small" not in str(result.structure)


def test_the_files_of_a_call_are_planned_over_the_base(stack: Stack) -> None:
    module = stack.module()
    path = f"terraform/{module}/main.tf"
    files = {path: MAIN.decode().replace("disk", "tape")}
    job = stack.job("terraform_plan", {"module": module}, source={"files": files})
    result = stack.work(job)
    assert "terraform_data.tape" in str(result.structure)


# OpenBao that is not as it should be


@contextmanager
def openbao_of_its_own(stack: Stack, folder: Path) -> Iterator[tuple[Stack, object]]:
    with running_openbao(folder / "openbao") as bao:
        yield stack.with_openbao(folder / "runner", bao), bao


def test_openbao_that_is_down_at_issue(stack: Stack, tmp_path: Path) -> None:
    with openbao_of_its_own(stack, tmp_path) as (own, bao):
        bao.stop()  # type: ignore[attr-defined]
        job = own.job("report", {})
        result = own.work(job)
    assert result.outcome is JobOutcome.FAILED
    assert result.refusal is not None
    assert result.refusal.code == Code.VAULT_UNREACHABLE
    assert Kind.SANDBOX_STARTED not in own.bot.kinds(job.id)


def test_openbao_that_is_sealed(stack: Stack, tmp_path: Path) -> None:
    with openbao_of_its_own(stack, tmp_path) as (own, bao):
        bao.seal()  # type: ignore[attr-defined]
        result = own.work(own.job("report", {}))
    assert result.refusal is not None
    assert result.refusal.code == Code.VAULT_SEALED
    assert "unseal" in result.refusal.remedy


def test_output_is_withheld_when_the_lease_cant_be_seen_to_be_dead(stack: Stack, tmp_path: Path) -> None:
    with openbao_of_its_own(stack, tmp_path) as (own, bao):
        job = own.job("report", {})

        def stop(job_id: str, event: object) -> None:
            if getattr(event, "kind", None) is Kind.SANDBOX_STARTED:
                bao.stop()  # type: ignore[attr-defined]

        own.bot.on_event = stop
        try:
            result = own.work(job)
        finally:
            own.bot.on_event = lambda job_id, event: None
        assert result.outcome is JobOutcome.FAILED
        assert result.output == ""
        assert "withheld" in result.reason
        assert Kind.CREDENTIAL_REVOKED not in own.bot.kinds(job.id)
        assert own.receipt(result).leases == ()
        assert len(list(own.data.leases.iterdir())) == 1, "the lease stays in the journal"


def test_without_a_proof_no_work_is_asked_for(stack: Stack) -> None:
    polls = len(stack.bot.polls)
    with stack.equipment() as equipment:
        unproved = Readiness(equipment.sandbox, period_seconds=600, now=equipment.now)
        loop = WorkLoop(replace(equipment, readiness=unproved), stop=threading.Event())
        assert not loop.run_once()
    assert len(stack.bot.polls) == polls


def test_several_workers_work_at_once(stack: Stack, tmp_path: Path) -> None:
    own = stack.variant(tmp_path / "runner", workers=3)
    jobs = [own.job("report", {}) for _ in range(5)]
    for job in jobs:
        own.bot.give(job)
    stop = threading.Event()
    with own.equipment() as equipment:
        loop = threading.Thread(target=WorkLoop(equipment, stop=stop).run)
        loop.start()
        results = [own.bot.result_of(job.id) for job in jobs]
        stop.set()
        loop.join()
    assert {result.outcome for result in results} == {JobOutcome.SUCCEEDED}


def test_nothing_secret_stands_on_a_command_line_or_in_a_log(stack: Stack) -> None:
    """The runner's own argv and environment; the sandbox's are `tests/unit/runner/sandbox`'s."""
    result = stack.work(stack.job("report", {}))
    everything = (
        repr(result) + subprocess.run(["ps", "auxe"], capture_output=True, text=True, check=True).stdout
    )
    assert "-----BEGIN EC PRIVATE" not in everything
    assert (
        "og_runner_" not in subprocess.run(["ps", "aux"], capture_output=True, text=True, check=True).stdout
    )
