"""The audit chain: nothing can be changed, taken out, put in or cut off unnoticed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import audit, canonical, record
from policy.audit import Event, Kind
from policy.refusal import Refused
from tests.unit.policy.examples import NOW

REQUESTS = ("og-" + "a" * 26, "og-" + "b" * 26, None)


def chain(requests: list[str | None]) -> list[Event]:
    events: list[Event] = []
    last: dict[str | None, str] = {}
    for index, request_id in enumerate(requests):
        event = audit.link(
            kind=list(Kind)[index % len(Kind)],
            request_id=request_id,
            at=NOW,
            data={"step": index},
            tip=events[-1].tip if events else None,
            previous_of_request=last.get(request_id) if request_id else None,
        )
        last[request_id] = event.hash
        events.append(event)
    return events


chains = st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=12).map(chain)


@given(chains)
def test_a_chain_as_it_was_made_verifies(events: list[Event]) -> None:
    assert audit.verify(events, tip=events[-1].tip) == ()
    for request_id in {event.request_id for event in events} - {None}:
        mine = [event for event in events if event.request_id == request_id]
        assert audit.verify_request(mine, request_id=request_id or "") == ()


@given(chains, st.data())
def test_any_change_is_noticed(events: list[Event], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(events) - 1))
    event = events[index]
    change: dict[str, Any] = data.draw(
        st.sampled_from(
            [
                {"data": {"step": 99}},
                {"kind": Kind.BOT_PAUSED if event.kind is not Kind.BOT_PAUSED else Kind.TOOL_RESULT},
                {"request_id": "og-" + "c" * 26},
                {"sequence": event.sequence + 1},
                {"previous": "e" * 64},
                {"hash": "f" * 64},
            ]
        )
    )
    changed = [*events[:index], dataclasses.replace(event, **change), *events[index + 1 :]]
    assert audit.verify(changed, tip=events[-1].tip)


@given(chains, st.data())
def test_taking_an_event_out_or_cutting_the_end_is_noticed(events: list[Event], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(events) - 1))
    assert audit.verify(events[:index] + events[index + 1 :], tip=events[-1].tip)


def test_a_rewritten_history_contradicts_an_attested_tip() -> None:
    real, other = chain([REQUESTS[0], REQUESTS[0]]), chain([REQUESTS[1], REQUESTS[1]])
    assert audit.verify(other, tip=other[-1].tip) == ()
    assert audit.verify(other, tip=real[-1].tip) != ()


def test_an_empty_chain_attests_nothing() -> None:
    assert audit.verify([], tip=chain([None])[-1].tip)
    assert audit.verify_request([], request_id="og-" + "a" * 26)


def test_the_chain_goes_on_after_an_attested_tip() -> None:
    events = chain([REQUESTS[0]] * 4)
    assert audit.verify(events, tip=events[1].tip) == ()


def test_one_requests_events_out_of_order_or_of_another_are_noticed() -> None:
    events = chain([REQUESTS[0], REQUESTS[0], REQUESTS[1]])
    assert audit.verify_request([events[1], events[0]], request_id=REQUESTS[0] or "")
    assert audit.verify_request(events, request_id=REQUESTS[0] or "")
    assert audit.verify_request([events[0]], request_id=REQUESTS[0] or "") == ()


def test_an_export_is_read_back() -> None:
    for event in chain([REQUESTS[0], None]):
        assert audit.parse(record.encode(event)) == event
    with pytest.raises(Refused):
        audit.parse('{"sequence":1}')


@pytest.mark.parametrize(
    "data",
    [
        {"token": "abc"},
        {"deep": [{"vault_token": "abc"}]},
        {"Authorization": "Bearer x"},
        {"text": "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlLXNpZ25hdHVyZQ"},
        {"private-key": "x"},
        {"password": ["one", {"x": "two"}]},
    ],
    ids=str,
)
def test_secrets_are_removed_wherever_they_stand(data: dict[str, canonical.Json]) -> None:
    event = audit.link(
        kind=Kind.TOOL_RESULT, request_id=None, at=NOW, data=data, tip=None, previous_of_request=None
    )
    text = record.encode(event).decode()
    assert audit.REMOVED in text
    assert not any(secret in text for secret in ("abc", "Bearer x", "eyJ", '"x"', "one", "two"))


def test_what_an_auditor_needs_stays() -> None:
    data: dict[str, canonical.Json] = {
        "lease_id": "pki/issue/terraform-apply/abc",
        "scope": "CN=terraform-apply.demo",
        "ttl_seconds": 600,
        "digest": "a" * 64,
    }
    assert audit.scrub(data) == data
