"""Reads request bodies that nobody has vouched for yet: bounded in size, in time and all together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Receive

from policy.refusal import Code, Refused, refuse


class BoundedBodies:
    """Reads bodies under three limits."""

    def __init__(self, *, largest: int, most_held: int, slowest_seconds: float) -> None:
        """The limits.

        Args:
            largest: bytes of one body.
            most_held: bytes of all bodies that are held at one time.
            slowest_seconds: how long one body may take to arrive.
        """
        self._largest = largest
        self._most_held = most_held
        self._slowest_seconds = slowest_seconds
        self._held = 0

    @asynccontextmanager
    async def read(self, receive: Receive, *, announced: int, what: str) -> AsyncIterator[bytes]:
        """Reads one body and counts it as held until the block ends.

        Args:
            announced: the Content-Length, 0 without one; a body too large is refused before it is read.
            what: how to name the request in an error.

        Raises:
            Refused: `body_too_large`, `overloaded`, or `webhook_invalid` for one that is cut off or slow.
        """
        if announced > self._largest:
            raise self._too_large(what)
        share = _Share()
        try:
            try:
                async with asyncio.timeout(self._slowest_seconds):
                    body = await self._chunks(receive, share, what)
            except TimeoutError:
                raise _cut_off(what, "its body came too slowly") from None
            yield body
        finally:
            self._held -= share.held

    async def _chunks(self, receive: Receive, share: _Share, what: str) -> bytes:
        chunks: list[bytes] = []
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _cut_off(what, "it ended in the middle of its body")
            chunk: bytes = message.get("body", b"")
            share.held += len(chunk)
            self._held += len(chunk)
            if share.held > self._largest:
                raise self._too_large(what)
            if self._held > self._most_held:
                raise refuse(
                    Code.OVERLOADED,
                    f"{what}: too many large bodies are being read at once",
                    rule=f"At most {self._most_held} bytes of bodies are held at one time.",
                    remedy="Send it again later.",
                )
            chunks.append(chunk)
            more = message.get("more_body", False)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _too_large(self, what: str) -> Refused:
        return refuse(
            Code.BODY_TOO_LARGE,
            f"{what}: its body has more than {self._largest} bytes",
            rule=f"A body has at most {self._largest} bytes.",
            remedy="Send less.",
        )


class _Share:
    """What one request holds."""

    held = 0


def _cut_off(what: str, why: str) -> Refused:
    return refuse(
        Code.WEBHOOK_INVALID, f"{what}: {why}", rule="A body has to arrive whole.", remedy="Send it again."
    )
