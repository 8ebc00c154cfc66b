"""What a benchmark returns: series of measured times, and the rows of the table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """What a number counts. `PER_SECOND` is better when larger."""

    MILLISECONDS = "ms"
    PER_SECOND = "/s"
    COUNT = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Measured durations in milliseconds, in the order in which they were measured; at least one."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one: p50."""
        return statistics.median(self.values)

    def percentile(self, percent: float) -> float:
        """The smallest measured value that at least `percent` of 100 of all are not above (nearest rank)."""
        rank = -(-len(self.values) * percent // 100)
        return sorted(self.values)[max(0, int(rank) - 1)]

    def __str__(self) -> str:
        return f"n {len(self.values)}, {min(self.values):.0f} to {max(self.values):.0f} ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One number of the table, and how it was come by in a few words (`n 30, 380 to 520 ms`)."""

    value: float
    unit: Unit
    spread: str = ""

    def __str__(self) -> str:
        return f"{self.value:,.0f} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table.

    Attributes:
        what: what was measured.
        measured: the number.
        floor: what the least would have been, measured in the same run; None when the bound is absolute
            and nothing smaller does the same.
        floor_is: the floor in words.
        bound: the promise, with the floor of this run put in, such as `<= 413 ms`; empty without one.
        met: whether it was kept; None without a bound.
        notes: sentences for below the table, such as where the time goes.
    """

    what: str
    measured: Quantity
    floor: Quantity | None = None
    floor_is: str = ""
    bound: str = ""
    met: bool | None = None
    notes: tuple[str, ...] = ()

    @property
    def ratio(self) -> float | None:
        """Measured over floor."""
        return self.measured.value / self.floor.value if self.floor and self.floor.value else None


def milliseconds(series: Series, value: float | None = None) -> Quantity:
    """A series as a quantity: its median, or another value of it."""
    found = series.median if value is None else value
    return Quantity(value=found, unit=Unit.MILLISECONDS, spread=str(series))


def at_most(
    what: str,
    measured: Quantity,
    limit: float,
    *,
    floor: Quantity | None = None,
    floor_is: str = "",
    notes: Sequence[str] = (),
) -> Row:
    """A row whose bound is an upper one, in the measured quantity's unit."""
    return Row(
        what=what,
        measured=measured,
        floor=floor,
        floor_is=floor_is,
        bound=f"<= {limit:,.0f} {measured.unit}".rstrip(),
        met=measured.value <= limit,
        notes=tuple(notes),
    )


def at_least(
    what: str,
    measured: Quantity,
    limit: float,
    *,
    floor: Quantity | None = None,
    floor_is: str = "",
    notes: Sequence[str] = (),
) -> Row:
    """A row whose bound is a lower one, in the measured quantity's unit."""
    return Row(
        what=what,
        measured=measured,
        floor=floor,
        floor_is=floor_is,
        bound=f">= {limit:,.0f} {measured.unit}".rstrip(),
        met=measured.value >= limit,
        notes=tuple(notes),
    )
