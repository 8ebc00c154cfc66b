"""The table of states."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.states import TRANSITIONS, State, Tier, diagram, is_final, may_follow


@pytest.mark.parametrize("tier", Tier)
def test_every_state_that_can_be_reached_is_in_the_table_or_final(tier: Tier) -> None:
    reached = {State.RECEIVED}
    todo = [State.RECEIVED]
    while todo:
        for after in TRANSITIONS[tier].get(todo.pop(), frozenset()) - reached:
            reached.add(after)
            todo.append(after)
    assert set(TRANSITIONS[tier]) <= reached
    assert {state for state in reached if state not in TRANSITIONS[tier]} == {
        s for s in reached if is_final(s)
    }


def test_every_state_is_used() -> None:
    used = {State.RECEIVED}
    for table in TRANSITIONS.values():
        for states in table.values():
            used |= states
    assert used == set(State)


def test_nothing_runs_without_a_claim_and_nothing_is_claimed_without_a_grant() -> None:
    table = TRANSITIONS[Tier.DESTRUCTIVE]
    assert {state for state, after in table.items() if State.RUNNING in after} == {State.CLAIMED}
    assert {state for state, after in table.items() if State.CLAIMED in after} == {State.GRANTED}
    assert {state for state, after in table.items() if State.GRANTED in after} == {State.PENDING}


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("state", [s for s in State if is_final(s)])
def test_final_states_have_no_successor(tier: Tier, state: State) -> None:
    assert not any(may_follow(tier, state, after) for after in State)


def test_a_read_call_never_waits_for_people() -> None:
    assert State.PENDING not in {s for states in TRANSITIONS[Tier.READ].values() for s in states}


def test_the_diagram_has_one_arrow_for_each_transition() -> None:
    text = diagram(Tier.DESTRUCTIVE)
    arrows = sum(len(after) for after in TRANSITIONS[Tier.DESTRUCTIVE].values())
    assert text.count("-->") == arrows + 1 + text.count("--> [*]")
    assert "    pending --> granted\n" in text


@pytest.mark.parametrize("tier", Tier)
def test_the_documentation_shows_the_diagram_of_the_table(tier: Tier) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "states.md").read_text()
    assert f"```mermaid\n{diagram(tier)}```" in page
