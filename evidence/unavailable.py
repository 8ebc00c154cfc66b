"""GitHub could not be read whole, so there are no facts."""

from __future__ import annotations


class Unavailable(Exception):  # noqa: N818  It says what is missing, not that the program is wrong.
    """No facts, and why.

    Attributes:
        reason: one line for people and logs; it holds no secret.
        retry_after_seconds: how long GitHub asks to wait; None when it does not say.
    """

    def __init__(self, reason: str, *, retry_after_seconds: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds
