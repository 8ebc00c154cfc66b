"""One request's audit trail as a block of text inside the pull request, and its reader.

The block stands in the status comment, so that a request's chain can be checked with nothing but its
pull request: every line is one event's JSON as `policy.audit` reads it, the last ones are the chain's
tip and the signed receipt. The reader takes a whole comment, or a page that holds one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from policy import audit, canonical, record
from policy.audit import Event
from policy.receipt import AuditTip
from policy.refusal import Code, refuse

INFO = "ownergate-audit-v1"
"""The info string of the fenced block."""

_BLOCK = re.compile(rf"^(?P<fence>`{{3,}}){INFO}\n(?P<lines>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """What a block holds.

    Attributes:
        events: the request's events, oldest first.
        tip: the whole chain's tip when the block was written.
        receipt: the runner's signed receipt, compact; None before there is one.
        omitted: how many of the oldest events were left out for want of room; 0 for a whole trail.
    """

    request_id: str
    events: tuple[Event, ...]
    tip: AuditTip
    receipt: str | None
    omitted: int


def block(trail: Trail) -> str:
    """The trail as a fenced block, ending without a line break."""
    header = {"request_id": trail.request_id, "omitted": trail.omitted, "tip": record.to_json(trail.tip)}
    lines = [
        canonical.encode(header).decode(),  # type: ignore[arg-type]
        *(canonical.encode(record.to_json(event)).decode() for event in trail.events),
        canonical.encode({"receipt": trail.receipt}).decode(),
    ]
    # Nothing inside may end the fence: it is longer than any run of backticks in the lines.
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{INFO}\n" + "\n".join(lines) + f"\n{fence}"


def read(text: str) -> Trail:
    """Reads the one block in a text.

    Raises:
        Refused: `audit_invalid` for a text with no block, more than one, or one that is not whole.
    """
    blocks = list(_BLOCK.finditer(text.replace("\r\n", "\n")))
    if len(blocks) != 1:
        raise _invalid(f"it holds {len(blocks)} audit blocks")
    # Only the line feed ends a line: JSON may hold U+2028, which splitlines() would cut at.
    lines = blocks[0]["lines"].rstrip("\n").split("\n")
    if len(lines) < 2:
        raise _invalid("the block is empty")
    try:
        header = json.loads(lines[0])
        tip = record.from_json(AuditTip, header["tip"], what="the tip", code=Code.AUDIT_INVALID)
        request_id, omitted = str(header["request_id"]), int(header["omitted"])
        receipt = json.loads(lines[-1])["receipt"]
    except (ValueError, KeyError, TypeError):
        raise _invalid("its first or last line is damaged") from None
    return Trail(
        request_id=request_id,
        events=tuple(audit.parse(line) for line in lines[1:-1]),
        tip=tip,
        receipt=receipt if isinstance(receipt, str) else None,
        omitted=omitted,
    )


def fitting(trail: Trail, characters: int) -> Trail:
    """The trail with as many of its newest events as fit; the oldest are left out and counted."""
    events: Sequence[Event] = trail.events
    omitted = trail.omitted
    while True:
        shorter = Trail(
            request_id=trail.request_id,
            events=tuple(events),
            tip=trail.tip,
            receipt=trail.receipt,
            omitted=omitted,
        )
        if len(block(shorter).encode()) <= characters or not events:
            return shorter
        # Halving keeps this linear even for a runner that reported thousands of events.
        cut = max(1, len(events) // 8)
        events, omitted = events[cut:], omitted + cut


def _invalid(why: str) -> Exception:
    return refuse(
        Code.AUDIT_INVALID,
        f"the pull request's audit trail: {why}",
        rule="A trail is read only when it is exactly what the bot wrote.",
        remedy="Save the status comment as the page shows it, unedited, and try again.",
    )
