"""Counts and their words."""

from __future__ import annotations

import pytest

from policy.plan import Action, Summary


@pytest.mark.parametrize(
    ("summary", "verdict"),
    [
        (Summary(), "changes nothing"),
        (Summary(drifted=3), "changes nothing"),
        (Summary(replaces=1, updates=2), "REPLACES 1, updates 2"),
        (Summary(creates=1, deletes=2, forgets=3), "DELETES 2, FORGETS 3, creates 1"),
        (Summary(outputs=1), "changes 1 output"),
        (Summary(imports=1, moves=1, reads=1, outputs=2), "imports 1, moves 1, reads 1, changes 2 outputs"),
    ],
)
def test_verdict_says_the_worst_first(summary: Summary, verdict: str) -> None:
    assert summary.verdict() == verdict


@pytest.mark.parametrize(
    "name", ["creates", "updates", "deletes", "replaces", "reads", "moves", "forgets", "imports", "outputs"]
)
def test_every_count_but_drift_is_a_change(name: str) -> None:
    assert Summary(**{name: 1}).changes_anything
    assert Summary(**{name: 1}).as_json()[name] == 1


def test_drift_alone_is_no_change() -> None:
    assert not Summary(drifted=1).changes_anything


def test_actions_are_ordered_worst_first() -> None:
    assert min(Action, key=lambda action: action.severity) is Action.DELETE
    assert max(Action, key=lambda action: action.severity) is Action.NO_OP
