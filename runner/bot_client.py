"""The runner's calls to the bot (`policy.runner_protocol`): strict reading, clear errors, no surprises.

A call is repeated by itself only if doing it twice is the same as doing it once: heartbeats, results
and the audit chain's reading. A poll or a claim whose answer was lost is never repeated here, because
the bot may have acted on it.

One client is shared by all threads of the runner, so that connections are reused.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar
from urllib.parse import quote

import httpx2

from policy import agent_protocol, record, runner_protocol
from policy.receipt import AuditTip
from policy.refusal import Code, Refused

T = TypeVar("T")

LARGEST_ANSWER = 48 * 1024 * 1024
"""Bytes of one answer at most: a sealed plan in base64 is the largest thing that comes."""

TIMEOUT_SECONDS = 15.0
"""For one call, beside the time that a poll is meant to wait."""

TRIES = 4
_FIRST_PAUSE_SECONDS = 0.2
_PASSING = frozenset({429, 502, 503, 504})


class BotUnavailable(Exception):  # noqa: N818  A state of the world.
    """The bot did not answer, or not with what the protocol says; the text says what was seen.

    Attributes:
        may_have_acted: whether the bot may have received the call and acted on it.
    """

    def __init__(self, what: str, *, may_have_acted: bool) -> None:
        super().__init__(what)
        self.may_have_acted = may_have_acted


class BotRefused(Exception):  # noqa: N818  An answer, not a fault.
    """The bot answered with a problem (4xx)."""

    def __init__(self, status: int, problem: agent_protocol.Problem) -> None:
        super().__init__(f"the bot refused (HTTP {status}): {problem.refusal.what}. {problem.refusal.remedy}")
        self.status = status
        self.refusal = problem.refusal


class BotClient:
    """Calls to one bot with one runner's token."""

    def __init__(
        self,
        address: str,
        *,
        token: Callable[[], str],
        ca_file: Path | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """Opens no connection yet.

        Args:
            address: the bot's address without a final slash.
            token: gives the bearer token; asked for each call, so a token can be exchanged.
            ca_file: certificates that may sign the bot's, PEM; None for the system's.
            transport: how to reach the bot, for tests of the wire.
        """
        trust: ssl.SSLContext | bool = ssl.create_default_context(cafile=ca_file) if ca_file else True
        self._token = token
        self._client = httpx2.Client(
            base_url=f"{address}/api/v1/runner/",
            timeout=TIMEOUT_SECONDS,
            follow_redirects=False,
            trust_env=False,
            verify=trust,
            limits=httpx2.Limits(max_connections=64, max_keepalive_connections=16, keepalive_expiry=30),
            transport=transport,
        )

    def __enter__(self) -> BotClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def poll(self, poll: runner_protocol.Poll) -> runner_protocol.Job | None:
        """Waits for work, at most `poll.wait_seconds`; None when none came."""
        return self._call("POST", "poll", runner_protocol.Job, body=poll, waits=poll.wait_seconds)

    def claim(self, job_id: str, request: runner_protocol.ClaimRequest) -> runner_protocol.Claim:
        """Claims the job's grant.

        Raises:
            BotRefused: there is none, it is taken, or it may not be claimed now.
        """
        return self._must("POST", f"jobs/{_safe(job_id)}/claim", runner_protocol.Claim, body=request)

    def event(self, job_id: str, event: runner_protocol.JobEvent) -> AuditTip:
        """Appends one event to the audit trail; gives the chain's tip after it."""
        path = f"jobs/{_safe(job_id)}/events"
        return self._must("POST", path, runner_protocol.EventReceived, body=event).audit_tip

    def heartbeat(self, job_id: str, runner: str) -> bool:
        """Says that the job is worked on; whether it was cancelled meanwhile."""
        path = f"jobs/{_safe(job_id)}/heartbeat"
        body = runner_protocol.Heartbeat(runner=runner)
        return self._must("POST", path, runner_protocol.HeartbeatReceived, body=body, repeat=True).cancel

    def result(self, job_id: str, result: runner_protocol.JobResult) -> AuditTip:
        """Delivers a job's result; the same one twice is one."""
        path = f"jobs/{_safe(job_id)}/result"
        return self._must("POST", path, runner_protocol.ResultReceived, body=result, repeat=True).audit_tip

    def audit_at(self, sequence: int) -> AuditTip | None:
        """The chain's event at a sequence number; None when the chain ends before it."""
        try:
            return self._must("GET", f"audit/{sequence}", AuditTip, repeat=True)
        except BotRefused as refused:
            if refused.status == 404:
                return None
            raise

    def _must(self, method: str, path: str, kind: type[T], *, body: object = None, repeat: bool = False) -> T:
        answer = self._call(method, path, kind, body=body, repeat=repeat)
        if answer is None:
            raise BotUnavailable(f"the bot's answer to {path} is empty", may_have_acted=True)
        return answer

    def _call(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        body: object = None,
        repeat: bool = False,
        waits: int = 0,
    ) -> T | None:
        content = None if body is None else record.encode(body)
        pause = _FIRST_PAUSE_SECONDS
        for last in (*[False] * (TRIES - 1), True):
            try:
                return self._once(method, path, kind, content, waits)
            except BotUnavailable as away:
                # A call that never reached the bot may always be made again.
                if last or (away.may_have_acted and not repeat):
                    raise
            time.sleep(pause)
            pause *= 2
        raise BotUnavailable(f"{path} was never called", may_have_acted=False)

    def _once(self, method: str, path: str, kind: type[T], content: bytes | None, waits: int) -> T | None:
        headers = {"Authorization": f"Bearer {self._token()}", "Accept": "application/json"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        timeout = httpx2.Timeout(TIMEOUT_SECONDS + waits, connect=5.0)
        try:
            with self._client.stream(
                method, path, content=content, headers=headers, timeout=timeout
            ) as response:
                status, data = response.status_code, _read(response, path)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            what = f"the bot can't be reached: {_reason(error)}"
            raise BotUnavailable(what, may_have_acted=False) from None
        except RuntimeError:
            # httpx2 says so of a client that was closed: the runner is stopping.
            raise BotUnavailable("this runner is stopping", may_have_acted=True) from None
        except httpx2.HTTPError as error:
            what = f"the bot did not answer {path}: {_reason(error)}"
            raise BotUnavailable(what, may_have_acted=True) from None
        return _answer(status, data, path, kind)


def _read(response: httpx2.Response, path: str) -> bytes:
    data = bytearray()
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > LARGEST_ANSWER:
            raise BotUnavailable(f"the bot's answer to {path} is too large", may_have_acted=True)
    return bytes(data)


def _answer(status: int, data: bytes, path: str, kind: type[T]) -> T | None:
    if status == 204:
        return None
    try:
        if status == 200:
            return record.read(kind, data, what="the bot's answer", code=Code.BOT_ANSWER_INVALID)
        if 400 <= status < 500 and status not in _PASSING:
            what = "the bot's problem"
            problem = record.read(agent_protocol.Problem, data, what=what, code=Code.BOT_ANSWER_INVALID)
            raise BotRefused(status, problem)
    except Refused as refused:
        raise BotUnavailable(
            f"the bot's answer to {path} (HTTP {status}) is not of the protocol: {refused.refusal.what}",
            may_have_acted=True,
        ) from None
    # Too many calls (429) is said before acting; a server's error may come after it.
    raise BotUnavailable(f"the bot answered {path} with HTTP {status}", may_have_acted=status >= 500)


def _safe(identifier: str) -> str:
    return quote(identifier, safe="")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
