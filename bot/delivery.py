"""A webhook delivery, before and after it stands in the inbox."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedDelivery:
    """A delivery whose signature was right, on its way into the inbox.

    Attributes:
        id: GitHub's GUID for it, lower case; a redelivery has the same one.
        subject: what its order matters for, such as `#12`; None for nothing.
        ignored_because: why nothing is to be done; None when it is to be handled.
    """

    id: str
    event: str
    body: bytes = field(repr=False)
    subject: str | None
    received_at: datetime
    ignored_because: str | None = None

    @property
    def body_sha256(self) -> str:
        """Lower-case hexadecimal, 64 characters."""
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A delivery from the inbox. It is a hint that there is something to read at GitHub, not a fact.

    Attributes:
        sequence: its place in the inbox.
        payload: GitHub's JSON object for the event.
    """

    sequence: int
    id: str
    event: str
    payload: Mapping[str, Any] = field(repr=False)
    received_at: datetime


class Acceptance(StrEnum):
    """What became of a received delivery."""

    STORED = "stored"
    IGNORED = "ignored"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
