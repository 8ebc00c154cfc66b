"""Points in time on the wire: RFC 3339, UTC, whole seconds, a final Z; one form only.

One form matters because timestamps stand inside digests: `12:00:00Z` and `12:00:00+00:00` would be
the same moment in two different digests.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_FORM = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def format_timestamp(moment: datetime) -> str:
    """Writes an aware moment, cut to whole seconds.

    Raises:
        ValueError: when the moment has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone can't be written")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_timestamp(text: str) -> datetime:
    """Reads what `format_timestamp` writes, and nothing else.

    Raises:
        ValueError: for any other form.
    """
    if not _FORM.fullmatch(text):
        raise ValueError(f"{text!r} is not of the form 2026-01-31T12:00:00Z")
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
