"""Waking long polls: from any thread, by topic, and never missed between looking and waiting."""

from __future__ import annotations

import asyncio
import threading
import time

from bot.notifier import Notifier


def test_a_wait_ends_when_its_topic_is_notified_from_a_thread() -> None:
    notifier = Notifier()

    async def poll() -> tuple[bool, float]:
        threading.Timer(0.05, notifier.notify, args=("request:1",)).start()
        started = time.monotonic()
        return await notifier.wait("request:1", 10), time.monotonic() - started

    woken, seconds = asyncio.run(poll())
    assert woken
    assert seconds < 5


def test_a_wait_ends_when_time_is_up() -> None:
    notifier = Notifier()

    async def poll() -> list[bool]:
        notifier.notify("request:1")
        return [await notifier.wait("request:1", seconds) for seconds in (0.02, 0, -1)]

    assert asyncio.run(poll()) == [False, False, False]


def test_another_topic_wakes_nobody() -> None:
    notifier = Notifier()

    async def poll() -> bool:
        threading.Timer(0.01, notifier.notify, args=("request:2",)).start()
        return await notifier.wait("request:1", 0.05)

    assert asyncio.run(poll()) is False


def test_what_comes_between_looking_and_waiting_is_not_missed() -> None:
    notifier = Notifier()

    async def poll() -> list[bool]:
        with notifier.watch("request:1") as watch:
            notifier.notify("request:1")
            notifier.notify("request:1")
            first = await watch.wait(10)
            return [first, await watch.wait(0.02)]

    assert asyncio.run(poll()) == [True, False]


def test_everyone_who_watches_is_woken() -> None:
    notifier = Notifier()

    async def poll() -> list[bool]:
        waits = [asyncio.create_task(notifier.wait("pool:demo", 10)) for _ in range(50)]
        await asyncio.sleep(0)
        notifier.notify("pool:demo")
        return list(await asyncio.gather(*waits))

    assert asyncio.run(poll()) == [True] * 50


def test_nothing_is_kept_for_those_who_left() -> None:
    notifier = Notifier()

    async def poll() -> None:
        await notifier.wait("request:1", 0)
        waiting = asyncio.create_task(notifier.wait("request:2", 10))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(poll())
    assert notifier.topics() == frozenset()


def test_notifying_after_the_loop_has_ended_is_harmless() -> None:
    notifier = Notifier()

    async def leave_behind() -> None:
        watching = notifier.watch("request:1")
        watching.__enter__()

    asyncio.run(leave_behind())
    notifier.notify("request:1")


def test_an_action_is_called_at_each_notification() -> None:
    notifier = Notifier()
    called: list[str] = []
    notifier.on("outbox", lambda: called.append("outbox"))
    notifier.notify("outbox")
    notifier.notify("other")
    notifier.notify("outbox")
    assert called == ["outbox", "outbox"]
