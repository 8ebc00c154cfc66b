"""Each value has a form that no other value has."""

from __future__ import annotations

from itertools import combinations

import pytest

from policy import plan_values
from policy.plan import Absent, AttributeChange, Masked, Number, PartlyMasked, Unknown, Value

FORMS: list[tuple[Value, str]] = [
    (None, "null"),
    (True, "true"),
    (1, "1"),
    ("1", '"1"'),
    ("(none)", '"(none)"'),
    ("a\nb\t\\", '"a\\nb\\t\\\\"'),
    ([], "[]"),
    ({}, "{}"),
    (Number(text="1.0"), "1.0"),
    (Masked(ordinal=2), "(sensitive 2)"),
    ("(sensitive 2)", '"(sensitive 2)"'),
    (PartlyMasked(parts=("a", Masked(ordinal=1))), '"a" + (sensitive 1)'),
    ('a" + (sensitive 1)', '"a\\" + (sensitive 1)"'),
    (Unknown(), "(known after apply)"),
    (Absent(), "(none)"),
]


@pytest.mark.parametrize(("value", "form"), FORMS)
def test_write(value: Value, form: str) -> None:
    assert plan_values.write(value) == form


def test_no_two_forms_are_alike() -> None:
    assert all(one[1] != other[1] for one, other in combinations(FORMS, 2))


def lines(before: Value, after: Value, *, forces: bool = False) -> list[str]:
    change = AttributeChange(path="a", before=before, after=after, forces_replacement=forces, sensitive=False)
    return plan_values.change_lines(change)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Absent(), 1, ["+ a: 1"]),
        (1, Absent(), ["- a: 1 -> (none)"]),
        (1, 2, ["~ a: 1 -> 2"]),
        (Absent(), Absent(), ["~ a: (none) -> (none)"]),
        ("x\ny", "x\nz", ["~ a:", '      "x"', '    - "y"', '    + "z"']),
        (Absent(), "x\n", ["+ a:", '    + "x"', '    + ""']),
        ("x\n", Absent(), ["- a:", '    - "x"', '    - ""']),
        ("x\n", None, ["~ a:", '    - "x"', '    - ""', "    + null"]),
    ],
)
def test_change_lines(before: Value, after: Value, expected: list[str]) -> None:
    if isinstance(before, Absent) and isinstance(after, Absent):
        expected = ["+ a: (none) -> (none)"]
    assert lines(before, after) == expected


def test_a_cause_is_marked() -> None:
    assert lines(1, 2, forces=True) == ["! a: 1 -> 2   <- forces the replacement"]
    assert lines(Absent(), "x\n", forces=True)[:2] == ["! a:   <- forces the replacement", "    - (none)"]


def test_very_long_texts_are_shown_one_after_the_other() -> None:
    old = "\n".join(["same"] * (plan_values.MOST_LINES_COMPARED + 1))
    told = lines(old, old + "\n")
    assert len(told) == 1 + (plan_values.MOST_LINES_COMPARED + 1) + (plan_values.MOST_LINES_COMPARED + 2)
