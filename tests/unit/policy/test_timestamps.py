"""One written form of a moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from policy.timestamps import format_timestamp, parse_timestamp


def test_a_moment_is_read_back() -> None:
    moment = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)
    assert parse_timestamp(format_timestamp(moment)) == moment


def test_other_zones_are_written_in_utc_and_fractions_are_cut() -> None:
    moment = datetime(2026, 3, 1, 14, 0, 5, 999_999, tzinfo=timezone(timedelta(hours=2)))
    assert format_timestamp(moment) == "2026-03-01T12:00:05Z"


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        format_timestamp(datetime(2026, 3, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T12:00:00+00:00",
        "2026-03-01 12:00:00Z",
        "2026-03-01T12:00:00.0Z",
        "2026-03-01T12:00Z",
        "2026-02-30T12:00:00Z",
        "2026-03-01T12:00:00z",
        "２０２６-03-01T12:00:00Z",
        "",
    ],
)
def test_no_other_form_is_read(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  Either message will do.
        parse_timestamp(text)
