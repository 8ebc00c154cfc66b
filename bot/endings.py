"""How a request ends without having run: one function, so that no ending forgets a part of it."""

from __future__ import annotations

from typing import Any

from bot import jobs, outbox, request_store
from bot.outbox import Effect
from bot.request_store import Request
from bot.unit_of_work import UnitOfWork, request_topic
from policy.audit import Kind
from policy.refusal import Refusal
from policy.states import State


def end(
    unit: UnitOfWork,
    request: Request,
    state: State,
    *,
    cause: str,
    refusal: Refusal | None = None,
    **values: Any,
) -> Request:
    """Ends a request: state, audit event, its jobs, its pull request, and whoever waits for it.

    Raises:
        TransitionRefused: when somebody was faster.
    """
    if refusal is not None:
        values["refusal"] = refusal.as_json()
    ended = request_store.transition(unit.connection, request, state, cause=cause, at=unit.now, **values)
    data = {"state": state.value, "cause": cause, "code": refusal.code.value if refusal else None}
    unit.append(Kind.REQUEST_ENDED, request.id, dict(data))
    jobs.cancel(unit, request.id)
    close(unit, ended)
    unit.wake(request_topic(request.id))
    return ended


def close(unit: UnitOfWork, request: Request) -> None:
    """Leaves the notes that end a request's pull request, if there is one or may soon be one."""
    if request.pull_request is None:
        # One that is being opened right now is closed by the effect itself, which looks at the state.
        outbox.withdraw(unit, request.id, Effect.PUBLISH)
        return
    outbox.enqueue(unit, request.id, Effect.CHECK, Effect.STATUS, Effect.CLOSE, Effect.DELETE_BRANCH)
