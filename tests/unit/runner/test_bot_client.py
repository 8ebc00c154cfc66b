"""The runner's calls to the bot over real HTTP: what is repeated, what is believed, what is said."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx2
import pytest

from policy.audit import Kind
from policy.receipt import AuditTip
from policy.runner_protocol import ClaimRequest, JobEvent, JobOutcome, Poll
from runner import bot_client, reports
from runner.bot_client import BotClient, BotRefused, BotUnavailable
from tests.scripted_bot import TOKEN, Answer, ScriptedBot
from tests.unit.runner.examples import a_job

RESULT = reports.result("test-1", JobOutcome.FAILED, "why")
EVENT = JobEvent(runner="test-1", kind=Kind.PLAN_STARTED, data={"step": 1})
CLAIM = ClaimRequest(runner="test-1", digest="0" * 64, policy_sha256="0" * 64)


@pytest.fixture
def bot() -> Iterator[ScriptedBot]:
    with ScriptedBot() as bot:
        yield bot


@pytest.fixture
def client(bot: ScriptedBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[BotClient]:
    monkeypatch.setattr(bot_client, "_FIRST_PAUSE_SECONDS", 0.001)
    with BotClient(bot.url, token=lambda: TOKEN) as client:
        yield client


def a_poll() -> Poll:
    return Poll(
        runner="test-1",
        pool="demo",
        policy_sha256="0" * 64,
        sandbox="runsc",
        kernel="4.4.0",
        proved_at=None,
        running=(),
        remembered=None,
        wait_seconds=0,
    )


def test_a_poll_brings_a_job_or_nothing(bot: ScriptedBot, client: BotClient) -> None:
    assert client.poll(a_poll()) is None
    bot.give(a_job())
    job = client.poll(a_poll())
    assert job is not None
    assert job.id == "job-1"


def test_every_call_of_the_protocol(bot: ScriptedBot, client: BotClient) -> None:
    assert client.event("job-1", EVENT) == bot.tip
    assert client.heartbeat("job-1", "test-1") is False
    bot.cancelled.add("job-1")
    assert client.heartbeat("job-1", "test-1") is True
    assert client.result("job-1", RESULT) == bot.tip
    assert client.result("job-1", RESULT) == bot.tip
    assert len(bot.results) == 1
    assert client.audit_at(1) == bot.at(1)
    assert client.audit_at(99) is None
    with pytest.raises(BotRefused, match=r"HTTP 409.*there is no grant"):
        client.claim("job-1", CLAIM)


def test_an_answer_that_is_lost_is_asked_for_again_only_where_that_is_safe(
    bot: ScriptedBot, client: BotClient
) -> None:
    bot.lost += ["result$", "heartbeat$", "audit/1$"]
    client.result("job-1", RESULT)
    client.heartbeat("job-1", "test-1")
    client.audit_at(1)
    assert bot.lost == []
    assert len(bot.heartbeats) == 2

    bot.lost += ["events$", "claim$", "poll$"]
    for call in (
        lambda: client.event("job-1", EVENT),
        lambda: client.claim("job-1", CLAIM),
        lambda: client.poll(a_poll()),
    ):
        with pytest.raises(BotUnavailable) as away:
            call()
        assert away.value.may_have_acted
    assert (len(bot.events), len(bot.claims), len(bot.polls)) == (1, 1, 1)


def test_a_bot_that_can_not_be_reached_may_be_asked_again() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with BotClient(address, token=lambda: TOKEN) as client, pytest.raises(BotUnavailable) as away:
        client.claim("job-1", CLAIM)
    assert not away.value.may_have_acted
    assert "can't be reached" in str(away.value)


def test_a_wrong_token(bot: ScriptedBot) -> None:
    with BotClient(bot.url, token=lambda: "og_runner_wrong") as client, pytest.raises(BotRefused) as refused:
        client.poll(a_poll())
    assert refused.value.status == 401
    assert "og_runner_wrong" not in str(refused.value)


def answering(status: int, body: bytes) -> BotClient:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, content=body))
    return BotClient("http://127.0.0.1:1", token=lambda: TOKEN, transport=transport)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"{}"),
        (200, b'{"sequence": 1, "hash": "x"}'),
        (200, b'{"sequence": 1, "sequence": 1, "hash": "' + b"a" * 64 + b'"}'),
        (200, b'{"sequence": true, "hash": "' + b"a" * 64 + b'"}'),
        (200, b'{"sequence": 1, "hash": "' + b"a" * 64 + b'", "more": 1}'),
        (204, b""),
        (301, b""),
        (400, b"<html>"),
        (500, b"{}"),
    ],
)
def test_an_answer_that_is_not_of_the_protocol(
    status: int, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot_client, "_FIRST_PAUSE_SECONDS", 0.001)
    with answering(status, body) as client, pytest.raises(BotUnavailable):
        client.audit_at(1)


def test_an_answer_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_client, "LARGEST_ANSWER", 1000)
    monkeypatch.setattr(bot_client, "_FIRST_PAUSE_SECONDS", 0.001)
    with answering(200, b" " * 2000) as client, pytest.raises(BotUnavailable, match="too large"):
        client.audit_at(1)


def test_a_good_answer() -> None:
    with answering(200, b'{"sequence": 1, "hash": "' + b"a" * 64 + b'"}') as client:
        assert client.audit_at(1) == AuditTip(sequence=1, hash="a" * 64)


def test_a_job_id_can_not_lead_to_another_call(bot: ScriptedBot, client: BotClient) -> None:
    seen: list[str] = []

    def look(job_id: str, event: JobEvent) -> None:
        seen.append(job_id)
        raise Answer(404)

    bot.on_event = look
    with pytest.raises(BotRefused):
        client.event("../../admin?x=/", EVENT)
    assert seen == ["..%2F..%2Fadmin%3Fx%3D%2F"]
