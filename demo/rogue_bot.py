"""A bot taken over: it speaks the runner's protocol, holds the real signing key, and lies.

It offers one runner an execution whose pull request nobody approved, with a grant that it signed
itself, and records what the runner answers.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from policy import record
from policy.receipt import AuditTip
from policy.refusal import Code
from policy.runner_protocol import (
    Claim,
    EventReceived,
    HeartbeatReceived,
    Job,
    JobEvent,
    JobResult,
    ResultReceived,
)

TIP = AuditTip(sequence=1, hash="0" * 64)


@dataclass
class RogueBot:
    """What it offers, and what it heard back.

    Attributes:
        job: the execution that it offers, once.
        grant: the signed grant that it hands out at the claim.
        sealed_plan: the plan bytes that it sends along.
        claimed: whether the runner asked for the grant at all.
        result: what the runner reported at the end.
    """

    job: Job
    grant: str
    sealed_plan: bytes
    url: str = ""
    offered: bool = False
    claimed: bool = False
    events: list[JobEvent] = field(default_factory=list)
    result: JobResult | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str, body: bytes) -> object | None:
        """The answer to one call of the runner; None is 204."""
        if path.endswith("/poll"):
            if self.offered:
                return None
            self.offered = True
            return self.job
        if path.endswith("/claim"):
            self.claimed = True
            plan = base64.b64encode(self.sealed_plan).decode()
            return Claim(grant=self.grant, fence=1, sealed_plan=plan, audit_tip=TIP)
        if path.endswith("/events"):
            self.events.append(record.read(JobEvent, body, what="the runner's event", code=Code.JSON_INVALID))
            return EventReceived(audit_tip=TIP)
        if path.endswith("/result"):
            self.result = record.read(JobResult, body, what="the runner's result", code=Code.JSON_INVALID)
            self.done.set()
            return ResultReceived(audit_tip=TIP)
        return HeartbeatReceived(cancel=False) if path.endswith("/heartbeat") else TIP


@contextmanager
def serving(bot: RogueBot) -> Iterator[RogueBot]:
    """Serves the rogue bot on a free port of this machine; `bot.url` says where."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            answer = bot.answer(re.sub(r"\?.*", "", self.path), body)
            data = b"" if answer is None else record.encode(answer)
            self.send_response(204 if answer is None else 200)
            self.send_header("content-type", "application/json")
            if answer is not None:
                self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST  # noqa: N815  The standard library's name.

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  Its signature.
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """A runner that is ended breaks its connection off; that is no part of the story."""

    server = Server(("127.0.0.1", 0), Handler)
    bot.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield bot
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
