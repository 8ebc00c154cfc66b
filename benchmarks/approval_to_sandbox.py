"""An approval: from its webhook to the sandbox in which the plan runs.

Each round is a whole `terraform_apply`: request, plan, pull request, approval, execution, merge. The clock
starts when the bot takes GitHub's webhook (`inbox.received_at`, in microseconds) and ends when
`sandbox.started` of the execution stands in the bot's audit chain, which is read in its database every
few milliseconds: it starts late and ends late, never the other way round. The simulator adds no latency.
The floor is a bare `runsc` of the same image up to its tool's first output.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks import bare_runsc, figures
from benchmarks.bare_runsc import BareRunsc
from benchmarks.figures import Row, Series
from benchmarks.run import CannotMeasure, Run
from demo import company
from demo.agent import Agent, connected
from demo.people import Person, wait_for
from demo.stage import Stage

ROUNDS = 20
LIMIT_MILLISECONDS = 1000.0
_LOOK_SECONDS = 0.004
_START_SECONDS = 60.0
_FINAL = {"succeeded", "failed", "refused", "unknown", "void", "stale"}
_STEPS = ("approval.given", "grant.issued", "grant.claimed", "grant.spent", "credential.issued")
"""Events on the way whose times are told, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: milliseconds from the webhook (`posted`: from the review) to what came then."""

    started: float
    posted: float
    steps: dict[str, float]


def measure(run: Run) -> Sequence[Row]:
    """The 95th percentile against one second."""
    stage = run.stage()
    run.say(f"{ROUNDS} whole applies, one after the other; each takes some seconds ...")
    with bare_runsc.of_tool(stage, "sandbox_report") as bare:
        rounds, floor = asyncio.run(_rounds(run, stage, bare))
    series = Series(tuple(each.started for each in rounds))
    posted = Series(tuple(each.posted for each in rounds))
    steps = ", ".join(
        f"{name} {statistics.median(each.steps[name] for each in rounds):.0f}"
        for name in _STEPS
        if all(name in each.steps for each in rounds)
    )
    row = figures.at_most(
        "approval webhook to sandbox start, p95",
        figures.milliseconds(series, series.percentile(95)),
        LIMIT_MILLISECONDS,
        floor=figures.milliseconds(floor),
        floor_is="bare `runsc run` up to its tool's first output, p50",
        notes=(
            f"p50 {series.median:.0f} ms",
            f"from the review's POST: p95 {posted.percentile(95):.0f} ms, p50 {posted.median:.0f} ms",
            f"median ms after the webhook: {steps}, sandbox.started {series.median:.0f}",
        ),
    )
    return (row,)


async def _rounds(run: Run, stage: Stage, bare: BareRunsc) -> tuple[list[Round], Series]:
    rounds: list[Round] = []
    floor: list[float] = []
    with contextlib.ExitStack() as closing:
        database = closing.enter_context(contextlib.closing(_database(stage)))
        alice = closing.enter_context(contextlib.closing(_person(stage, "alice")))
        async with connected(stage.bot_url, stage.agent_token_file) as agent:
            # The first one warms connections and caches, as a bot that has run for a while has them.
            await _round(stage, agent, alice, database, 0)
            for number in range(1, ROUNDS + 1):
                floor.append(await asyncio.to_thread(bare.start))
                rounds.append(await _round(stage, agent, alice, database, number))
                run.say(f"round {number} of {ROUNDS}: {rounds[-1].started:.0f} ms")
    return rounds, Series(tuple(floor))


async def _round(
    stage: Stage, agent: Agent, alice: Person, database: sqlite3.Connection, number: int
) -> Round:
    text = await asyncio.to_thread(alice.file, company.SOURCE_FILE, "main")
    other = re.sub(r'team = "[^"]*"', f'team = "bench-{number}"', text)
    answer = await agent.call(
        "terraform_apply",
        module=company.MODULE,
        reason="A benchmark.",
        source={"files": {company.SOURCE_FILE: other}},
    )
    if answer.data.get("state") != "pending":
        raise CannotMeasure(f"A request did not become pending: {answer.text}")
    request, pull_number = str(answer.data["id"]), int(str(answer.data["link"]).rsplit("/", 1)[1])
    head = (await asyncio.to_thread(alice.pull_request, pull_number))["head"]["sha"]
    newest = _newest(database)
    posted = time.time()
    approving = asyncio.create_task(asyncio.to_thread(alice.approve, pull_number, head))
    seen = await _seen(database, request, newest)
    await approving
    webhook = _webhook_at(database, posted)
    ended = await agent.wait(request, _FINAL)
    if ended.data["state"] != "succeeded":
        raise CannotMeasure(f"An apply ended otherwise than expected: {ended.text}")
    await asyncio.to_thread(
        wait_for, lambda: alice.pull_request(pull_number)["merged"], "the merge", seconds=30
    )
    return Round(
        started=(seen["sandbox.started"] - webhook) * 1000,
        posted=(seen["sandbox.started"] - posted) * 1000,
        steps={kind: (at - webhook) * 1000 for kind, at in seen.items()},
    )


async def _seen(database: sqlite3.Connection, request: str, after: int) -> dict[str, float]:
    """When each kind of event of a request was first seen in the chain, up to `sandbox.started`."""
    seen: dict[str, float] = {}
    until = time.monotonic() + _START_SECONDS
    query = "SELECT sequence, kind FROM events WHERE request_id = ? AND sequence > ? ORDER BY sequence"
    while time.monotonic() < until:
        rows = database.execute(query, (request, after)).fetchall()
        now = time.time()
        for sequence, kind in rows:
            after = sequence
            seen.setdefault(kind, now)
        if "sandbox.started" in seen:
            return seen
        await asyncio.sleep(_LOOK_SECONDS)
    raise CannotMeasure(f"No sandbox started within {_START_SECONDS:.0f} seconds of an approval.")


def _webhook_at(database: sqlite3.Connection, posted: float) -> float:
    """When the bot took the first delivery of a review after that moment, in seconds of the epoch."""
    rows = database.execute(
        "SELECT received_at FROM inbox WHERE event = 'pull_request_review' ORDER BY sequence DESC LIMIT 20"
    ).fetchall()
    moments = [datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() for (text,) in rows]
    found = [moment for moment in moments if moment >= posted]
    if not found:
        raise CannotMeasure("The webhook of a review never reached the bot; it was found by polling.")
    return min(found)


def _newest(database: sqlite3.Connection) -> int:
    (sequence,) = database.execute("SELECT max(sequence) FROM events").fetchone()
    return int(sequence or 0)


def _database(stage: Stage) -> sqlite3.Connection:
    path = stage.path / "bot" / "data" / "bot.db"
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)


def _person(stage: Stage, login: str) -> Person:
    return Person(stage.github_url, login, stage.tokens[login], stage.repository)
