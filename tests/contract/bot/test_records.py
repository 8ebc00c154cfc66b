"""Every answer of the bot is exactly a record that agents and runners read, and every refusal a problem."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from policy import record
from policy.agent_protocol import Problem, RequestList, RequestView, SandboxStatus, ToolList
from policy.audit import Kind
from policy.receipt import AuditTip
from policy.refusal import Code
from policy.runner_protocol import EventReceived, HeartbeatReceived, JobKind, ResultReceived
from tests.living_bot import LivingBot, living
from tests.scripted_runner import ScriptedRunner


@pytest.fixture(scope="module")
def bot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingBot]:
    with living(tmp_path_factory.mktemp("bot")) as made:
        yield made


def read(kind: type[object], content: bytes) -> object:
    return record.read(kind, content, what="the answer", code=Code.RESULT_INVALID)


def test_the_agents_side(bot: LivingBot) -> None:
    agent = bot.agent()
    tools = read(ToolList, agent.client.get("/api/v1/tools").content)
    assert isinstance(tools, ToolList)
    assert {tool.name for tool in tools.tools} == set(bot.base.policy.tools)
    answer = agent.call("sandbox_report")
    view = read(RequestView, answer.content)
    assert isinstance(view, RequestView)
    read(RequestList, agent.client.get("/api/v1/requests").content)
    read(SandboxStatus, agent.client.get("/api/v1/sandbox").content)
    read(RequestView, agent.client.get(f"/api/v1/requests/{view.id}").content)
    read(RequestView, agent.cancel(view.id).content)


def test_the_runners_side(bot: LivingBot) -> None:
    agent, runner = bot.agent(), ScriptedRunner(bot)
    request_id = agent.call("sandbox_report").json()["id"]
    job = runner.need_job(JobKind.READ)
    event = read(EventReceived, runner.event(job, Kind.SANDBOX_STARTED, step=1).content)
    assert isinstance(event, EventReceived)
    tip = event.audit_tip
    answer = runner.client.get(f"/api/v1/runner/audit/{tip.sequence}")
    assert read(AuditTip, answer.content) == tip
    read(HeartbeatReceived, runner.heartbeat(job).content)
    read(ResultReceived, runner.result(job, runner.ran(job)).content)
    done = read(RequestView, agent.client.get(f"/api/v1/requests/{request_id}").content)
    assert isinstance(done, RequestView)
    assert done.result is not None
    # The bot's chain holds what the runner remembers.
    again = runner.poll(remembered=tip)
    assert again is None
    agent.call("sandbox_report")
    job = runner.need_job(JobKind.READ)
    assert job.audit_at_remembered is not None
    assert runner.client.get("/api/v1/runner/audit/999999").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/v1/requests/og-unknown", None),
        ("POST", "/api/v1/requests", b"{"),
        ("POST", "/api/v1/requests", b"[]"),
        ("POST", "/api/v1/requests", b'{"tool": 1e400}'),
        ("GET", "/api/v1/requests/og-unknown?wait_seconds=46", None),
        ("GET", "/api/v1/requests/og-unknown?seen_state=nonsense", None),
        ("POST", "/api/v1/runner/poll", b"{}"),
        ("POST", "/api/v1/requests/og-unknown/unlock", None),
        ("GET", "/api/v1/nothing", None),
    ],
)
def test_every_refusal_is_a_problem(bot: LivingBot, method: str, path: str, body: bytes | None) -> None:
    answer = bot.agent().client.request(
        method, path, content=body, headers={"Content-Type": "application/json"}
    )
    assert 400 <= answer.status_code < 500
    problem = read(Problem, answer.content)
    assert isinstance(problem, Problem)
    assert problem.refusal.remedy


def test_a_long_poll_ends_when_something_changes(bot: LivingBot) -> None:
    import threading
    import time

    agent, runner = bot.agent(), ScriptedRunner(bot)
    request_id = agent.call("sandbox_report").json()["id"]
    while (job := runner.poll()) is not None and job.request_id != request_id:
        runner.tell(job, Kind.SANDBOX_STARTED)
        runner.result(job, runner.ran(job))
    assert job is not None
    timer = threading.Timer(0.3, lambda: runner.tell(job, Kind.SANDBOX_STARTED))
    timer.start()
    began = time.monotonic()
    view = agent.view(request_id, wait_seconds=20, seen_state="received")
    took = time.monotonic() - began
    timer.join()
    assert view["state"] == "running"
    assert took < 15


def test_a_poll_ends_when_work_comes(bot: LivingBot) -> None:
    import threading

    agent, runner = bot.agent("dave"), ScriptedRunner(bot)
    while runner.poll() is not None:
        continue
    timer = threading.Timer(0.3, lambda: agent.call("sandbox_report"))
    timer.start()
    job = runner.poll(wait_seconds=20)
    timer.join()
    assert job is not None


def test_the_call_waits_for_a_read(bot: LivingBot) -> None:
    import threading

    agent, runner = bot.agent("dave"), ScriptedRunner(bot)
    while runner.poll() is not None:
        continue

    def work() -> None:
        job = runner.poll(wait_seconds=20)
        assert job is not None
        runner.tell(job, Kind.SANDBOX_STARTED)
        runner.result(job, runner.ran(job, output="hello\n"))

    thread = threading.Thread(target=work)
    thread.start()
    view = agent.call("sandbox_report", wait_seconds=20).json()
    thread.join()
    assert (view["state"], view["result"]["output"]) == ("succeeded", "hello\n")
