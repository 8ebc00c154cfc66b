"""Leases that a crash left behind: revoked when their sandbox is gone, never before.

Run at the runner's start and on a schedule. The journal is read first and the living calls are asked
for afterwards, so that a call that begins in between is not taken for one that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from policy.refusal import Code, Refused
from runner.lease import openbao
from runner.lease.journal import Entry, LeaseJournal
from runner.lease.openbao import OpenBaoLeases

_POWERLESS_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A lease that stays in the journal, and why, in words."""

    entry: Entry
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep did: leases that are now seen dead, and those that stay."""

    ended: tuple[Entry, ...]
    kept: tuple[Kept, ...]


def sweep(
    leases: OpenBaoLeases, journal: LeaseJournal, *, alive: Callable[[], Collection[str]], now: datetime
) -> Swept:
    """Ends what the journal holds and nobody uses.

    Args:
        leases: the broker.
        journal: its journal.
        alive: ids of calls that still run; asked once, after the journal was read.
        now: the present, aware.

    Raises:
        Refused: when the journal or the living calls can't be read; then nothing was revoked.
    """
    entries = journal.entries()
    if not entries:
        return Swept(ended=(), kept=())
    living = frozenset(alive())
    ended: list[Entry] = []
    kept: list[Kept] = []
    for entry in entries:
        if entry.call_id in living:
            kept.append(Kept(entry=entry, why="its sandbox still runs"))
        elif leases.in_use(entry):
            kept.append(Kept(entry=entry, why="this runner is using it"))
        else:
            try:
                _end(leases, journal, entry, now)
                ended.append(entry)
            except Refused as refused:
                kept.append(Kept(entry=entry, why=refused.refusal.what))
    return Swept(ended=tuple(ended), kept=tuple(kept))


def _end(leases: OpenBaoLeases, journal: LeaseJournal, entry: Entry, now: datetime) -> None:
    if openbao.is_over(entry, now):
        journal.forget(entry)
    elif entry.lease_id is not None:
        leases.revoke(entry.lease_id)
        leases.powerless(entry.lease_id, timeout_seconds=_POWERLESS_SECONDS)
    else:
        try:
            leases.end_login_of(entry)
        except Refused as refused:
            # OpenBao says so of a login that is gone already, and its leases went with it.
            if (
                refused.refusal.code is not Code.VAULT_REFUSED
                or "invalid accessor" not in refused.refusal.what
            ):
                raise
        journal.forget(entry)
