"""Webhook deliveries: signed, sent in the background from a queue, kept for redelivery.

Source: docs.github.com, "Validating webhook deliveries", "Handling failed webhook deliveries" (nothing is
sent again by itself) and "Best practices for using webhooks" (an answer within ten seconds).
"""

import functools
import hashlib
import hmac
import json
import logging
import ssl
import threading
import time
import uuid
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import httpx2

from github_simulator.clock import Clock
from github_simulator.faults import Faults
from github_simulator.model import Hook

TIME_LIMIT_SECONDS = 10.0
KEPT = 20_000
RELEASE_HELD_SECONDS = 0.5
LOG = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Delivery:
    """One attempt to deliver one event to one hook."""

    id: int
    guid: str
    hook: Hook
    target_type: str
    target_id: int
    event: str
    action: str | None
    payload: bytes
    delivered_at: datetime
    installation_id: int | None = None
    repository_id: int | None = None
    redelivery: bool = False
    url: str = ""
    status: str = "pending"
    status_code: int = 0
    duration: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    response_headers: dict[str, str] = field(default_factory=dict)
    response_body: str | None = None
    sent: bool = False
    dropped: bool = False


def signed_headers(delivery: Delivery, body: bytes) -> dict[str, str]:
    """The headers that GitHub sends with a delivery."""
    form = delivery.hook.content_type == "form"
    headers = {
        "Accept": "*/*",
        "Content-Type": "application/x-www-form-urlencoded" if form else "application/json",
        "User-Agent": "GitHub-Hookshot/51a1070",
        "X-GitHub-Delivery": delivery.guid,
        "X-GitHub-Event": delivery.event,
        "X-GitHub-Hook-ID": str(delivery.hook.id),
        "X-GitHub-Hook-Installation-Target-ID": str(delivery.target_id),
        "X-GitHub-Hook-Installation-Target-Type": delivery.target_type,
    }
    if delivery.hook.secret:
        key = delivery.hook.secret.encode()
        headers["X-Hub-Signature"] = "sha1=" + hmac.new(key, body, hashlib.sha1).hexdigest()
        headers["X-Hub-Signature-256"] = "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest()
    return headers


class Deliveries:
    """The queue, its worker thread and the log of what was sent."""

    def __init__(self, clock: Clock, faults: Faults) -> None:
        self._clock = clock
        self._faults = faults
        self._changed = threading.Condition()
        self._queue: list[tuple[float, int, Delivery]] = []
        self._held: list[tuple[float, Delivery]] = []
        self._log: list[Delivery] = []
        self._sequence = 0
        self._sending = False
        self._stopped = False
        self._thread: threading.Thread | None = None

    def add(
        self,
        *,
        hook: Hook,
        target_type: str,
        target_id: int,
        event: str,
        action: str | None,
        payload: dict[str, Any],
        installation_id: int | None,
        repository_id: int | None,
    ) -> None:
        """Queue one event for one hook, with whatever the faults do to it on the way."""
        if hook.url is None or not hook.active:
            return
        fate = self._faults.take_webhook(event, action)
        with self._changed:
            delivery = Delivery(
                id=self._next(),
                guid=str(uuid.uuid4()),
                hook=hook,
                target_type=target_type,
                target_id=target_id,
                event=event,
                action=action,
                payload=json.dumps(payload, separators=(",", ":")).encode(),
                delivered_at=self._clock.now(),
                installation_id=installation_id,
                repository_id=repository_id,
            )
            self._remember(delivery)
            if fate.drop:
                delivery.dropped = True
                delivery.status, delivery.status_code = "failed to connect to host", 502
                delivery.url = hook.url
                delivery.headers = signed_headers(delivery, _body(delivery))
                return
            if fate.hold:
                self._held.append((time.monotonic() + RELEASE_HELD_SECONDS, delivery))
            else:
                self._put(delivery, fate.delay_seconds)
                for _, held in self._held:
                    self._put(held, fate.delay_seconds)
                self._held.clear()
            if fate.duplicate:
                self._put(delivery, fate.delay_seconds)
            self._changed.notify_all()

    def redeliver(self, delivery: Delivery) -> Delivery:
        """Send an event again; the new attempt has a new id and the same GUID."""
        with self._changed:
            again = replace(
                delivery,
                id=self._next(),
                redelivery=True,
                status="pending",
                status_code=0,
                sent=False,
                dropped=False,
                delivered_at=self._clock.now(),
                response_headers={},
                response_body=None,
            )
            self._remember(again)
            self._put(again, 0.0)
            self._changed.notify_all()
            return again

    def of_hook(self, hook_id: int) -> list[Delivery]:
        """What was sent or dropped for one hook, newest first."""
        with self._changed:
            return [d for d in reversed(self._log) if d.hook.id == hook_id and (d.sent or d.dropped)]

    def all(self) -> list[Delivery]:
        """Everything queued, sent or dropped, oldest first."""
        with self._changed:
            return list(self._log)

    def wait(self, timeout: float = 15.0) -> None:
        """Wait until the queue is empty and nothing is on its way. Raises TimeoutError."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while self._queue or self._held or self._sending:
                if not self._changed.wait(timeout=max(deadline - time.monotonic(), 0.0)):
                    raise TimeoutError(f"{len(self._queue)} webhook deliveries still wait after {timeout} s")

    def start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="webhook-deliveries", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=TIME_LIMIT_SECONDS + 1)

    def _next(self) -> int:
        self._sequence += 1
        return 10_000_000_000 + self._sequence

    def _remember(self, delivery: Delivery) -> None:
        self._log.append(delivery)
        if len(self._log) > KEPT:
            del self._log[: KEPT // 10]

    def _put(self, delivery: Delivery, delay: float) -> None:
        self._sequence += 1
        self._queue.append((time.monotonic() + delay, self._sequence, delivery))
        self._queue.sort(key=lambda entry: entry[:2])

    def _work(self) -> None:
        with httpx2.Client(timeout=TIME_LIMIT_SECONDS, trust_env=False, verify=_authorities()) as client:
            while (delivery := self._take()) is not None:
                try:
                    self._send(client, delivery)
                finally:
                    with self._changed:
                        self._sending = False
                        self._changed.notify_all()

    def _take(self) -> Delivery | None:
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                for due, held in [entry for entry in self._held if entry[0] <= now]:
                    self._held.remove((due, held))
                    self._put(held, 0.0)
                if self._queue and self._queue[0][0] <= now:
                    self._sending = True
                    return self._queue.pop(0)[2]
                due_times = [entry[0] for entry in self._queue[:1]] + [entry[0] for entry in self._held]
                self._changed.wait(timeout=min(due_times) - now if due_times else None)
            return None

    def _send(self, client: httpx2.Client, delivery: Delivery) -> None:
        body = _body(delivery)
        delivery.url = delivery.hook.url or ""
        delivery.headers = signed_headers(delivery, body)
        started = time.monotonic()
        try:
            with client.stream("POST", delivery.url, content=body, headers=delivery.headers) as response:
                text = response.read().decode(errors="replace")
            delivery.status_code = response.status_code
            accepted = 200 <= response.status_code < 300
            delivery.status = "OK" if accepted else f"Invalid HTTP Response: {response.status_code}"
            delivery.response_headers = dict(response.headers)
            delivery.response_body = text[:10_000]
        except httpx2.TimeoutException:
            delivery.status, delivery.status_code = "timed out", 504
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            LOG.info("delivery %s to %s failed: %s", delivery.guid, delivery.url, error)
            delivery.status, delivery.status_code = "failed to connect to host", 502
        delivery.duration = time.monotonic() - started
        delivery.hook.last_code = delivery.status_code
        delivery.sent = True


@functools.cache
def _authorities() -> ssl.SSLContext:
    """The usual certificate authorities, loaded once for the process, as that is slow."""
    return ssl.create_default_context()


def _body(delivery: Delivery) -> bytes:
    if delivery.hook.content_type == "form":
        return urlencode({"payload": delivery.payload.decode()}).encode()
    return delivery.payload
