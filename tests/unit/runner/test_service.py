"""A real runner process: how it starts, refuses to start, stops, and is killed at every step."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from policy.audit import Kind
from policy.receipt import AuditTip
from policy.runner_protocol import Job, JobEvent, JobOutcome, JobResult
from runner import service
from runner.chain_watch import ChainWatch
from runner.lease.vault_calls import VaultCalls
from runner.secret_bytes import SecretBytes
from tests.runner_stack import Stack
from tests.scripted_bot import ScriptedBot, wait_until


@contextmanager
def process(stack: Stack) -> Iterator[subprocess.Popen[bytes]]:
    """A runner process that has asked for work; killed at the end if it still runs."""
    polls = len(stack.bot.polls)
    running = stack.process()
    try:
        stack.bot.wait(lambda: len(stack.bot.polls) > polls or running.poll() is not None)
        yield running
    finally:
        running.kill()
        running.wait()


def an_execution(stack: Stack) -> tuple[Job, str]:
    opened = stack.ready(stack.module())
    granted = stack.grants(opened)
    stack.claims[opened.manifest.id] = stack.bot.on_claim
    return stack.execution(opened), granted.jti


def live_leases(stack: Stack, role: str) -> list[str]:
    calls = VaultCalls(stack.bao.address)
    client = calls.client(SecretBytes(stack.bao.root_token.encode()))
    listed = client.list(f"sys/leases/lookup/pki/issue/{role}")
    return [] if listed is None else list(listed["data"]["keys"])


@pytest.fixture
def own(stack: Stack, tmp_path: Path) -> Stack:
    """A runner with a data folder of its own."""
    return stack.variant(tmp_path / "runner")


def kill_at(stack: Stack, running: subprocess.Popen[bytes], job: Job, kind: Kind) -> None:
    """Gives a job to a runner and kills it with SIGKILL when it reports a step."""

    def at(job_id: str, event: JobEvent) -> None:
        if job_id == job.id and event.kind is kind and running.poll() is None:
            running.kill()

    stack.bot.on_event = at
    try:
        stack.bot.give(job)
        running.wait(timeout=60)
    finally:
        stack.bot.on_event = lambda job_id, event: None


def kill_at_report(stack: Stack, running: subprocess.Popen[bytes], job: Job) -> JobResult:
    """Kills a runner when the bot has its result and the runner does not know it yet."""
    honest = stack.bot.result

    def lose(job_id: str, body: bytes) -> object:
        answer = honest(job_id, body)
        running.kill()
        running.wait()
        return answer

    stack.bot.result = lose  # type: ignore[method-assign, assignment]
    try:
        stack.bot.give(job)
        running.wait(timeout=60)
    finally:
        stack.bot.result = honest  # type: ignore[method-assign]
    return stack.bot.result_of(job.id, timeout=1)


def test_killed_at_every_step_it_answers_at_its_next_start(own: Stack) -> None:
    """Each process answers for what the one before it left, and is killed one step later."""
    begun, spent = an_execution(own)
    ended, _ = an_execution(own)
    claimed, unspent = an_execution(own)
    reading = own.job("slow", {})

    with process(own) as running:
        kill_at(own, running, claimed, Kind.GRANT_SPENT)

    with process(own) as running:
        result = own.bot.result_of(claimed.id)
        assert result.outcome is JobOutcome.FAILED
        assert result.reason == "The runner was stopped before the grant was spent; nothing was done."
        assert not (own.data.spent / unspent).exists()
        own.bot.on_claim = own.claims[begun.request_id]
        kill_at(own, running, begun, Kind.SANDBOX_STARTED)
    assert len(live_leases(own, "terraform-apply")) == 1

    with process(own) as running:
        result = own.bot.result_of(begun.id)
        assert result.outcome is JobOutcome.UNKNOWN
        assert "not tried again" in result.reason
        assert (own.data.spent / spent).exists()
        assert live_leases(own, "terraform-apply") == []
        assert not list(own.data.leases.iterdir())
        assert not [path for path in own.scratch.iterdir() if path.name.startswith("call-")]
        own.bot.on_claim = own.claims[ended.request_id]
        told = kill_at_report(own, running, ended)
        assert told.outcome is JobOutcome.SUCCEEDED
    assert len(list(own.data.results.glob("*.json"))) == 1

    with process(own) as running:
        wait_until(lambda: not list(own.data.results.glob("*.json")))
        assert [owner for owner, _ in own.bot.results].count(ended.id) == 1
        kill_at(own, running, reading, Kind.SANDBOX_STARTED)

    with process(own) as running:
        result = own.bot.result_of(reading.id)
        assert result.outcome is JobOutcome.FAILED
        assert live_leases(own, "report") == []
        # The bot hands the lost execution out again: what is spent stays spent.
        own.bot.on_claim = own.claims[begun.request_id]
        again = job_again(begun)
        own.bot.give(again)
        assert own.bot.result_of(again.id).outcome in (JobOutcome.REFUSED, JobOutcome.STALE)
        wait_until(lambda: not list(own.data.jobs.iterdir()))


def job_again(job: Job) -> Job:
    fields = {name: getattr(job, name) for name in Job.__dataclass_fields__}
    return Job(**{**fields, "id": f"{job.id}-again"})


def test_sigterm_lets_a_begun_job_end(own: Stack) -> None:
    job = own.job("report", {})

    def stop(job_id: str, event: JobEvent) -> None:
        if job_id == job.id and event.kind is Kind.CREDENTIAL_ISSUED:
            running.send_signal(signal.SIGTERM)

    own.bot.on_event = stop
    try:
        with process(own) as running:
            own.bot.give(job)
            assert own.bot.result_of(job.id).outcome is JobOutcome.SUCCEEDED
            assert running.wait(timeout=20) == 0
    finally:
        own.bot.on_event = lambda job_id, event: None


def test_two_runners_on_one_data_folder(own: Stack) -> None:
    with own.data.locked(), pytest.raises(service.CannotRun, match="used by another runner process"):
        service.run_once(own.settings_path)


# The audit chain


def remember(stack: Stack, sequence: int, letter: str) -> None:
    watch = ChainWatch(stack.data.audit)
    watch.see(AuditTip(sequence=sequence, hash=letter * 64))
    watch.save()


@pytest.mark.parametrize("sequence", [1, 9_999_999])
def test_a_bot_whose_history_was_rewritten_gets_no_work_done(own: Stack, sequence: int) -> None:
    remember(own, sequence, "e")
    with pytest.raises(service.CannotRun, match="--accept-audit-restore"):
        service.run_once(own.settings_path)
    assert service.accept_audit_restore(own.settings_path) == AuditTip(sequence=sequence, hash="e" * 64)
    job = own.job("flood", {})
    own.bot.give(job)
    assert service.run_once(own.settings_path)
    assert own.bot.result_of(job.id).outcome is JobOutcome.SUCCEEDED


def test_a_history_that_is_rewritten_while_the_runner_works(own: Stack) -> None:
    job = own.job("report", {})
    honest = ScriptedBot.at
    watch = ChainWatch(own.data.audit)
    watch.see(own.bot.tip)
    watch.save()
    with process(own) as running:
        own.bot.at = lambda sequence: AuditTip(sequence=sequence, hash="f" * 64)  # type: ignore[method-assign]
        try:
            own.bot.give(job)
            assert running.wait(timeout=20) != 0
        finally:
            own.bot.at = honest.__get__(own.bot)  # type: ignore[method-assign]
    assert own.bot.kinds(job.id) == [], "the job was not begun"
    assert b"audit chain" in (own.folder / "runner.log").read_bytes()


# What is missing at start


def changed(stack: Stack, **changes: object) -> Path:
    content = yaml.safe_load(stack.settings_path.read_text())
    for name, value in changes.items():
        content[name] = content[name] | value if isinstance(value, dict) else value
    stack.settings_path.write_text(yaml.safe_dump(content))
    return stack.settings_path


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"policy": "none.yaml"}, "the policy can't be read"),
        ({"token_file": "none"}, "it does not exist"),
        ({"token_file": "sealing.key"}, "does not hold a runner's token"),
        ({"receipt_key_file": "none"}, "receipt key"),
        ({"receipt_key_file": "sealing.key"}, "not an Ed25519 key"),
        ({"sealing_key_file": "token"}, "exactly 32 bytes"),
        ({"grant_keys_file": "none"}, "can't be read"),
        ({"grant_keys_file": "app.pem"}, "not a public key"),
        ({"github": {"private_key_file": "none"}}, "GitHub App"),
        ({"openbao": {"login_key_file": "none"}}, "identity key"),
        ({"sandbox": {"runsc": "/no/such/runsc"}}, "runsc"),
        ({"sandbox": {"runsc": "/bin/true"}}, "runsc"),
        ({"sandbox": {"images": "none"}}, "image tools"),
    ],
)
def test_it_does_not_start_without(own: Stack, changes: dict[str, object], why: str) -> None:
    with pytest.raises(service.CannotRun, match=why) as raised:
        service.run_once(changed(own, **changes))
    assert "Traceback" not in str(raised.value)


@pytest.mark.parametrize("name", ["token", "app.pem", "receipt.pem", "login.pem", "sealing.key"])
def test_it_does_not_start_with_a_secret_that_others_can_read(own: Stack, name: str) -> None:
    (own.folder / name).chmod(0o644)
    with pytest.raises(service.CannotRun, match="chmod 0600"):
        service.run_once(own.settings_path)


def test_a_policy_with_a_mistake(own: Stack) -> None:
    text = (own.folder / "policy.yaml").read_text()
    (own.folder / "policy.yaml").write_text(text.replace("tier: read", "tier: raed", 1))
    with pytest.raises(service.CannotRun, match=r"policy\.yaml:\d+"):
        service.run_once(own.settings_path)
