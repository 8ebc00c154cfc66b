"""Claims: 16 processes race for each of 1,000 grants, and each grant has exactly one winner.

Every process tries every grant, through the same function and the same database file as the bot. Floor,
in the same run: the same number of bare SQLite transactions that take the write lock and change one row.
`python -m benchmarks.claim [--processes N] [--grants N]`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import select

from benchmarks import figures
from benchmarks.figures import Quantity, Row, Unit
from benchmarks.run import Run
from bot import grants, request_store, schema
from bot.audit_log import AuditLog
from bot.clock import SystemClock
from bot.database import Database, DatabaseUnavailable
from bot.github_app import AppIdentity
from bot.identifiers import new_digest, new_request_id
from bot.notifier import Notifier
from bot.parts import Limits, Parts
from bot.pause import Pause
from bot.request_tables import grants as grant_table
from bot.request_tables import locks, requests
from bot.unit_of_work import step
from policy import grant, policy_file, record
from policy.grant import Evidence, Grant
from policy.refusal import Refused
from policy.states import State, Tier
from policy.tools import Policy, Tool

PROCESSES = 16
GRANTS = 1000
REPOSITORY = 4242
TOOL = "terraform_apply"
POLICY = Path(__file__).resolve().parent.parent / "policy" / "policy.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What came of a race.

    Attributes:
        winners: for each grant, how many processes were told that it is theirs.
        fences: the fencing numbers that were given out.
        seconds: from the first try to the last.
    """

    winners: dict[str, int]
    fences: list[int]
    tries: int
    seconds: float

    @property
    def one_winner_each(self) -> bool:
        """Every grant was won once, and no two wins have the same fencing number."""
        alone = all(count == 1 for count in self.winners.values())
        return alone and len(set(self.fences)) == len(self.fences) == len(self.winners)


def measure(run: Run) -> Sequence[Row]:
    """The race, and its floor."""
    run.say(f"{PROCESSES} processes race for {GRANTS} grants ...")
    outcome = race(run.folder(), processes=PROCESSES, grants_made=GRANTS)
    floor = bare(run.folder(), processes=PROCESSES, tries=GRANTS)
    most = max(outcome.winners.values(), default=0)
    return (
        figures.at_most(
            f"claim: winners of one grant, {PROCESSES} x {GRANTS} tries",
            Quantity(value=most, unit=Unit.COUNT),
            1,
            notes=(
                f"each of {GRANTS:,} grants was won exactly once"
                if outcome.one_winner_each
                else "a grant had no winner, or two, or a fencing number was given out twice",
            ),
        ),
        Row(
            what="claim: tries",
            measured=Quantity(value=outcome.tries / outcome.seconds, unit=Unit.PER_SECOND),
            floor=Quantity(value=floor, unit=Unit.PER_SECOND),
            floor_is="bare SQLite transactions by as many processes",
        ),
    )


def race(folder: Path, *, processes: int, grants_made: int) -> Race:
    """Makes grants in a new database and lets every process try every one."""
    parts = _parts(folder)
    parts.database.create()
    parts.audit.open(at=parts.clock.now())
    ids = _grant(parts, grants_made)
    parts.database.close()
    results, seconds = _at_once(_try_all, (folder, ids), processes)
    won = [win for wins in results for win in wins]
    counted = Counter(request_id for request_id, _ in won)
    return Race(
        winners={request_id: counted.get(request_id, 0) for request_id in ids},
        fences=[fence for _, fence in won],
        tries=processes * len(ids),
        seconds=seconds,
    )


def bare(folder: Path, *, processes: int, tries: int) -> float:
    """Transactions a second of SQLite alone, by as many processes."""
    path = folder / "floor.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript("PRAGMA journal_mode=WAL; CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)")
    connection.execute("INSERT INTO t VALUES (1, 0)")
    connection.close()
    _, seconds = _at_once(_bare, (path, tries), processes)
    return processes * tries / seconds


def _at_once(work: Callable[..., Any], arguments: tuple[Any, ...], processes: int) -> tuple[list[Any], float]:
    """Runs the same work in many processes that begin together; returns what each gave, and seconds."""
    # Forked, so that starting costs nothing; nothing that a fork would share is open here.
    context = multiprocessing.get_context("fork")
    with context.Pool(processes, initializer=_enter, initargs=(context.Barrier(processes),)) as pool:
        timed = pool.starmap(_timed, [(work, arguments)] * processes, chunksize=1)
    begun, ended = min(begun for begun, _, _ in timed), max(ended for _, ended, _ in timed)
    return [result for _, _, result in timed], ended - begun


_start: Any = None


def _enter(barrier: Any) -> None:
    global _start
    _start = barrier


def _timed(work: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[float, float, Any]:
    _start.wait()
    begun = time.monotonic()
    result = work(*arguments)
    return begun, time.monotonic(), result


def _try_all(folder: Path, ids: Sequence[str]) -> list[tuple[str, int]]:
    parts = _parts(folder)
    won: list[tuple[str, int]] = []
    for request_id in ids:
        fence = _try_one(parts, request_id)
        if fence is not None:
            won.append((request_id, fence))
    parts.database.close()
    return won


def _try_one(parts: Parts, request_id: str) -> int | None:
    while True:
        try:
            with step(parts) as unit:
                return grants.claim(parts, unit, request_id, runner="racer", digest="d" * 64)[1]
        except DatabaseUnavailable:
            # Too many wait for the one write lock; a runner would try again, too.
            continue
        except Refused:
            return None


def _bare(path: Path, tries: int) -> None:
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    connection.execute("PRAGMA synchronous=FULL")
    for _ in range(tries):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE t SET n = n + 1 WHERE id = 1 RETURNING n").fetchall()
        connection.execute("COMMIT")
    connection.close()


def _parts(folder: Path) -> Parts:
    database = Database(f"sqlite:///{folder / 'bot.db'}")
    # A bot has its tip file for itself; these are as many bots.
    audit = AuditLog(database, folder / f"tip-{os.getpid()}" / "audit-tip.json")
    clock = SystemClock()
    return Parts(
        database=database,
        audit=audit,
        policy=_policy(),
        clock=clock,
        notifier=Notifier(),
        identity=AppIdentity(
            app_id=1,
            slug="ownergate",
            app_user_id=2,
            installation_id=3,
            repository_id=REPOSITORY,
            repository_name="acme/infra",
        ),
        pause=Pause(database, audit, clock),
        reader=_nothing,
        writer=_nothing,
        grant_key=Ed25519PrivateKey.generate(),
        receipt_keys={},
        limits=Limits(),
    )


def _policy() -> Policy:
    return policy_file.load(POLICY.read_bytes())


def _nothing() -> Any:
    raise RuntimeError("a claim's transaction never calls GitHub")


def _grant(parts: Parts, count: int) -> list[str]:
    tool = parts.policy.tool(TOOL)
    ids = [new_request_id() for _ in range(count)]
    with step(parts) as unit:
        unit.connection.execute(
            schema.principals.insert().values(
                id=1,
                name="racer",
                role="agent",
                token_sha256="0" * 64,
                person_id=7,
                login="bob",
                created_at=unit.now,
            )
        )
        for request_id in ids:
            request_store.add(unit.connection, _request(request_id, tool, unit.now))
            claims = _claims(request_id, tool, unit.now)
            unit.connection.execute(
                grant_table.insert().values(
                    id=claims.jti,
                    request_id=request_id,
                    digest=claims.digest,
                    claims=record.to_json(claims),
                    expires_at=unit.now + timedelta(hours=1),
                )
            )
    return ids


def _request(request_id: str, tool: Tool, now: datetime) -> dict[str, Any]:
    return {
        "id": request_id,
        "state": State.GRANTED.value,
        "cause": "approved",
        "tier": Tier.DESTRUCTIVE.value,
        "tool": tool.name,
        "tool_digest": tool.sha256,
        "arguments": {"module": "demo"},
        "reason": "",
        "agent": "racer",
        "principal_id": 1,
        "person_id": 7,
        "login": "bob",
        "same_key": new_digest(),
        "target": tool.target.name,
        "runner_pool": tool.target.runner,
        # A lock of its own, so that only the claim itself decides.
        "lock_key": f"state:demo:{request_id}",
        "owned": ["terraform/demo/"],
        "base_ref": "main",
        "digest": "d" * 64,
        "planned_at": now,
        "created_at": now,
        "changed_at": now,
        "expires_at": now + timedelta(hours=1),
    }


def _claims(request_id: str, tool: Tool, now: datetime) -> Grant:
    seconds = int(now.timestamp())
    return Grant(
        iss=grant.issuer(REPOSITORY),
        aud=grant.AUDIENCE,
        sub=request_id,
        jti=new_digest(),
        iat=seconds,
        nbf=seconds,
        exp=seconds + 3600,
        digest="d" * 64,
        tool=tool.name,
        target=tool.target.name,
        policy_sha256="e" * 64,
        evidence=Evidence(
            channel="pull_request",
            number=1,
            head_sha="a" * 40,
            approvals=(grant.Approval(review_id=1, person_id=8, login="alice", commit="a" * 40, lines=(1,)),),
        ),
    )


def held_locks(folder: Path) -> int:
    """How many locks are held in a race's database."""
    database = Database(f"sqlite:///{folder / 'bot.db'}")
    with database.reading() as connection:
        held = connection.execute(select(locks.c.key).where(locks.c.request_id.is_not(None))).all()
        claimed = connection.execute(
            select(requests.c.id).where(requests.c.state == State.CLAIMED.value)
        ).all()
    database.close()
    if len(held) != len(claimed):
        raise RuntimeError("a claim has no lock")
    return len(held)


def main() -> int:
    """Races and prints; 0 when every grant had one winner."""
    parser = argparse.ArgumentParser(prog="benchmarks.claim")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--grants", type=int, default=GRANTS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        outcome = race(Path(one), processes=chosen.processes, grants_made=chosen.grants)
        floor = bare(Path(two), processes=chosen.processes, tries=chosen.grants)
    print(f"{outcome.tries} tries by {chosen.processes} processes in {outcome.seconds:.1f} s")
    print(f"tries a second {outcome.tries / outcome.seconds:.0f}, bare transactions {floor:.0f}")
    print(f"winners: {sorted(Counter(outcome.winners.values()).items())}, {len(set(outcome.fences))} fences")
    return 0 if outcome.one_winner_each else 1


if __name__ == "__main__":
    sys.exit(main())
