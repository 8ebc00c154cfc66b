"""The inbox: shared commits, one row a delivery, and an answer for everyone who waits."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from bot.database import DatabaseUnavailable
from bot.delivery import Acceptance, ReceivedDelivery
from bot.inbox import Inbox
from bot.inbox_worker import InboxWorker
from tests.unit.bot.ground import NOW, Ground, full_disk, store


def received(number: int, *, body: bytes = b"{}", ignored: str | None = None) -> ReceivedDelivery:
    return ReceivedDelivery(
        id=f"{number:08d}-0000-0000-0000-000000000000",
        event="push",
        body=body,
        subject=None,
        received_at=NOW,
        ignored_because=ignored,
    )


async def accept_all(inbox: Inbox, deliveries: list[ReceivedDelivery]) -> list[Acceptance]:
    return list(await asyncio.gather(*(inbox.accept(delivery) for delivery in deliveries)))


def test_what_waits_together_is_committed_together(ground: Ground) -> None:
    inbox = ground.wiring.inbox
    commits = 0

    def count() -> None:
        nonlocal commits
        commits += 1

    original = ground.database.transaction

    async def burst() -> list[Acceptance]:
        waiting = [asyncio.ensure_future(inbox.accept(received(number))) for number in range(200)]
        await asyncio.sleep(0)
        inbox.start()
        return list(await asyncio.gather(*waiting))

    def counted():  # type: ignore[no-untyped-def]  # Stands in for a method that is a context manager.
        count()
        return original()

    ground.database.transaction = counted  # type: ignore[method-assign]
    assert asyncio.run(burst()) == [Acceptance.STORED] * 200
    assert commits == 1
    assert len(ground.inbox_rows()) == 200


def test_more_than_one_commit_s_worth_is_stored_too(ground: Ground) -> None:
    ground.wiring.inbox.start()
    results = asyncio.run(accept_all(ground.wiring.inbox, [received(number) for number in range(1000)]))
    assert results == [Acceptance.STORED] * 1000
    assert [row.delivery_id for row in ground.inbox_rows()] == [received(number).id for number in range(1000)]


def test_the_same_delivery_twice_in_one_commit(ground: Ground) -> None:
    ground.wiring.inbox.start()
    deliveries = [received(1), received(1), received(1, body=b"[]"), received(2, ignored="it is not ours")]
    results = asyncio.run(accept_all(ground.wiring.inbox, deliveries))
    assert results == [Acceptance.STORED, Acceptance.DUPLICATE, Acceptance.CONFLICT, Acceptance.IGNORED]
    first, second = ground.inbox_rows()
    assert (first.body, first.state) == (b"{}", "waiting")
    assert first.note.startswith("the same id came with another body")
    assert (second.body, second.state, second.note) == (None, "ignored", "it is not ours")


def test_a_duplicate_of_what_was_done_long_ago_is_free(ground: Ground) -> None:
    ground.wiring.inbox.start()
    asyncio.run(accept_all(ground.wiring.inbox, [received(1)]))
    handled: list[str] = []
    worker = InboxWorker(ground.database, ground.wiring.inbox, lambda d: handled.append(d.id), ground.clock)
    worker.work_once()
    assert asyncio.run(accept_all(ground.wiring.inbox, [received(1)])) == [Acceptance.DUPLICATE]
    worker.work_once()
    assert handled == [received(1).id]


def test_when_it_can_t_be_stored_everyone_is_told_and_the_thread_lives_on(ground: Ground) -> None:
    inbox = ground.wiring.inbox
    with full_disk(ground.database):
        inbox.start()

        async def refused() -> list[object]:
            large = [received(number, body=b"x" * 100_000) for number in range(3)]
            return list(await asyncio.gather(*(inbox.accept(d) for d in large), return_exceptions=True))

        results = asyncio.run(refused())
    assert [type(result) for result in results] == [DatabaseUnavailable] * 3
    assert asyncio.run(accept_all(inbox, [received(9)])) == [Acceptance.STORED]


def test_a_caller_who_went_away_harms_nobody(ground: Ground) -> None:
    inbox = ground.wiring.inbox

    async def leave() -> list[Acceptance]:
        gone = asyncio.ensure_future(inbox.accept(received(1)))
        await asyncio.sleep(0)
        gone.cancel()
        inbox.start()
        return await accept_all(inbox, [received(2)])

    assert asyncio.run(leave()) == [Acceptance.STORED]
    assert len(ground.inbox_rows()) == 2


def test_stopping_stores_what_still_waits(ground: Ground) -> None:
    inbox = ground.wiring.inbox

    async def accept() -> Acceptance:
        waiting = asyncio.ensure_future(inbox.accept(received(1)))
        await asyncio.sleep(0)
        inbox.start()
        inbox.stop(5)
        return await waiting

    assert asyncio.run(accept()) is Acceptance.STORED


def test_the_backlog(ground: Ground) -> None:
    store(ground.database, 1, guid=1, at=NOW - timedelta(minutes=5))
    store(ground.database, 2, guid=2)
    with ground.database.reading() as connection:
        backlog = ground.wiring.inbox.backlog(connection)
    assert (backlog.waiting, backlog.failing, backlog.oldest_at) == (2, 0, NOW - timedelta(minutes=5))


def test_an_empty_backlog(ground: Ground) -> None:
    with ground.database.reading() as connection:
        backlog = ground.wiring.inbox.backlog(connection)
    assert (backlog.waiting, backlog.failing, backlog.oldest_at) == (0, 0, None)


@pytest.mark.parametrize("body", [b"", b"{}", b"x" * 5_000_000])
def test_a_body_comes_back_byte_for_byte(ground: Ground, body: bytes) -> None:
    ground.wiring.inbox.start()
    asyncio.run(accept_all(ground.wiring.inbox, [received(1, body=body)]))
    assert ground.inbox_rows()[0].body == body
