"""A bot that does what a test tells it: the runner protocol over HTTP, an honest audit chain, real grants.

It stands for the bot of every kind: a good one, one that is away, one that was taken over. It holds the
real grant key, so "a bot that signs whatever it likes" is just a test that asks it to.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from policy import audit, record, runner_protocol
from policy.agent_protocol import Problem, RefusalView
from policy.audit import Event, Kind
from policy.next_action import SENTENCES, NextAction
from policy.receipt import AuditTip
from policy.refusal import Code
from policy.runner_protocol import Claim, ClaimRequest, Heartbeat, Job, JobEvent, JobResult, Poll

TOKEN = "og_runner_" + "t" * 43
REQUEST_ID = "og-" + "0" * 26


class Answer(Exception):  # noqa: N818  A way to answer out of a handler.
    """What is answered instead of 200."""

    def __init__(self, status: int, what: str = "no") -> None:
        super().__init__(what)
        self.status = status


class ScriptedBot:
    """The bot's side of the runner protocol.

    Attributes:
        polls, events, claims, results, heartbeats: what came, in order.
        on_claim: makes the answer to a claim; raises `Answer` to refuse.
        on_event: looks at an event before it is taken; raises `Answer` to refuse.
        away: while set, every connection is cut without an answer.
        lost: paths (regular expressions) whose answer is cut after the call was taken; each once.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.chain: list[Event] = []
        self.jobs: deque[Job] = deque()
        self.polls: list[Poll] = []
        self.events: list[tuple[str, JobEvent]] = []
        self.claims: list[tuple[str, ClaimRequest]] = []
        self.results: list[tuple[str, JobResult]] = []
        self.heartbeats: list[str] = []
        self.cancelled: set[str] = set()
        self.on_claim: Callable[[str, ClaimRequest], Claim] = _no_claim
        self.on_event: Callable[[str, JobEvent], None] = lambda job_id, event: None
        self.away = threading.Event()
        self.lost: list[str] = []
        self.append(Kind.TOOL_REQUEST, {"by": "a test"})
        handler = type("Handler", (_Handler,), {"bot": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self.away.set()
        with self.changed:
            self.changed.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> ScriptedBot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tip(self) -> AuditTip:
        with self.lock:
            return self.chain[-1].tip

    def at(self, sequence: int) -> AuditTip | None:
        with self.lock:
            return next((event.tip for event in self.chain if event.sequence == sequence), None)

    def append(self, kind: Kind, data: Mapping[str, Any], request_id: str = REQUEST_ID) -> AuditTip:
        with self.changed:
            before = [event for event in self.chain if event.request_id == request_id]
            self.chain.append(
                audit.link(
                    kind=kind,
                    request_id=request_id,
                    at=datetime.now(UTC).replace(microsecond=0),
                    data=dict(data),
                    tip=self.chain[-1].tip if self.chain else None,
                    previous_of_request=before[-1].hash if before else None,
                )
            )
            return self.chain[-1].tip

    def give(self, job: Job) -> None:
        """Puts a job in the queue."""
        with self.changed:
            self.jobs.append(job)
            self.changed.notify_all()

    def result_of(self, job_id: str, *, timeout: float = 60) -> JobResult:
        """Waits for the result of a job."""
        with self.changed:
            found = self.changed.wait_for(lambda: self._result(job_id), timeout)
        if found is None:
            raise TimeoutError(f"no result of {job_id}")
        return found

    def wait(self, condition: Callable[[], bool], *, timeout: float = 30) -> None:
        """Waits until something came that makes a condition true."""
        with self.changed:
            if not self.changed.wait_for(condition, timeout):
                raise TimeoutError

    def kinds(self, job_id: str) -> list[Kind]:
        """The kinds of events that came for a job, in order."""
        with self.lock:
            return [event.kind for owner, event in self.events if owner == job_id]

    def _result(self, job_id: str) -> JobResult | None:
        return next((result for owner, result in self.results if owner == job_id), None)

    # The calls

    def poll(self, body: bytes) -> Job | None:
        poll = record.read(Poll, body, what="the poll", code=Code.BOT_ANSWER_INVALID)
        with self.changed:
            self.polls.append(poll)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.jobs or self.away.is_set(), poll.wait_seconds)
            if not self.jobs:
                return None
            job = self.jobs.popleft()
            remembered = poll.remembered
            shown = None if remembered is None else self.at(remembered.sequence)
            fields: dict[str, Any] = {"audit_tip": self.tip, "audit_at_remembered": shown}
            if job.at.year == 2000:
                fields["at"] = datetime.now(UTC)
            return _changed(job, fields)

    def claim(self, job_id: str, body: bytes) -> Claim:
        request = record.read(ClaimRequest, body, what="the claim", code=Code.BOT_ANSWER_INVALID)
        with self.changed:
            self.claims.append((job_id, request))
        return self.on_claim(job_id, request)

    def event(self, job_id: str, body: bytes) -> runner_protocol.EventReceived:
        event = record.read(JobEvent, body, what="the event", code=Code.BOT_ANSWER_INVALID)
        self.on_event(job_id, event)
        with self.changed:
            if (job_id, event) not in self.events:
                self.events.append((job_id, event))
                self.append(event.kind, event.data)
            self.changed.notify_all()
            return runner_protocol.EventReceived(audit_tip=self.tip)

    def heartbeat(self, job_id: str, body: bytes) -> runner_protocol.HeartbeatReceived:
        record.read(Heartbeat, body, what="the heartbeat", code=Code.BOT_ANSWER_INVALID)
        with self.changed:
            self.heartbeats.append(job_id)
            self.changed.notify_all()
            return runner_protocol.HeartbeatReceived(cancel=job_id in self.cancelled)

    def result(self, job_id: str, body: bytes) -> runner_protocol.ResultReceived:
        result = record.read(JobResult, body, what="the result", code=Code.BOT_ANSWER_INVALID)
        with self.changed:
            known = self._result(job_id)
            if known is not None and known != result:
                raise Answer(409, "the job ended with another result already")
            if known is None:
                self.results.append((job_id, result))
                self.append(Kind.TOOL_RESULT, {"outcome": result.outcome.value})
            self.changed.notify_all()
            return runner_protocol.ResultReceived(audit_tip=self.tip)


ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""A job's `at` that the bot replaces with its clock when it hands the job out."""


def _no_claim(job_id: str, request: ClaimRequest) -> Claim:
    raise Answer(409, "there is no grant")


def _changed(job: Job, fields: Mapping[str, Any]) -> Job:
    return Job(**{name: fields.get(name, getattr(job, name)) for name in Job.__dataclass_fields__})


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """A runner that is killed cuts its connections; nothing is printed for that."""


class _Handler(BaseHTTPRequestHandler):
    bot: ScriptedBot
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._answer(body)

    def do_GET(self) -> None:
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        if self.bot.away.is_set():
            self.close_connection = True
            return
        try:
            status, answer = 200, self._route(body)
            if answer is None:
                status = 204
        except Answer as other:
            status, answer = other.status, _problem(str(other))
        if self.bot.away.is_set() or self._loses():
            self.close_connection = True
            return
        data = b"" if answer is None else record.encode(answer)
        head = f"HTTP/1.1 {status} x\r\nContent-Length: {len(data)}\r\n\r\n".encode()
        try:
            self.wfile.write(head + data)
        except OSError:
            self.close_connection = True

    def _loses(self) -> bool:
        for pattern in self.bot.lost:
            if re.search(pattern, self.path):
                self.bot.lost.remove(pattern)
                return True
        return False

    def _route(self, body: bytes) -> Any:
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Answer(401, "the token is not a runner's")
        path = self.path.removeprefix("/api/v1/runner/")
        if path == "poll":
            return self.bot.poll(body)
        if match := re.fullmatch(r"audit/(\d+)", path):
            found = self.bot.at(int(match[1]))
            if found is None:
                raise Answer(404, "there is no such event")
            return found
        if match := re.fullmatch(r"jobs/([^/]+)/(claim|events|heartbeat|result)", path):
            call = {"events": "event"}.get(match[2], match[2])
            return getattr(self.bot, call)(match[1], body)
        raise Answer(404, "there is no such call")


def _problem(what: str) -> Problem:
    action = NextAction.ASK_A_PERSON
    return Problem(
        refusal=RefusalView(
            code="claim_refused", what=what, rule="A test says so.", remedy="Change the test."
        ),
        next_action=action,
        next_action_text=SENTENCES[action],
    )


def wait_until(condition: Callable[[], Any], *, timeout: float = 30) -> None:
    """Waits until a condition holds."""
    until = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.02)


def as_json(value: Any) -> Any:
    """A record as plain JSON, for comparisons."""
    return json.loads(record.encode(value))
