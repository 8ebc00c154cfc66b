"""Sizes and CPU of the policy file."""

from __future__ import annotations

import pytest

from policy import quantities


@pytest.mark.parametrize(
    ("text", "size"),
    [("256KiB", 262_144), ("256Ki", 262_144), ("512Mi", 536_870_912), ("1GiB", 1_073_741_824)],
)
def test_sizes_have_binary_units(text: str, size: int) -> None:
    assert quantities.parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "1024", "1M", "1MB", "0Mi", "1.5Gi", "-1Mi", "1 Mi", "1mi", "１Mi"])
def test_a_size_without_a_binary_unit_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        quantities.parse_bytes(text)


@pytest.mark.parametrize(("text", "millis"), [("500m", 500), ("2", 2000)])
def test_cpu_is_cores_or_thousandths(text: str, millis: int) -> None:
    assert quantities.parse_cpu(text) == millis


@pytest.mark.parametrize("text", ["", "0", "0.5", "1k", "m", "-1", "1 m"])
def test_other_amounts_of_cpu_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not an amount of CPU"):
        quantities.parse_cpu(text)


def test_people_see_the_largest_whole_unit() -> None:
    assert [quantities.show_bytes(size) for size in (262_144, 1 << 30, 1000)] == [
        "256 KiB",
        "1 GiB",
        "1000 bytes",
    ]
