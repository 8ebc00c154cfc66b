"""Mistakes as people and programs read them."""

from __future__ import annotations

from policy.policy_errors import PolicyError, PolicyErrors


def error(line: int, what: str = "it is wrong", nearest: str | None = None) -> PolicyError:
    return PolicyError(
        file="p.yaml", line=line, column=2, path="a.b", what=what, allowed="x", nearest=nearest
    )


def test_a_mistake_is_one_line_with_its_place() -> None:
    assert error(3).text() == "p.yaml:3:2: a.b: it is wrong. Allowed: x."
    assert error(3, nearest="c").text() == "p.yaml:3:2: a.b: it is wrong. Allowed: x. Did you mean c?"
    assert error(3).as_json() == {
        "file": "p.yaml",
        "line": 3,
        "column": 2,
        "path": "a.b",
        "what": "it is wrong",
        "allowed": "x",
        "nearest": None,
    }


def test_all_mistakes_come_in_the_files_order_and_once() -> None:
    found = PolicyErrors([error(9), error(2, "b"), error(2, "a"), error(9)])
    assert [(e.line, e.what) for e in found.errors] == [(2, "a"), (2, "b"), (9, "it is wrong")]
    assert str(found).splitlines()[0] == "p.yaml has 3 mistakes:"
    assert str(PolicyErrors([error(1)])).splitlines()[0] == "p.yaml has 1 mistake:"
