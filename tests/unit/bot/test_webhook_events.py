"""Which webhooks concern the bot, and which of them have to keep their order."""

from __future__ import annotations

from typing import Any

import pytest

from bot import webhook_events
from tests.unit.bot.ground import SERVES

OURS = {"repository": {"id": SERVES.repository_id}, "installation": {"id": SERVES.installation_id}}


def test_an_event_is_about_a_repository_or_an_account() -> None:
    assert not webhook_events.REPOSITORY_EVENTS & webhook_events.ACCOUNT_EVENTS
    assert webhook_events.WITHOUT_INSTALLATION <= webhook_events.ACCOUNT_EVENTS


@pytest.mark.parametrize("event", sorted(webhook_events.REPOSITORY_EVENTS | webhook_events.ACCOUNT_EVENTS))
def test_its_own_events_are_handled(event: str) -> None:
    assert SERVES.ignored_because(event, OURS) is None


@pytest.mark.parametrize("event", sorted(webhook_events.REPOSITORY_EVENTS))
def test_an_event_of_a_repository_names_it(event: str) -> None:
    assert SERVES.ignored_because(event, {"installation": OURS["installation"]}) is not None


@pytest.mark.parametrize("event", sorted(webhook_events.ACCOUNT_EVENTS - webhook_events.WITHOUT_INSTALLATION))
def test_an_event_of_an_account_names_the_installation(event: str) -> None:
    assert SERVES.ignored_because(event, {"installation": OURS["installation"]}) is None
    assert SERVES.ignored_because(event, {}) is not None


def test_a_ping_names_nothing() -> None:
    assert SERVES.ignored_because("ping", {"zen": "Keep it logically awesome."}) is None


@pytest.mark.parametrize(
    ("payload", "subject"),
    [
        ({"pull_request": {"number": 12}}, "#12"),
        ({"issue": {"number": 12}}, "#12"),
        ({"check_run": {"pull_requests": [{"number": 12}, {"number": 13}]}}, "#12"),
        ({"check_run": {"pull_requests": []}}, None),
        ({"check_run": {}}, None),
        ({"check_run": {"pull_requests": {"number": 12}}}, None),
        ({"pull_request": {"number": "12"}}, None),
        ({"pull_request": {"number": True}}, None),
        ({"pull_request": {"number": -1}}, None),
        ({"pull_request": {"number": 2**80}}, None),
        ({"pull_request": [12]}, None),
        ({"ref": "refs/heads/main"}, None),
        ({}, None),
    ],
)
def test_the_subject_is_the_number(payload: dict[str, Any], subject: str | None) -> None:
    assert webhook_events.subject(payload) == subject
