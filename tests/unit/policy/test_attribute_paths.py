"""Comparison leaf by leaf, and paths as Terraform writes them."""

from __future__ import annotations

from typing import Any

import pytest

from policy import attribute_paths
from policy.plan import Absent, Masked, Number, Unknown


@pytest.mark.parametrize(
    ("path", "written"),
    [
        (("a",), "a"),
        (("a", "b-c", 0, "d"), "a.b-c[0].d"),
        (("tags", "on call"), 'tags["on call"]'),
        (("tags", 'a"b'), 'tags["a\\"b"]'),
        (("tags", ""), 'tags[""]'),
        (("tags", "$ownergate:sensitive:2"), "tags[(sensitive 2)]"),
        (("tags", "(sensitive 2)"), 'tags["(sensitive 2)"]'),
        ((), ""),
    ],
)
def test_write(path: attribute_paths.Path, written: str) -> None:
    assert attribute_paths.write(path) == written


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": None}, {"a": 1}, {"a": (None, 1)}),
        ({"a": None}, {}, {"a": (None, Absent())}),
        (None, {"a": 1, "b": None}, {"a": (Absent(), 1)}),
        ({"a": 1, "b": None}, None, {"a": (1, Absent())}),
        ({"a": []}, {"a": [1]}, {"a[0]": (Absent(), 1)}),
        ({"a": []}, {"a": {}}, {"a": ([], {})}),
        (
            {"a": [1, 2]},
            {"a": Masked(ordinal=1)},
            {"a[0]": (1, Masked(ordinal=1)), "a[1]": (2, Masked(ordinal=1))},
        ),
        ({"a": {"b": 1}}, {"a": Unknown()}, {"a.b": (1, Unknown())}),
        ({"a": Number(text="1.0")}, {"a": 1}, {"a": (Number(text="1.0"), 1)}),
        ("old", "new", {"": ("old", "new")}),
    ],
)
def test_compare(before: Any, after: Any, expected: dict[str, Any]) -> None:
    changes = attribute_paths.compare(before, after)
    assert {change.path: (change.before, change.after) for change in changes} == expected


def test_indexes_are_ordered_as_numbers() -> None:
    changes = attribute_paths.compare({"a": [0] * 11}, {"a": [1] * 11})
    assert [change.path for change in changes][-2:] == ["a[9]", "a[10]"]


def test_a_cause_marks_what_lies_below_and_above_it() -> None:
    changes = attribute_paths.compare({"a": {"b": 1}, "c": 1}, {"a": {"b": 2}, "c": 2}, forcing=[("a",)])
    assert [(change.path, change.forces_replacement) for change in changes] == [("a.b", True), ("c", False)]
