"""Requests in the database: one record for a row, and the one function that changes a state."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Connection, func, insert, select, update

from bot import participants
from bot.request_tables import OPEN, requests
from bot.request_tables import participants as participants_table
from policy.canonical import Json
from policy.states import State, Tier, is_final, may_follow


class TransitionRefused(Exception):  # noqa: N818  It is an answer: somebody else was faster.
    """The request is not in a state from which it may go there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One row of `requests`; see the table for what each column is."""

    id: str
    state: State
    cause: str
    tier: Tier
    tool: str
    tool_digest: str
    arguments: dict[str, Json]
    source: dict[str, Json] | None
    expect: dict[str, Json] | None
    reason: str
    agent: str
    principal_id: int
    person_id: int
    login: str
    same_key: str
    target: str
    runner_pool: str
    lock_key: str
    owned: list[str]
    base_ref: str
    base_sha: str | None
    branch_sha: str | None
    routing: Json
    planned_at: datetime | None
    verdict: str | None
    structure: Json
    digest: str | None
    required: int | None
    required_because: list[str] | None
    changes_source: bool
    pull_request: int | None
    link: str | None
    head_sha: str | None
    check_run_id: int | None
    comment_id: int | None
    comment_sha256: str | None
    merged: str | None
    decision: dict[str, Json] | None
    looked_at: datetime | None
    refusal: dict[str, Json] | None
    result: dict[str, Json] | None
    receipt: str | None
    predecessor_id: str | None
    successor_id: str | None
    created_at: datetime
    expires_at: datetime | None
    changed_at: datetime
    fence: int | None

    @property
    def final(self) -> bool:
        """Whether nothing may follow."""
        return is_final(self.state)


_COLUMNS = tuple(requests.c[field.name] for field in fields(Request))


def _record(row: Any) -> Request:
    values = dict(row._mapping)
    return Request(**{**values, "state": State(values["state"]), "tier": Tier(values["tier"])})


def get(connection: Connection, request_id: str) -> Request | None:
    """The request with that id; None when there is none."""
    row = connection.execute(select(*_COLUMNS).where(requests.c.id == request_id)).first()
    return None if row is None else _record(row)


def need(connection: Connection, request_id: str) -> Request:
    """The request with that id.

    Raises:
        LookupError: when there is none.
    """
    found = get(connection, request_id)
    if found is None:
        raise LookupError(f"no request {request_id}")
    return found


def of_pull_request(connection: Connection, number: int) -> Request | None:
    """The request whose pull request has that number; None for anybody else's pull request."""
    row = connection.execute(select(*_COLUMNS).where(requests.c.pull_request == number)).first()
    return None if row is None else _record(row)


def in_states(connection: Connection, states: Collection[State]) -> list[Request]:
    """All requests in one of the states, oldest first."""
    rows = connection.execute(
        select(*_COLUMNS)
        .where(requests.c.state.in_([state.value for state in states]))
        .order_by(requests.c.created_at, requests.c.id)
    )
    return [_record(row) for row in rows]


def same_open(connection: Connection, same_key: str) -> Request | None:
    """The open destructive request that asks for the same; None when there is none."""
    row = connection.execute(
        select(*_COLUMNS).where(
            requests.c.same_key == same_key,
            requests.c.tier == Tier.DESTRUCTIVE.value,
            requests.c.state.in_([state.value for state in OPEN]),
        )
    ).first()
    return None if row is None else _record(row)


def undecided_on(connection: Connection, target: str, *, other_than: str) -> list[Request]:
    """Requests on one target that wait for people or for their claim, except one."""
    rows = connection.execute(
        select(*_COLUMNS).where(
            requests.c.target == target,
            requests.c.id != other_than,
            requests.c.state.in_([State.PENDING.value, State.GRANTED.value]),
        )
    )
    return [_record(row) for row in rows]


def of_principal(connection: Connection, principal_id: int, *, limit: int) -> list[Request]:
    """The requests that a principal asked for or joined, newest first."""
    rows = connection.execute(
        select(*_COLUMNS)
        .join(participants_table, participants_table.c.request_id == requests.c.id)
        .where(participants_table.c.principal_id == principal_id)
        .order_by(requests.c.created_at.desc(), requests.c.id)
        .limit(limit)
    )
    return [_record(row) for row in rows]


def open_count(connection: Connection, principal_id: int, tier: Tier) -> int:
    """How many open requests of this tier a principal has asked for itself."""
    count = connection.execute(
        select(func.count())
        .select_from(requests)
        .where(
            requests.c.principal_id == principal_id,
            requests.c.tier == tier.value,
            requests.c.state.in_([state.value for state in OPEN]),
        )
    ).scalar_one()
    return int(count)


def add(connection: Connection, values: Mapping[str, Any]) -> Request:
    """Stores a new request and its first participant."""
    connection.execute(insert(requests).values(**values))
    request = need(connection, values["id"])
    participants.join(
        connection,
        request.id,
        request.principal_id,
        request.person_id,
        request.login,
        request.agent,
        first=True,
        at=request.created_at,
    )
    return request


def note(connection: Connection, request_id: str, **values: Any) -> None:
    """Writes columns that are no state."""
    if "state" in values:
        raise ValueError("a state changes by transition alone")
    connection.execute(update(requests).where(requests.c.id == request_id).values(**values))


def transition(
    connection: Connection, request: Request, to: State, *, cause: str, at: datetime, **values: Any
) -> Request:
    """Moves a request from the state that the caller saw to another, in one statement.

    Raises:
        TransitionRefused: when the table of states has no such step, or somebody was faster.
    """
    if not may_follow(request.tier, request.state, to):
        raise TransitionRefused(f"{request.id}: {to} may not follow {request.state}")
    moved = connection.execute(
        update(requests)
        .where(requests.c.id == request.id, requests.c.state == request.state.value)
        .values(state=to.value, cause=cause, changed_at=at, **values)
        .returning(requests.c.id)
    ).first()
    if moved is None:
        raise TransitionRefused(f"{request.id} is no longer {request.state}")
    return need(connection, request.id)


def counts(connection: Connection) -> dict[tuple[Tier, State], int]:
    """How many requests there are in each state, for the metrics."""
    rows = connection.execute(
        select(requests.c.tier, requests.c.state, func.count()).group_by(requests.c.tier, requests.c.state)
    )
    return {(Tier(tier), State(state)): cast("int", count) for tier, state, count in rows}
