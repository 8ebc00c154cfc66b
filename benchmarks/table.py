"""The table at the end, 80 columns wide, and the same as JSON."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.figures import Row

WIDTH = 80
_WHAT = 33
_HEAD = f"{'':<{_WHAT}} {'measured':>11} {'floor':>11} {'ratio':>6}  {'bound':<11}"


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The table with its notes, line by line."""
    yield _HEAD.rstrip()
    yield "─" * WIDTH
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        floor = "" if row.floor is None else str(row.floor)
        name, *more = textwrap.wrap(row.what, _WHAT)
        line = f"{name:<{_WHAT}} {row.measured!s:>11} {floor:>11} {ratio:>6}  {row.bound:<11}"
        yield f"{line} {_verdict(row)}".rstrip()
        yield from more
    yield "─" * WIDTH
    for row in rows:
        yield from _notes(row)
    yield ""
    yield _summary(rows)


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows for a program; numbers in the unit that stands beside them."""
    return [
        {
            "what": row.what,
            "unit": row.measured.unit.value,
            "measured": round(row.measured.value, 3),
            "measured_from": row.measured.spread,
            "floor": None if row.floor is None else round(row.floor.value, 3),
            "floor_from": "" if row.floor is None else row.floor.spread,
            "floor_is": row.floor_is,
            "ratio": None if row.ratio is None else round(row.ratio, 3),
            "bound": row.bound,
            "met": row.met,
            "notes": list(row.notes),
        }
        for row in rows
    ]


def _verdict(row: Row) -> str:
    match row.met:
        case None:
            return ""
        case True:
            return _coloured("✓", "32")
        case False:
            return _coloured("✗", "31")


def _notes(row: Row) -> Iterator[str]:
    if not (row.measured.spread or row.floor or row.notes):
        return
    yield f"{row.what}:"
    parts = [row.measured.spread]
    if row.floor is not None:
        spread = f" ({row.floor.spread})" if row.floor.spread else ""
        parts.append(f"floor: {row.floor_is}{spread}")
    text = "; ".join(part for part in parts if part)
    for sentence in (text, *row.notes):
        if sentence:
            yield from textwrap.wrap(sentence, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _summary(rows: Sequence[Row]) -> str:
    bounded = [row for row in rows if row.met is not None]
    missed = [row.what for row in bounded if not row.met]
    if not bounded:
        return "No bound was measured."
    if not missed:
        return _coloured(f"Every bound was met: {len(bounded)} of {len(bounded)}.", "1;32")
    text = f"MISSED {len(missed)} of {len(bounded)} bounds: {'; '.join(missed)}."
    return "\n".join(_coloured(line, "1;31") for line in textwrap.wrap(text, WIDTH))


def _coloured(text: str, style: str) -> str:
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return f"\033[{style}m{text}\033[0m"
    return text
