"""Stale requests and their successors: what was planned on a state that has changed is planned anew.

A successor is a new request with the same call and the same people behind it, linked both ways.
Approvals never carry over: people approve what the new plan shows.
"""

from __future__ import annotations

from bot import endings, locks, outbox, participants, request_store, wording
from bot.identifiers import new_request_id
from bot.outbox import Effect
from bot.parts import Parts
from bot.request_store import Request
from bot.unit_of_work import UnitOfWork, request_topic
from policy.audit import Kind
from policy.refusal import Code, refuse
from policy.states import State

REPLANNABLE = frozenset({State.PENDING, State.GRANTED, State.DENIED, State.EXPIRED, State.VOID, State.STALE})
"""States from which a request may be planned anew: nothing of it has run, and somebody still wants it."""


def others(parts: Parts, unit: UnitOfWork, request: Request) -> None:
    """Ends every other request whose plan was made on what this one changed, and plans it anew."""
    whole = locks.whole_target(request.target)
    for other in request_store.undecided_on(unit.connection, request.target, other_than=request.id):
        tool = parts.policy.tools.get(other.tool)
        planned = tool is not None and tool.preview is not None
        if planned and (other.lock_key == request.lock_key or request.lock_key == whole):
            endings.end(unit, other, State.STALE, cause=wording.STALE)
            succeed(unit, other.id)


def replan_if_stale(_parts: Parts, unit: UnitOfWork, request_id: str) -> None:
    """Plans a request anew that has just become stale."""
    request = request_store.need(unit.connection, request_id)
    if request.state is State.STALE and request.successor_id is None:
        succeed(unit, request_id)


def replan(unit: UnitOfWork, request_id: str) -> str:
    """Plans a request anew because somebody asked for it; returns the successor's id.

    Raises:
        Refused: `request_over` for a request that ran, runs, or was planned anew already.
    """
    request = request_store.need(unit.connection, request_id)
    if request.successor_id is not None or request.state not in REPLANNABLE:
        why = "it was planned anew already" if request.successor_id else f"it is {request.state.value}"
        raise refuse(
            Code.REQUEST_OVER,
            f"a replan of {request_id}: {why}",
            rule="Only a request of which nothing ran can be planned anew, once.",
            remedy="Ask for the change anew.",
        )
    if not request.final:
        endings.end(unit, request, State.STALE, cause=wording.REPLANNED)
    return succeed(unit, request_id)


def succeed(unit: UnitOfWork, request_id: str) -> str:
    """Makes the successor of an ended request, or finds the open request that asks for the same."""
    request = request_store.need(unit.connection, request_id)
    found = request_store.same_open(unit.connection, request.same_key)
    successor_id = found.id if found else _copy(unit, request)
    request_store.note(unit.connection, request_id, successor_id=successor_id)
    if request.pull_request is not None:
        outbox.enqueue(unit, request_id, Effect.STATUS)
    unit.wake(request_topic(request_id))
    return successor_id


def _copy(unit: UnitOfWork, request: Request) -> str:
    successor_id = new_request_id()
    request_store.add(
        unit.connection,
        {
            "id": successor_id,
            "state": State.RECEIVED.value,
            "cause": wording.READING_SOURCE,
            "tier": request.tier.value,
            "tool": request.tool,
            "tool_digest": request.tool_digest,
            "arguments": request.arguments,
            "source": request.source,
            "branch_sha": request.branch_sha,
            "expect": request.expect,
            "reason": request.reason,
            "agent": request.agent,
            "principal_id": request.principal_id,
            "person_id": request.person_id,
            "login": request.login,
            "same_key": request.same_key,
            "target": request.target,
            "runner_pool": request.runner_pool,
            "lock_key": request.lock_key,
            "owned": request.owned,
            "base_ref": request.base_ref,
            "predecessor_id": request.id,
            "created_at": unit.now,
            "changed_at": unit.now,
        },
    )
    for person in participants.asked_by(unit.connection, request.id):
        participants.join(
            unit.connection,
            successor_id,
            person.principal_id,
            person.person_id,
            person.login,
            person.agent,
            first=False,
            at=unit.now,
        )
    data = {"tool": request.tool, "replaces": request.id, "person": request.login}
    unit.append(Kind.TOOL_REQUEST, successor_id, {**data, "person_id": request.person_id})
    outbox.enqueue(unit, successor_id, Effect.ADMIT)
    return successor_id
