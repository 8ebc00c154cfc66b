"""Durations of the policy file."""

from __future__ import annotations

import re

import pytest

from policy import durations


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("2m", 120), ("24h", 86_400), ("7d", 604_800)])
def test_a_duration_is_whole_seconds(text: str, seconds: int) -> None:
    assert durations.parse(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "0s", "90", "1.5h", "-5m", "+5m", "5 m", "5M", "1h30m", "５m", "1000000s", "5m\n"]
)
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        durations.parse(text)
    assert re.search(durations.PATTERN, text) is None or text.endswith("\n")


@pytest.mark.parametrize(
    ("seconds", "text"), [(90, "90s"), (5400, "90m"), (86_400, "1d"), (0, "0s"), (1210, "1210s")]
)
def test_people_see_the_largest_whole_unit(seconds: int, text: str) -> None:
    assert durations.show(seconds) == text
