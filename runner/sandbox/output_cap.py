"""Output kept while it streams: the beginning and the end, a bounded number of bytes in all.

The tool is never blocked and memory never grows: what lies between is counted and dropped. The end is
kept because that is where programs say why they failed.
"""

from __future__ import annotations


class OutputCap:
    """Keeps at most `limit` bytes of a stream: three quarters from its start, the rest from its end."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 4
        self._tail_limit = limit // 4
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        """Takes the next part of the stream."""
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data
            # Trimming only at twice the size makes the cost per byte constant.
            if len(self._tail) > 2 * self._tail_limit + 65536:
                self._trim()

    @property
    def kept(self) -> bytes:
        """The beginning and the end, joined without a mark; `cut_at` says where."""
        self._trim()
        return bytes(self._head + self._tail)

    @property
    def cut_bytes(self) -> int:
        """How many bytes were dropped."""
        self._trim()
        return self._dropped

    @property
    def cut_at(self) -> int:
        """Where in `kept` the dropped bytes are missing; its length when none are."""
        return len(self._head) if self.cut_bytes else len(self.kept)

    def _trim(self) -> None:
        excess = len(self._tail) - self._tail_limit
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess
