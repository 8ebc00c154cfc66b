"""One request's trail inside a comment: what is written is read again, whatever stands around it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot import audit_export
from bot.audit_export import Trail
from policy import audit
from policy.audit import Event, Kind
from policy.canonical import Json
from policy.receipt import AuditTip
from policy.refusal import Refused

REQUEST = "og-" + "0" * 26
NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)


def chain(count: int, text: str = "x") -> tuple[Event, ...]:
    events: list[Event] = []
    for number in range(count):
        data: dict[str, Json] = {"number": number, "text": text}
        events.append(
            audit.link(
                kind=Kind.SANDBOX_STARTED,
                request_id=REQUEST,
                at=NOW,
                data=data,
                tip=events[-1].tip if events else None,
                previous_of_request=events[-1].hash if events else None,
            )
        )
    return tuple(events)


def trail(events: tuple[Event, ...], receipt: str | None = None) -> Trail:
    return Trail(request_id=REQUEST, events=events, tip=events[-1].tip, receipt=receipt, omitted=0)


@pytest.mark.parametrize(
    "text", ["x", "```", "````\n```ownergate-audit-v1", "\u2028", "</details>", "<!-- -->"]
)
def test_what_is_written_is_read_again(text: str) -> None:
    written = trail(chain(4, text), "a.b.c")
    around = f"### Done\n\n{audit_export.block(written)}\n\n</details>\n"
    assert audit_export.read(around) == written
    assert audit_export.read(around.replace("\n", "\r\n")) == written
    assert audit.verify_request(audit_export.read(around).events, request_id=REQUEST) == ()


def test_what_does_not_fit_is_counted() -> None:
    whole = trail(chain(200))
    shorter = audit_export.fitting(whole, 10_000)
    assert len(audit_export.block(shorter).encode()) <= 10_000
    assert shorter.omitted + len(shorter.events) == 200
    assert shorter.events == whole.events[shorter.omitted :]
    assert audit_export.read(audit_export.block(shorter)) == shorter


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no block",
        "```ownergate-audit-v1\n{}\n```",
        '```ownergate-audit-v1\n{"tip": 1}\n{}\n```',
    ],
)
def test_what_is_no_trail_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        audit_export.read(text)


def test_two_blocks_are_refused() -> None:
    block = audit_export.block(trail(chain(1)))
    with pytest.raises(Refused, match="2 audit blocks"):
        audit_export.read(f"{block}\n{block}")


def test_an_altered_event_is_found() -> None:
    events = chain(3)
    forged = (*events[:1], replace(events[1], data={"number": 7}), *events[2:])
    read = audit_export.read(audit_export.block(trail(forged)))
    assert audit.verify_request(read.events, request_id=REQUEST) != ()


def test_a_tip_stands_in_the_block() -> None:
    written = replace(trail(chain(2)), tip=AuditTip(sequence=9, hash="9" * 64))
    assert audit_export.read(audit_export.block(written)).tip.sequence == 9
