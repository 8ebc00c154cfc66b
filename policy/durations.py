"""Durations as people write them in the policy file: a whole number and one unit, `90s` or `24h`."""

from __future__ import annotations

import re

_FORM = re.compile(r"([1-9][0-9]{0,5})(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

PATTERN = r"^[1-9][0-9]{0,5}(s|m|h|d)$"
"""The same form for JSON Schema."""


def parse(text: str) -> int:
    """Seconds of a duration.

    Raises:
        ValueError: for any other form; zero is not a duration.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as 90s, 30m, 24h or 7d")
    return int(match[1]) * _SECONDS[match[2]]


def show(seconds: int) -> str:
    """A duration for people, in its largest whole unit: 5400 is `90m`."""
    for unit in ("d", "h", "m"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]}{unit}"
    return f"{seconds}s"
