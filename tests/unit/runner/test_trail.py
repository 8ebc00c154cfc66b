"""Events keep their order, are waited for where that matters, and are handed back when they can't be sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from policy.audit import Kind
from policy.receipt import AuditTip
from policy.runner_protocol import JobEvent, JobOutcome
from runner import bot_client, reports
from runner.bot_client import BotClient, BotRefused, BotUnavailable
from runner.chain_watch import ChainWatch, WentBack
from runner.kept_results import KeptResult, KeptResults
from runner.trail import Trail
from tests.scripted_bot import TOKEN, Answer, ScriptedBot

RESULT = reports.result("test-1", JobOutcome.FAILED, "why")


@pytest.fixture
def bot() -> Iterator[ScriptedBot]:
    with ScriptedBot() as bot:
        yield bot


@pytest.fixture
def client(bot: ScriptedBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[BotClient]:
    monkeypatch.setattr(bot_client, "_FIRST_PAUSE_SECONDS", 0.001)
    with BotClient(bot.url, token=lambda: TOKEN) as client:
        yield client


@pytest.fixture
def chain(tmp_path: Path) -> ChainWatch:
    return ChainWatch(tmp_path / "audit")


@pytest.fixture
def trail(client: BotClient, chain: ChainWatch) -> Iterator[Trail]:
    trail = Trail(client, job_id="job-1", runner="test-1", chain=chain)
    yield trail
    trail.close()


def test_events_arrive_in_order_and_move_the_tip(bot: ScriptedBot, trail: Trail, chain: ChainWatch) -> None:
    kinds = [Kind.CREDENTIAL_REQUESTED, Kind.CREDENTIAL_ISSUED, Kind.SANDBOX_STARTED] * 5
    for kind in kinds:
        trail.note(kind, {"a": 1})
    trail.settle(timeout_seconds=10)
    assert bot.kinds("job-1") == kinds
    assert [event.data["step"] for _, event in bot.events] == list(range(1, 16))
    assert chain.remembered == bot.tip
    assert trail.close() == ()


def test_noting_waits_for_nobody(bot: ScriptedBot, trail: Trail) -> None:
    held = threading.Event()

    def hold(job_id: str, event: JobEvent) -> None:
        held.wait(10)

    bot.on_event = hold
    trail.note(Kind.SANDBOX_STARTED, {})
    trail.note(Kind.SANDBOX_COMPLETED, {})
    with pytest.raises(BotUnavailable, match="slow"):
        trail.settle(timeout_seconds=0.05)
    held.set()
    trail.settle(timeout_seconds=10)


def test_nothing_overtakes_an_event_that_could_not_be_sent(bot: ScriptedBot, trail: Trail) -> None:
    def refuse(job_id: str, event: JobEvent) -> None:
        if event.kind is Kind.CREDENTIAL_ISSUED:
            raise Answer(409, "misplaced")

    bot.on_event = refuse
    for kind in (Kind.CREDENTIAL_REQUESTED, Kind.CREDENTIAL_ISSUED, Kind.SANDBOX_STARTED):
        trail.note(kind, {})
    with pytest.raises(BotRefused):
        trail.settle(timeout_seconds=10)
    trail.give_time()
    trail.note(Kind.SANDBOX_COMPLETED, {})
    left = trail.close()
    assert [event.kind for event in left] == [
        Kind.CREDENTIAL_ISSUED,
        Kind.SANDBOX_STARTED,
        Kind.SANDBOX_COMPLETED,
    ]
    assert bot.kinds("job-1") == [Kind.CREDENTIAL_REQUESTED]


def test_a_bot_that_is_away_gets_them_with_the_result(
    bot: ScriptedBot, client: BotClient, trail: Trail, chain: ChainWatch, tmp_path: Path
) -> None:
    bot.away.set()
    trail.note(Kind.SANDBOX_STARTED, {})
    trail.note(Kind.SANDBOX_COMPLETED, {})
    trail.give_time()
    kept = KeptResult(job_id="job-1", events=trail.close(), result=RESULT)
    results = KeptResults(tmp_path / "results")
    results.keep(kept)
    with pytest.raises(BotUnavailable):
        results.deliver(kept, client, chain)
    assert results.holds("job-1")

    bot.away.clear()
    again = KeptResults(tmp_path / "results")
    assert again.all() == (kept,)
    assert again.deliver(kept, client, chain) is None
    assert bot.kinds("job-1") == [Kind.SANDBOX_STARTED, Kind.SANDBOX_COMPLETED]
    assert bot.result_of("job-1", timeout=1) == RESULT
    assert not again.holds("job-1")
    assert again.deliver(kept, client, chain) is None, "the same result twice is one"
    assert len(bot.results) == 1
    assert len(bot.events) == 2


def test_an_answer_that_contradicts_the_chain(bot: ScriptedBot, trail: Trail, chain: ChainWatch) -> None:
    chain.see(AuditTip(sequence=2, hash="e" * 64))
    trail.note(Kind.SANDBOX_STARTED, {})
    with pytest.raises(WentBack):
        trail.settle(timeout_seconds=10)


def test_a_result_that_the_bot_does_not_want_is_set_aside(
    bot: ScriptedBot, client: BotClient, chain: ChainWatch, tmp_path: Path
) -> None:
    bot.results.append(("job-1", reports.result("test-1", JobOutcome.UNKNOWN, "another")))
    results = KeptResults(tmp_path / "results")
    kept = KeptResult(job_id="job-1", events=(), result=RESULT)
    results.keep(kept)
    not_taken = results.deliver(kept, client, chain)
    assert not_taken is not None
    assert "another result" in not_taken.why
    assert results.all() == ()
    assert len(list((tmp_path / "results").glob("*.not_taken"))) == 1


def test_a_kept_result_is_private(tmp_path: Path) -> None:
    results = KeptResults(tmp_path / "results")
    results.keep(KeptResult(job_id="../../x", events=(), result=RESULT))
    (file,) = (tmp_path / "results").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "results").stat().st_mode & 0o777 == 0o700
