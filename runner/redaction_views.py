"""Ways of looking at output in which a coded secret stands in one piece, with the way back.

A key printed by `base64` is broken into lines, `od` and `xxd` put spaces between bytes, a URL escapes
some of them. Each view takes such decoration out of the whole output once, and knows for every piece of
itself where it came from, so a plain search in the view finds the place in the output.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_BLANK = re.compile(rb"\s+|\\[nrt]")
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
_HEX_DECORATION = re.compile(rb"[\s:,;-]+|\\x|0x", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Output without decoration.

    Attributes:
        data: what is searched.
        pieces: runs of `data`, in order: where each begins in `data`, and where in the output it begins
            and how many bytes of output it stands for. A run maps byte by byte, unless its output is
            longer: then it is one decoded byte.
    """

    data: bytes
    pieces: tuple[tuple[int, int, int], ...]

    def find(self, needle: bytes) -> Iterator[tuple[int, int]]:
        """Where in the output `needle` stands, decoration included."""
        at = self.data.find(needle)
        while at >= 0:
            yield self._span(at, at + len(needle))
            at = self.data.find(needle, at + 1)

    def overlap_at_end(self, needle: bytes) -> int:
        """How many bytes at the end of the view are the beginning of `needle`."""
        for length in range(min(len(needle), len(self.data)), 0, -1):
            if self.data.endswith(needle[:length]):
                return length
        return 0

    def overlap_at_start(self, needle: bytes) -> int:
        """How many bytes at the start of the view are the end of `needle`."""
        for length in range(min(len(needle), len(self.data)), 0, -1):
            if self.data.startswith(needle[-length:]):
                return length
        return 0

    def first(self, length: int) -> tuple[int, int]:
        """Where in the output the view's first bytes stand."""
        return self._span(0, length)

    def last(self, length: int) -> tuple[int, int]:
        """Where in the output the view's last bytes stand."""
        return self._span(len(self.data) - length, len(self.data))

    def _span(self, start: int, end: int) -> tuple[int, int]:
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, at: int) -> tuple[int, int]:
        """Start and end in the output of one byte of the view."""
        begins, origin, length = self.pieces[bisect_right(self.pieces, at, key=lambda piece: piece[0]) - 1]
        following = next_begin(self.pieces, begins, len(self.data))
        if length > following - begins:
            return origin, origin + length
        return origin + at - begins, origin + at - begins + 1


def next_begin(pieces: tuple[tuple[int, int, int], ...], begins: int, end: int) -> int:
    """Where the piece after the one that begins at `begins` starts in the view."""
    index = bisect_right(pieces, begins, key=lambda piece: piece[0])
    return pieces[index][0] if index < len(pieces) else end


def without_whitespace(output: bytes) -> View:
    """Without blanks, line ends and their escaped forms (`\\n` in JSON)."""
    return _without(output, _BLANK)


def hexadecimal(output: bytes) -> View:
    """In lower case, without what stands between the bytes of a hex dump."""
    view = _without(output, _HEX_DECORATION)
    return View(data=view.data.lower(), pieces=view.pieces)


def percent_decoded(output: bytes) -> View:
    """With `%41` decoded (RFC 3986 section 2.1) and blanks taken out, escaped ones too."""
    data = bytearray()
    pieces: list[tuple[int, int, int]] = []
    position = 0
    for match in _PERCENT.finditer(output):
        _add(data, pieces, output, position, match.start())
        byte = bytes.fromhex(match[1].decode("ascii"))
        if not byte.isspace():
            pieces.append((len(data), match.start(), 3))
            data += byte
        position = match.end()
    _add(data, pieces, output, position, len(output))
    return View(data=bytes(data), pieces=tuple(pieces))


def _without(output: bytes, decoration: re.Pattern[bytes]) -> View:
    data = bytearray()
    pieces: list[tuple[int, int, int]] = []
    position = 0
    for match in decoration.finditer(output):
        _append(data, pieces, output, position, match.start())
        position = match.end()
    _append(data, pieces, output, position, len(output))
    return View(data=bytes(data), pieces=tuple(pieces))


def _add(data: bytearray, pieces: list[tuple[int, int, int]], output: bytes, start: int, end: int) -> None:
    """Adds a stretch of output without its blanks."""
    position = start
    for match in _BLANK.finditer(output, start, end):
        _append(data, pieces, output, position, match.start())
        position = match.end()
    _append(data, pieces, output, position, end)


def _append(data: bytearray, pieces: list[tuple[int, int, int]], output: bytes, start: int, end: int) -> None:
    if end > start:
        pieces.append((len(data), start, end - start))
        data += output[start:end]
