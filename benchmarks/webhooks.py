"""Webhooks: signed deliveries a second that are on the disk when they are acknowledged.

Floors, in the same run: the same web server answering 202 without doing anything, and single commits of
SQLite with `synchronous=FULL`. Then a burst of 1,000 at once, of which none may be refused or lost.
`python -m benchmarks.webhooks [--seconds N]`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hmac
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import figures, webhook_server
from benchmarks.figures import Quantity, Row, Unit
from benchmarks.run import Run

CLIENTS = 16
TARGET = 1000
BURST = 1000
SECONDS = 3.0
BODY_BYTES = 20_000
"""About the size of GitHub's `pull_request_review` payload."""


def body(number: int = 1) -> bytes:
    """A payload of GitHub's form and size."""
    urls = {f"field_{i}_url": f"https://api.github.com/repos/acme/infra/things/{i}{{/id}}" for i in range(60)}
    payload = {
        "action": "submitted",
        "review": {"id": 1, "state": "approved", "commit_id": "a" * 40},
        "pull_request": {"number": number, "title": "x", **urls},
        "repository": {"id": webhook_server.REPOSITORY_ID, "full_name": "acme/infra", **urls},
        "installation": {"id": webhook_server.INSTALLATION_ID},
        "sender": {"id": 7, "login": "alice", **urls},
    }
    lacking = BODY_BYTES - len(json.dumps(payload))
    return json.dumps({**payload, "filler": "x" * max(0, lacking - 14)}).encode()


def message(payload: bytes, delivery_id: str) -> bytes:
    """One signed delivery as the bytes of an HTTP request."""
    signature = hmac.digest(webhook_server.SECRET, payload, "sha256").hex()
    head = (
        "POST /webhooks/github HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: GitHub-Hookshot/0000000\r\n"
        "Content-Type: application/json\r\nX-GitHub-Event: pull_request_review\r\n"
        f"X-GitHub-Delivery: {delivery_id}\r\nX-Hub-Signature-256: sha256={signature}\r\n"
        f"Content-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


@contextlib.contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The server in a process of its own; yields its port."""
    command = [sys.executable, "-m", "benchmarks.webhook_server", str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise RuntimeError("the server has no output")
            yield int(process.stdout.readline()), process
        finally:
            process.kill()


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to the server, closed at the end whatever has become of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def deliver(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> int:
    """Sends one delivery and returns the answer's status."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    await reader.readexactly(int(length.partition(b":")[2]))
    return int(head[9:12])


async def steady(port: int, seconds: float) -> float:
    """Deliveries a second over `CLIENTS` connections, each sending its next one when it was answered."""
    payload = body()
    ids = [str(uuid.uuid4()) for _ in range(1000)]
    template = message(payload, "@")
    before, after = template.split(b"@")
    done = 0
    until = time.perf_counter() + seconds

    async def client(number: int) -> None:
        nonlocal done
        count = 0
        async with connected(port) as (reader, writer):
            while time.perf_counter() < until:
                count += 1
                delivery_id = f"{number:08x}{ids[count % 1000][8:24]}{count:012x}"
                status = await deliver(reader, writer, before + delivery_id.encode() + after)
                if status != 202:
                    raise RuntimeError(f"a delivery was answered {status}")
                done += 1

    started = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return done / (time.perf_counter() - started)


async def burst(port: int, count: int) -> tuple[float, int]:
    """Sends `count` deliveries at once, each over a connection of its own.

    Returns:
        Seconds until the last answer, and how many were answered 202.
    """
    payload = body()
    requests = [message(payload, str(uuid.uuid4())) for _ in range(count)]

    async def one(request: bytes) -> int:
        async with connected(port) as (reader, writer):
            return await deliver(reader, writer, request)

    started = time.perf_counter()
    statuses = await asyncio.gather(*(one(request) for request in requests), return_exceptions=True)
    return time.perf_counter() - started, statuses.count(202)


def single_commits(folder: Path, seconds: float) -> float:
    """Commits a second of one row each, `synchronous=FULL`."""
    connection = sqlite3.connect(folder / "floor.db", isolation_level=None)
    connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (b BLOB)")
    payload, done, until = body(), 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        connection.execute("INSERT INTO t VALUES (?)", (payload,))
        done += 1
    connection.close()
    return done / seconds


def effects(folder: Path) -> tuple[int, int]:
    """How many deliveries are stored, and how many were handled."""
    with contextlib.closing(sqlite3.connect(folder / "bot.db")) as connection:
        stored = connection.execute("SELECT count(*) FROM inbox").fetchone()[0]
        handled = connection.execute("SELECT count(DISTINCT delivery_id) FROM effects").fetchone()[0]
    return stored, handled


def settle(folder: Path, wanted: int, *, seconds: float) -> int:
    """Waits until everything is handled; returns how many were."""
    until = time.monotonic() + seconds
    while effects(folder)[1] < wanted and time.monotonic() < until:
        time.sleep(0.1)
    return effects(folder)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one measurement found; rates are deliveries or commits a second."""

    commits: float
    bare: float
    rate: float
    burst_seconds: float
    accepted: int
    handled: int


def find(folder: Path, *, seconds: float) -> Found:
    """Measures both floors, the steady rate (`seconds` each) and the burst, in an empty folder."""
    commits = single_commits(folder, seconds / 2)
    with served(folder, "--floor") as (port, _):
        asyncio.run(steady(port, 0.5))
        bare = asyncio.run(steady(port, seconds))
    (folder / "steady").mkdir()
    with served(folder / "steady") as (port, _):
        rate = asyncio.run(steady(port, seconds))
    (folder / "burst").mkdir()
    with served(folder / "burst") as (port, _):
        took, accepted = asyncio.run(burst(port, BURST))
        handled = settle(folder / "burst", BURST, seconds=30)
    return Found(
        commits=commits, bare=bare, rate=rate, burst_seconds=took, accepted=accepted, handled=handled
    )


def measure(run: Run) -> Sequence[Row]:
    """The steady rate against the bare web server's, and the burst."""
    run.say(f"{CLIENTS} clients, {SECONDS:.0f} seconds each for the floor and the bot; then a burst ...")
    found = find(run.folder(), seconds=SECONDS)
    per_commit = found.rate / found.commits
    return (
        figures.at_least(
            "webhooks acknowledged durably",
            Quantity(value=found.rate, unit=Unit.PER_SECOND, spread=f"{CLIENTS} clients, {BODY_BYTES} bytes"),
            TARGET,
            floor=Quantity(value=found.bare, unit=Unit.PER_SECOND),
            floor_is="the same web server answering 202 and doing nothing",
            notes=(f"{found.commits:,.0f} durable commits /s by SQLite alone; {per_commit:.2f} x that",),
        ),
        figures.at_least(
            f"burst of {BURST:,}: answered and handled",
            Quantity(value=min(found.accepted, found.handled), unit=Unit.COUNT),
            BURST,
            notes=(
                f"{found.accepted} answered 202 within {found.burst_seconds:.2f} s, {found.handled} handled",
            ),
        ),
    )


def main() -> int:
    """Measures and prints; 0 when the targets are met."""
    parser = argparse.ArgumentParser(prog="benchmarks.webhooks")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as name:
        found = find(Path(name), seconds=seconds)
    print(f"floor: web server answering 202   {found.bare:8.0f} /s")
    print(f"floor: single durable commits     {found.commits:8.0f} /s")
    print(f"webhooks acknowledged durably     {found.rate:8.0f} /s   target {TARGET} /s")
    print(f"  ratio to the bare web server    {found.rate / found.bare:8.2f}")
    print(f"  ratio to single commits         {found.rate / found.commits:8.2f}")
    took = f"{found.accepted} accepted in {found.burst_seconds:.2f} s"
    print(f"burst of {BURST} at once: {took}, {found.handled} handled")
    return 0 if found.rate >= TARGET and found.accepted == found.handled == BURST else 1


if __name__ == "__main__":
    sys.exit(main())
