"""What people and agents may end: an agent its own request, an administrator a lock that stayed."""

from __future__ import annotations

from sqlalchemy import Connection, update

from bot import endings, locks, outbox, participants, request_store, wording
from bot.outbox import Effect
from bot.request_store import Request
from bot.request_tables import jobs
from bot.tokens import Principal
from bot.unit_of_work import UnitOfWork, request_topic
from policy.refusal import Code, Refused, refuse
from policy.states import State, Tier

CANCELLABLE = frozenset({State.RECEIVED, State.PLANNING, State.PENDING, State.GRANTED})


def known(connection: Connection, request_id: str) -> Request:
    """The request with that id.

    Raises:
        Refused: `not_found`.
    """
    request = request_store.get(connection, request_id)
    if request is None:
        raise _unknown(request_id)
    return request


def own_request(connection: Connection, principal: Principal, request_id: str) -> Request:
    """A request that this caller asked for or joined.

    Raises:
        Refused: `not_found`, for a request of others as for none: ids tell nothing.
    """
    request = known(connection, request_id)
    people = participants.asked_by(connection, request_id)
    if principal.id not in {person.principal_id for person in people}:
        raise _unknown(request_id)
    return request


def cancel(unit: UnitOfWork, principal: Principal, request_id: str) -> None:
    """Ends a request before it is carried out; asks a running read to stop.

    Raises:
        Refused: `not_found` or `request_over`.
    """
    request = own_request(unit.connection, principal, request_id)
    if request.state is State.CANCELLED:
        return
    if request.principal_id != principal.id:
        raise _over(request, "it was asked for by another agent first, and this one joined it")
    if request.state in CANCELLABLE:
        endings.end(unit, request, State.CANCELLED, cause=wording.CANCELLED)
    elif request.state is State.RUNNING and request.tier is Tier.READ:
        unit.connection.execute(update(jobs).where(jobs.c.request_id == request.id).values(cancelled=True))
    else:
        raise _over(request, f"it is {request.state.value}")


def unlock(unit: UnitOfWork, request_id: str) -> bool:
    """Frees the lock of an ended request.

    Raises:
        Refused: `not_found`, or `request_over` while the request is being carried out.
    """
    request = known(unit.connection, request_id)
    if not request.final:
        raise _over(request, f"it is {request.state.value} and needs its lock")
    freed = locks.free(unit, request)
    if freed and request.pull_request is not None:
        outbox.enqueue(unit, request.id, Effect.STATUS)
    unit.wake(request_topic(request.id))
    return freed


def _unknown(request_id: str) -> Refused:
    return refuse(
        Code.NOT_FOUND,
        f"the request {request_id[:40]!a}",
        rule="An agent sees its own requests.",
        remedy="Call list_requests to see their ids.",
    )


def _over(request: Request, why: str) -> Refused:
    return refuse(
        Code.REQUEST_OVER,
        f"the request {request.id}: {why}",
        rule="Only a request that nobody carries out yet can be taken back, by the agent that asked first.",
        remedy="Call check_request to see how it stands.",
    )
