"""The states of a request and which may follow which: the one table.

The database's check, the diagram in the docs, the bot's transitions and the property tests are all
derived from `TRANSITIONS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Tier(StrEnum):
    """How much harm a tool can do, as its declaration says."""

    READ = "read"
    DESTRUCTIVE = "destructive"


class State(StrEnum):
    """Where a request stands. Final states have no successor; a replanned request has a new id."""

    RECEIVED = "received"
    PLANNING = "planning"
    PENDING = "pending"
    GRANTED = "granted"
    CLAIMED = "claimed"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    NO_CHANGE = "no_change"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    VOID = "void"
    STALE = "stale"


_AFTER_START = frozenset({State.SUCCEEDED, State.FAILED, State.UNKNOWN})

TRANSITIONS: Mapping[Tier, Mapping[State, frozenset[State]]] = MappingProxyType(
    {
        Tier.READ: MappingProxyType(
            {
                State.RECEIVED: frozenset({State.REFUSED, State.CANCELLED, State.RUNNING}),
                State.RUNNING: _AFTER_START,
            }
        ),
        Tier.DESTRUCTIVE: MappingProxyType(
            {
                State.RECEIVED: frozenset({State.REFUSED, State.CANCELLED, State.PLANNING}),
                State.PLANNING: frozenset(
                    {State.NO_CHANGE, State.REFUSED, State.FAILED, State.CANCELLED, State.PENDING}
                ),
                State.PENDING: frozenset(
                    {State.GRANTED, State.DENIED, State.EXPIRED, State.CANCELLED, State.VOID, State.STALE}
                ),
                State.GRANTED: frozenset(
                    {State.CLAIMED, State.DENIED, State.EXPIRED, State.CANCELLED, State.VOID, State.STALE}
                ),
                State.CLAIMED: frozenset(
                    {State.RUNNING, State.REFUSED, State.STALE, State.FAILED, State.UNKNOWN}
                ),
                State.RUNNING: _AFTER_START,
            }
        ),
    }
)


def may_follow(tier: Tier, before: State, after: State) -> bool:
    """Whether a request of this tier may go from `before` to `after`."""
    return after in TRANSITIONS[tier].get(before, frozenset())


def is_final(state: State) -> bool:
    """Whether nothing may follow this state, in either tier."""
    return not any(table.get(state) for table in TRANSITIONS.values())


def diagram(tier: Tier) -> str:
    """The table of one tier as a Mermaid state diagram, for the docs."""
    lines = ["stateDiagram-v2", "    [*] --> received"]
    for before, after in TRANSITIONS[tier].items():
        lines += [f"    {before} --> {state}" for state in State if state in after]
    finals = {state for states in TRANSITIONS[tier].values() for state in states if is_final(state)}
    lines += [f"    {state} --> [*]" for state in State if state in finals]
    return "\n".join(lines) + "\n"
