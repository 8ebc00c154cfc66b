"""The audit trail: a hash chain over every step of every request.

Each event holds the hash of the chain's event before it and of the same request's event before it.
So the whole chain can be checked from the database, and one request's part of it from the pull
request alone. An event's intent is appended before the step, its outcome after.

Secrets never enter: `scrub` removes them, whatever the caller sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import cast

from pydantic import JsonValue

from policy import canonical, record, secret_shapes
from policy.canonical import Json
from policy.receipt import AuditTip
from policy.record import Digest, Moment
from policy.refusal import Code

GENESIS = "0" * 64
"""What the first event names as the hash before it."""

REMOVED = "[removed]"


class Kind(StrEnum):
    """What an event is about, in the order in which a request meets them."""

    TOOL_REQUEST = "tool.request"
    POLICY_DECISION = "policy.decision"
    PLAN_STARTED = "plan.started"
    PLAN_READY = "plan.ready"
    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_GIVEN = "approval.given"
    APPROVAL_REFUSED = "approval.refused"
    GRANT_ISSUED = "grant.issued"
    GRANT_CLAIMED = "grant.claimed"
    GRANT_SPENT = "grant.spent"
    RUNNER_REFUSED = "runner.refused"
    CREDENTIAL_REQUESTED = "credential.requested"
    CREDENTIAL_ISSUED = "credential.issued"
    SANDBOX_STARTED = "sandbox.started"
    SANDBOX_COMPLETED = "sandbox.completed"
    CREDENTIAL_REVOKED = "credential.revoked"
    STATE_RESCUED = "state.rescued"
    TOOL_RESULT = "tool.result"
    REQUEST_ENDED = "request.ended"
    REQUEST_JOINED = "request.joined"
    PULL_REQUEST_MERGED = "pull_request.merged"
    PULL_REQUEST_CLOSED = "pull_request.closed"
    BOT_PAUSED = "bot.paused"
    BOT_RESUMED = "bot.resumed"
    RESTORE_ACCEPTED = "restore.accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One link of the chain. `sequence` starts at 1 and has no gaps."""

    __pydantic_config__ = record.STRICT

    sequence: int
    kind: Kind
    request_id: str | None
    at: Moment
    data: Mapping[str, JsonValue]
    previous: Digest
    previous_of_request: Digest | None
    hash: Digest

    @property
    def tip(self) -> AuditTip:
        """This event as the chain's tip."""
        return AuditTip(sequence=self.sequence, hash=self.hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One place where a chain does not hold."""

    sequence: int
    reason: str


def link(
    *,
    kind: Kind,
    request_id: str | None,
    at: datetime,
    data: Mapping[str, Json],
    tip: AuditTip | None,
    previous_of_request: str | None,
) -> Event:
    """Makes the next event of the chain. `data` is scrubbed first.

    Args:
        tip: the chain's newest event, None for the first one.
        previous_of_request: hash of the same request's newest event, None for its first.
    """
    body: dict[str, Json] = {
        "sequence": tip.sequence + 1 if tip else 1,
        "kind": kind.value,
        "request_id": request_id,
        "at": record.to_json(at),
        "data": scrub(dict(data)),
        "previous": tip.hash if tip else GENESIS,
        "previous_of_request": previous_of_request,
    }
    return record.from_json(
        Event, {**body, "hash": canonical.sha256(body)}, what="the audit event", code=Code.AUDIT_INVALID
    )


def parse(data: bytes | str) -> Event:
    """Reads one exported event; raises `Refused` with `audit_invalid`."""
    return record.read(Event, data, what="the audit event", code=Code.AUDIT_INVALID)


def verify(events: Iterable[Event], *, tip: AuditTip | None) -> tuple[Fault, ...]:
    """Checks a whole chain from its first event on; no fault means that it holds.

    Args:
        events: all events, by sequence.
        tip: the tip as something else attests it (a receipt, a status comment, the tip's own
            store); a chain that ends before it was cut. None checks the links alone.
    """
    faults: list[Fault] = []
    before: Event | None = None
    of_request: dict[str, str] = {}
    attested = tip is None
    for event in events:
        expected = before.sequence + 1 if before else 1
        if event.sequence != expected:
            faults.append(Fault(sequence=event.sequence, reason=f"event {expected} is missing"))
        if event.previous != (before.hash if before else GENESIS):
            faults.append(Fault(sequence=event.sequence, reason="it doesn't follow the event before it"))
        if event.request_id is not None:
            if event.previous_of_request != of_request.get(event.request_id):
                reason = "it doesn't follow the event of its request before it"
                faults.append(Fault(sequence=event.sequence, reason=reason))
            of_request[event.request_id] = event.hash
        faults += _own_hash(event)
        attested = attested or (tip is not None and tip == event.tip)
        before = event
    if not attested and tip is not None:
        faults.append(Fault(sequence=tip.sequence, reason="the attested tip is not in the chain"))
    return tuple(faults)


def verify_request(events: Iterable[Event], *, request_id: str) -> tuple[Fault, ...]:
    """Checks one request's events alone, as its pull request shows them."""
    faults: list[Fault] = []
    before: Event | None = None
    for event in events:
        if event.request_id != request_id:
            faults.append(Fault(sequence=event.sequence, reason="it belongs to another request"))
        if event.previous_of_request != (before.hash if before else None):
            reason = "it doesn't follow the event of its request before it"
            faults.append(Fault(sequence=event.sequence, reason=reason))
        if before and event.sequence <= before.sequence:
            faults.append(Fault(sequence=event.sequence, reason="it stands out of order"))
        faults += _own_hash(event)
        before = event
    if before is None:
        faults.append(Fault(sequence=0, reason="there is no event of this request"))
    return tuple(faults)


_SECRET_NAMES = re.compile(
    r"(?:^|_)(?:token|password|passwd|secret|private_key|authorization|cookie|jwt|api_key|credential)$"
)


def scrub(value: Json, name: str = "") -> Json:
    """Removes secrets recursively: values under telling names, and texts of a secret's shape."""
    match value:
        case None | bool():
            return value
        case _ if _SECRET_NAMES.search(name.lower().replace("-", "_")):
            return REMOVED
        case dict():
            return {key: scrub(item, key) for key, item in value.items()}
        case list():
            return [scrub(item) for item in value]
        case str() if secret_shapes.find(value):
            return REMOVED
        case _:
            return value


def _own_hash(event: Event) -> list[Fault]:
    body = cast("dict[str, Json]", record.to_json(event))
    del body["hash"]
    if canonical.sha256(body) == event.hash:
        return []
    return [Fault(sequence=event.sequence, reason="its content doesn't have its hash")]
