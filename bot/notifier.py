"""Wakes long polls when something they wait for may have changed.

A notification is a hint without content: whoever wakes looks at the database. Nothing is kept for those
who come later, so a long poll first watches, then looks, then waits:

    with notifier.watch(f"request:{id}") as watch:
        while not changed() and await watch.wait(remaining_seconds()):
            pass
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watch:
    """One waiter on one topic, on the event loop that made it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    async def wait(self, timeout_seconds: float) -> bool:
        """Waits for a notification since the last call, or since the watch began; False when time is up."""
        if timeout_seconds <= 0:
            changed = self._changed.is_set()
        else:
            try:
                async with asyncio.timeout(timeout_seconds):
                    changed = await self._changed.wait()
            except TimeoutError:
                changed = False
        self._changed.clear()
        return changed

    def wake(self) -> None:
        """Called from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._changed.set)
        except RuntimeError:
            # The loop is closed: the process is stopping and nobody waits any more.
            return


class Notifier:
    """Topics by name. `notify` may be called from any thread, waiting happens on an event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: defaultdict[str, set[Watch]] = defaultdict(set)
        self._actions: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)

    def notify(self, topic: str) -> None:
        """Wakes everyone who watches the topic. Call it after the commit, never before."""
        with self._lock:
            watches = tuple(self._watches.get(topic, ()))
            actions = tuple(self._actions.get(topic, ()))
        for watch in watches:
            watch.wake()
        for action in actions:
            action()

    def on(self, topic: str, action: Callable[[], None]) -> None:
        """Has `action` called in the notifying thread from now on; it must be quick."""
        with self._lock:
            self._actions[topic].append(action)

    def topics(self) -> frozenset[str]:
        """The topics that somebody watches now."""
        with self._lock:
            return frozenset(self._watches)

    @contextmanager
    def watch(self, topic: str) -> Iterator[Watch]:
        """Watches a topic while the block lasts; notifications during it are not missed."""
        watch = Watch()
        with self._lock:
            self._watches[topic].add(watch)
        try:
            yield watch
        finally:
            with self._lock:
                self._watches[topic].discard(watch)
                if not self._watches[topic]:
                    del self._watches[topic]

    async def wait(self, topic: str, timeout_seconds: float) -> bool:
        """Waits for the next notification; False when time is up. What came before the call is missed."""
        with self.watch(topic) as watch:
            return await watch.wait(timeout_seconds)
