"""Readers of GitHub, one a request, so that what never changes is read once.

A reader keeps git objects (trees, blobs) for its life and asks everything else anew. It is used by one
thread at a time: whoever reads for a request holds the request's lock meanwhile, which also keeps two
threads from deciding about the same request at once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from evidence import GitHubReader

MOST_KEPT = 64
"""Readers that are kept; the one that was not used for longest goes first."""


@dataclass(slots=True)
class _Kept:
    reader: GitHubReader
    lock: threading.Lock = field(default_factory=threading.Lock)


class Readers:
    """Makes and keeps readers. Safe for threads."""

    def __init__(self, make: Callable[[], GitHubReader]) -> None:
        self._make = make
        self._guard = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    @contextmanager
    def of(self, request_id: str) -> Iterator[GitHubReader]:
        """The reader of a request, for this thread alone while the block lasts."""
        with self._guard:
            kept = self._kept.get(request_id)
            if kept is None:
                kept = self._kept[request_id] = _Kept(self._make())
            self._kept.move_to_end(request_id)
            self._forget_old()
        with kept.lock:
            yield kept.reader

    def _forget_old(self) -> None:
        # One in use is never forgotten: its lock is what keeps two threads apart.
        for request_id in list(self._kept)[: len(self._kept) - MOST_KEPT]:
            if not self._kept[request_id].lock.locked():
                del self._kept[request_id]
