"""What a runner may report about a job, in which order, and what its end makes of the request. Pure.

A runner is believed about what it did, never about what it may do: an event that its job's kind or
the request's state has no place for is refused, and an outcome maps to a state by one table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from policy.audit import Kind
from policy.runner_protocol import JobKind, JobOutcome
from policy.states import State, Tier

_SANDBOX = frozenset(
    {
        Kind.CREDENTIAL_REQUESTED,
        Kind.CREDENTIAL_ISSUED,
        Kind.CREDENTIAL_REVOKED,
        Kind.SANDBOX_STARTED,
        Kind.SANDBOX_COMPLETED,
    }
)

_ALLOWED: Mapping[JobKind, frozenset[Kind]] = MappingProxyType(
    {
        JobKind.READ: _SANDBOX | {Kind.RUNNER_REFUSED},
        JobKind.PLAN: _SANDBOX | {Kind.RUNNER_REFUSED, Kind.PLAN_STARTED},
        JobKind.EXECUTE: _SANDBOX | {Kind.RUNNER_REFUSED, Kind.GRANT_SPENT, Kind.STATE_RESCUED},
    }
)

_AFTER: Mapping[Kind, Kind] = MappingProxyType(
    {
        Kind.CREDENTIAL_ISSUED: Kind.CREDENTIAL_REQUESTED,
        Kind.CREDENTIAL_REVOKED: Kind.CREDENTIAL_REQUESTED,
        Kind.SANDBOX_COMPLETED: Kind.SANDBOX_STARTED,
        Kind.STATE_RESCUED: Kind.SANDBOX_STARTED,
    }
)
"""What must have been reported before; a second sandbox or lease must be begun before it ends, too."""

_PAIRED = frozenset({Kind.CREDENTIAL_ISSUED, Kind.SANDBOX_COMPLETED})

_AFTER_SPENDING = _SANDBOX | {Kind.STATE_RESCUED}
"""In an execution nothing of this may happen before the grant is spent."""


def misplaced(kind: JobKind, state: State, seen: Sequence[Kind], event: Kind) -> str | None:
    """Why an event has no place here, as half a sentence; None when it has.

    Args:
        kind: the job's kind.
        state: the request's state now.
        seen: what the job reported before, in order.
        event: what it reports now.
    """
    if event not in _ALLOWED[kind]:
        return f"a {kind.value} job never reports it"
    if kind is JobKind.EXECUTE:
        fault = _misplaced_in_execution(state, seen, event)
        if fault is not None:
            return fault
    before = _AFTER.get(event)
    if before is not None and before not in seen:
        return f"{before.value} was not reported before it"
    if event in _PAIRED and before is not None and seen.count(event) >= seen.count(before):
        return f"every {before.value} has its {event.value} already"
    return None


def _misplaced_in_execution(state: State, seen: Sequence[Kind], event: Kind) -> str | None:
    if event is Kind.RUNNER_REFUSED:
        return None
    # A runner that was taken for lost may still tell what it did.
    if state not in (State.CLAIMED, State.RUNNING, State.UNKNOWN):
        return f"the request is {state.value}, not claimed"
    if event is Kind.GRANT_SPENT and Kind.GRANT_SPENT in seen:
        return "the grant was spent already"
    if event in _AFTER_SPENDING and Kind.GRANT_SPENT not in seen:
        return "the grant was not spent before it"
    return None


def starts_running(tier: Tier, kind: JobKind, state: State, event: Kind) -> bool:
    """Whether this event makes the request `running`: the tool itself starts in its sandbox."""
    if event is not Kind.SANDBOX_STARTED:
        return False
    if kind is JobKind.READ:
        return tier is Tier.READ and state is State.RECEIVED
    return kind is JobKind.EXECUTE and state is State.CLAIMED


_READ_ENDS: Mapping[State, Mapping[JobOutcome, State]] = MappingProxyType(
    {
        State.RECEIVED: MappingProxyType(
            {
                JobOutcome.REFUSED: State.REFUSED,
                JobOutcome.FAILED: State.REFUSED,
                JobOutcome.UNKNOWN: State.REFUSED,
            }
        ),
        State.RUNNING: MappingProxyType(
            {
                JobOutcome.SUCCEEDED: State.SUCCEEDED,
                JobOutcome.REFUSED: State.FAILED,
                JobOutcome.FAILED: State.FAILED,
                JobOutcome.UNKNOWN: State.UNKNOWN,
            }
        ),
    }
)

_EXECUTION_ENDS: Mapping[State, Mapping[JobOutcome, State]] = MappingProxyType(
    {
        State.GRANTED: MappingProxyType(
            {
                JobOutcome.REFUSED: State.VOID,
                JobOutcome.STALE: State.STALE,
            }
        ),
        State.CLAIMED: MappingProxyType(
            {
                JobOutcome.REFUSED: State.REFUSED,
                JobOutcome.STALE: State.STALE,
                JobOutcome.FAILED: State.FAILED,
                JobOutcome.UNKNOWN: State.UNKNOWN,
            }
        ),
        State.RUNNING: MappingProxyType(
            {
                JobOutcome.SUCCEEDED: State.SUCCEEDED,
                JobOutcome.REFUSED: State.FAILED,
                JobOutcome.STALE: State.FAILED,
                JobOutcome.FAILED: State.FAILED,
                JobOutcome.UNKNOWN: State.UNKNOWN,
            }
        ),
    }
)


def end_of(kind: JobKind, state: State, outcome: JobOutcome) -> State | None:
    """The state that a read or an execution ends in; None when that outcome has no place here.

    A failure before the claim ends nothing (the job waits and is handed out again), and planning has
    its own ends in `bot.planning`.
    """
    tables = {JobKind.READ: _READ_ENDS, JobKind.EXECUTE: _EXECUTION_ENDS}
    return tables.get(kind, {}).get(state, {}).get(outcome)
