"""Working off the inbox: in order for each pull request, again when it fails, once when it can be once."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from sqlalchemy import insert, select

import evidence
from bot import inbox_worker, schema
from bot.delivery import Delivery
from bot.inbox_worker import InboxWorker
from policy.refusal import Code, refuse
from tests.unit.bot.ground import NOW, Ground, full_disk, store


class Handler:
    """Writes down what it is given and fails where it is told to."""

    def __init__(self) -> None:
        self.given: list[int] = []
        self.failing: dict[int, Exception] = {}

    def __call__(self, delivery: Delivery) -> None:
        number = delivery.payload["pull_request"]["number"]
        self.given.append(number)
        if number in self.failing:
            raise self.failing[number]


@pytest.fixture
def handler() -> Handler:
    return Handler()


@pytest.fixture
def worker(ground: Ground, handler: Handler) -> InboxWorker:
    return InboxWorker(ground.database, ground.wiring.inbox, handler, ground.clock)


def states(ground: Ground) -> list[str]:
    return [row.state for row in ground.inbox_rows()]


def test_deliveries_are_handled_in_order_and_their_bodies_go(
    ground: Ground, worker: InboxWorker, handler: Handler
) -> None:
    for guid, number in enumerate([5, 3, 5, 4]):
        store(ground.database, number, guid=guid)
    assert worker.work_once() == 4
    assert handler.given == [5, 3, 5, 4]
    assert states(ground) == ["done"] * 4
    assert {row.body for row in ground.inbox_rows()} == {None}
    assert {row.ended_at for row in ground.inbox_rows()} == {NOW}
    assert worker.work_once() == 0


def test_what_fails_is_tried_again_later_and_later(
    ground: Ground, worker: InboxWorker, handler: Handler
) -> None:
    handler.failing[5] = refuse(Code.GITHUB_UNAVAILABLE, "GitHub: it is down", rule="A.", remedy="B.")
    store(ground.database, 5, guid=1)
    waits: list[float] = []
    for _ in range(12):
        worker.work_once()
        (row,) = ground.inbox_rows()
        waits.append((row.next_attempt_at - ground.clock.now()).total_seconds())
        assert worker.work_once() == 0
        ground.clock.moment = row.next_attempt_at
    assert len(handler.given) == 12
    assert row.failure == "github_unavailable: GitHub: it is down"
    assert all(0.75 * 2**n <= wait <= 2**n for n, wait in enumerate(waits[:8]))
    assert all(225 <= wait <= 300 for wait in waits[9:])
    handler.failing.clear()
    worker.work_once()
    assert states(ground) == ["done"]


def test_those_behind_it_for_the_same_pull_request_wait_and_others_don_t(
    ground: Ground, worker: InboxWorker, handler: Handler
) -> None:
    handler.failing[5] = evidence.Unavailable("GitHub answers 404 for what it just announced")
    for guid, number in enumerate([5, 5, 6]):
        store(ground.database, number, guid=guid)
    worker.work_once()
    assert handler.given == [5, 6]
    worker.work_once()
    assert handler.given == [5, 6]
    handler.failing.clear()
    ground.clock.move(seconds=5)
    worker.work_once()
    assert handler.given == [5, 6, 5, 5]
    assert states(ground) == ["done"] * 3


def test_one_that_always_fails_stops_holding_up_the_others(ground: Ground, handler: Handler) -> None:
    def handle(delivery: Delivery) -> None:
        if delivery.id.startswith("00000000"):
            raise ValueError("a payload that the handler can't read")
        handler(delivery)

    stubborn = InboxWorker(ground.database, ground.wiring.inbox, handle, ground.clock)
    store(ground.database, 5, guid=0)
    store(ground.database, 5, guid=1)
    for _ in range(inbox_worker.PATIENT_ATTEMPTS):
        assert handler.given == []
        stubborn.work_once()
        ground.clock.move(minutes=6)
    assert handler.given == [5]
    assert states(ground) == ["waiting", "done"]
    with ground.database.reading() as connection:
        assert ground.wiring.inbox.backlog(connection).failing == 1


def test_a_handler_that_marks_the_delivery_itself_does_its_effect_once(ground: Ground) -> None:
    killed = [True]

    def handle(delivery: Delivery) -> None:
        with ground.database.transaction() as connection:
            connection.execute(insert(schema.bot_settings).values(name=delivery.id, value="", changed_at=NOW))
            ground.wiring.inbox.finish(connection, delivery)
        if killed.pop():
            raise SystemExit("the process dies after the commit and before the worker marks")

    store(ground.database, 5, guid=1)
    worker = InboxWorker(ground.database, ground.wiring.inbox, handle, ground.clock)
    with pytest.raises(SystemExit):
        worker.work_once()
    assert worker.work_once() == 0
    with ground.database.reading() as connection:
        assert len(connection.execute(select(schema.bot_settings.c.name)).all()) == 1


def test_a_handler_that_died_is_called_again_after_the_next_start(ground: Ground, handler: Handler) -> None:
    def die(_delivery: Delivery) -> None:
        raise SystemExit

    store(ground.database, 5, guid=1)
    with pytest.raises(SystemExit):
        InboxWorker(ground.database, ground.wiring.inbox, die, ground.clock).work_once()
    InboxWorker(ground.database, ground.wiring.inbox, handler, ground.clock).work_once()
    assert handler.given == [5]


def test_the_thread_takes_up_what_arrives(ground: Ground, worker: InboxWorker, handler: Handler) -> None:
    store(ground.database, 4, guid=0)
    worker.start()
    until(lambda: handler.given == [4])
    store(ground.database, 5, guid=1)
    ground.wiring.inbox.arrived.set()
    until(lambda: states(ground) == ["done", "done"])
    worker.stop(5)
    store(ground.database, 6, guid=2)
    ground.wiring.inbox.arrived.set()
    time.sleep(0.05)
    assert handler.given == [4, 5]


def test_the_thread_outlives_a_full_disk(
    ground: Ground, worker: InboxWorker, handler: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_worker, "IDLE_SECONDS", 0.01)
    for guid in range(3):
        store(ground.database, 5, guid=guid)
    with full_disk(ground.database):
        worker.start()
        until(lambda: len(handler.given) >= 3)
    until(lambda: states(ground) == ["done"] * 3)
    worker.stop(5)


def until(reached: Callable[[], bool], *, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)
