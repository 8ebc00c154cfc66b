"""Fields are there and of their type, or there is no fact."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evidence import Unavailable, fields
from policy.facts import Person

ANSWER = {
    "a": {"b": "text", "n": 3, "yes": True, "null": None},
    "at": "2026-05-04T12:00:00Z",
    "user": {"id": 7, "login": "alice", "type": "User"},
    "bot": {"id": 8, "login": "x[bot]", "type": "Bot"},
    "ghost": None,
    "empty": {},
}


def test_what_is_there_is_read() -> None:
    assert fields.text(ANSWER, "a", "b") == "text"
    assert fields.number(ANSWER, "a", "n") == 3
    assert fields.flag(ANSWER, "a", "yes") is True
    assert fields.value(ANSWER, "a", "null") is None
    assert fields.moment(ANSWER, "at") == datetime(2026, 5, 4, 12, tzinfo=UTC)
    assert fields.moment({"at": "2026-05-04T12:00:00"}, "at") == datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_accounts_are_people_programs_or_gone() -> None:
    assert fields.person(ANSWER, "user") == Person(id=7, login="alice", is_bot=False)
    assert fields.person(ANSWER, "bot") == Person(id=8, login="x[bot]", is_bot=True)
    assert fields.person(ANSWER["user"]) == Person(id=7, login="alice", is_bot=False)
    assert fields.person(ANSWER, "ghost") is None
    assert fields.person(ANSWER, "empty") is None


@pytest.mark.parametrize(
    ("read", "names", "message"),
    [
        (fields.value, ("x",), "no x"),
        (fields.value, ("a", "x"), "no a.x"),
        (fields.value, ("a", "b", "c"), "no a.b.c"),
        (fields.text, ("a", "n"), "int as a.n"),
        (fields.text, ("a", "null"), "NoneType as a.null"),
        (fields.number, ("a", "yes"), "bool as a.yes"),
        (fields.number, ("a", "b"), "str as a.b"),
        (fields.flag, ("a", "n"), "int as a.n"),
        (fields.moment, ("a", "b"), "'text' as a.b"),
        (fields.person, ("missing",), "no missing"),
        (fields.person, ("a",), "no id"),
    ],
)
def test_what_is_not_there_or_of_another_type_is_no_fact(
    read: object, names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(Unavailable, match=message):
        read(ANSWER, *names)  # type: ignore[operator]
