"""`kill -9` in the middle of a storm of webhooks: what was acknowledged is handled, exactly once."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import uuid
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import webhooks

CLIENTS = 16


class Storm:
    """Clients that send until the server is gone, and remember what was acknowledged."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.sent: set[str] = set()
        self.acknowledged: set[str] = set()

    async def rage(self, *, until_acknowledged: int, kill: asyncio.Event) -> None:
        """Sends over all connections; sets `kill` when so many were acknowledged."""

        async def client() -> None:
            async with webhooks.connected(self._port) as (reader, writer):
                while True:
                    delivery_id = str(uuid.uuid4())
                    self.sent.add(delivery_id)
                    request = webhooks.message(webhooks.body(), delivery_id)
                    if await webhooks.deliver(reader, writer, request) == 202:
                        self.acknowledged.add(delivery_id)
                    if len(self.acknowledged) >= until_acknowledged:
                        kill.set()

        async def client_until_the_end() -> None:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await client()

        await asyncio.gather(*(client_until_the_end() for _ in range(CLIENTS)))


def storm(folder: Path, *, until_acknowledged: int) -> Storm:
    """One life of the server, ended by SIGKILL in the middle."""
    with webhooks.served(folder) as (port, process):
        raging = Storm(port)

        async def rage_and_kill() -> None:
            kill = asyncio.Event()
            clients = asyncio.create_task(raging.rage(until_acknowledged=until_acknowledged, kill=kill))
            await kill.wait()
            process.kill()
            await clients

        asyncio.run(rage_and_kill())
    return raging


def effects(folder: Path) -> Counter[str]:
    with contextlib.closing(sqlite3.connect(folder / "bot.db")) as connection:
        return Counter(row[0] for row in connection.execute("SELECT delivery_id FROM effects"))


@pytest.mark.timeout(300)
def test_every_acknowledged_delivery_is_handled_exactly_once(tmp_path: Path) -> None:
    storms = [storm(tmp_path, until_acknowledged=count) for count in (100, 1)]
    acknowledged = set().union(*(each.acknowledged for each in storms))
    sent = set().union(*(each.sent for each in storms))
    assert len(acknowledged) >= 101
    with webhooks.served(tmp_path):
        stored = webhooks.effects(tmp_path)[0]
        webhooks.settle(tmp_path, stored, seconds=120)
    done = effects(tmp_path)
    assert acknowledged <= set(done)
    assert set(done) <= sent
    assert set(done.values()) == {1}
    assert len(done) == stored


@pytest.mark.timeout(300)
def test_what_was_stored_but_not_acknowledged_is_a_duplicate_when_it_comes_again(tmp_path: Path) -> None:
    raging = storm(tmp_path, until_acknowledged=30)
    unanswered = sorted(raging.sent - raging.acknowledged)
    with webhooks.served(tmp_path) as (port, _):
        again = asyncio.run(_send(port, [*unanswered, *sorted(raging.acknowledged)]))
        webhooks.settle(tmp_path, len(raging.sent), seconds=120)
    assert again == [202] * len(raging.sent)
    assert effects(tmp_path) == Counter(dict.fromkeys(raging.sent, 1))


@pytest.mark.timeout(300)
def test_a_burst_of_a_thousand_at_once_refuses_and_loses_none(tmp_path: Path) -> None:
    with webhooks.served(tmp_path) as (port, _):
        _, accepted = asyncio.run(webhooks.burst(port, 1000))
        assert accepted == 1000
        assert webhooks.settle(tmp_path, 1000, seconds=120) == 1000
    assert set(effects(tmp_path).values()) == {1}


async def _send(port: int, delivery_ids: list[str]) -> list[int]:
    body = webhooks.body()
    async with webhooks.connected(port) as (reader, writer):
        return [
            await webhooks.deliver(reader, writer, webhooks.message(body, delivery_id))
            for delivery_id in delivery_ids
        ]
