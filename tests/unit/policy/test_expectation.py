"""Expectations: read strictly, and every way to exceed one told."""

from __future__ import annotations

from typing import Any

import pytest

from policy import expectation
from policy.refusal import Code, Refused
from tests.unit.policy import plan_examples


def exceeded(value: Any, case: str = "worst") -> tuple[str, ...]:
    return expectation.exceeded(expectation.parse(value), plan_examples.read(case))


def test_within() -> None:
    assert exceeded({}) == ()
    assert exceeded({"deletes": 3, "replaces": 2, "updates": 9, "creates": 0}) == ()


def test_beyond_a_count() -> None:
    assert exceeded({"deletes": 0, "replaces": 1, "updates": 2}) == (
        "The plan deletes 3; you expected at most 0.",
        "The plan replaces 2; you expected at most 1.",
    )


def test_beyond_the_named_resources() -> None:
    names = [resource.address for resource in plan_examples.read("worst").resources]
    assert exceeded({"resources": names}) == ()
    assert exceeded({"resources": names[2:]}) == (
        "You did not expect terraform_data.gone to change; the plan would delete it.",
        'You did not expect terraform_data.keyed["…"] to change; the plan would delete it.',
    )
    assert len(exceeded({"resources": []}, "import")) == 1


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "none",
        {"forgets": 0},
        {"replace": 0},
        {"replaces": -1},
        {"replaces": True},
        {"replaces": "0"},
        {"replaces": None},
        {"resources": "a.b"},
        {"resources": [1]},
        {"resources": [""]},
        {"resources": ["a.b"] * 1001},
    ],
)
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(Refused) as caught:
        expectation.parse(value)
    assert caught.value.refusal.code is Code.EXPECTATION_INVALID
