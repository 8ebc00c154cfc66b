"""Every sentence of the bot, snapshotted; and what an agent is told to do in every state."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from bot import wording
from policy.next_action import NextAction
from policy.states import State, Tier


def test_every_sentence(snapshot: SnapshotAssertion) -> None:
    sentences = {
        name: value for name, value in vars(wording).items() if name.isupper() and isinstance(value, str)
    }
    assert sentences == snapshot


def test_every_line(snapshot: SnapshotAssertion) -> None:
    assert [
        wording.commit_message("og-1", "terraform_apply demo: REPLACES 1"),
        wording.merge_title("og-1", 7),
        wording.successor_line("og-2", 8),
        wording.successor_line("og-2", None),
        wording.predecessor_line("og-0", 6),
        wording.joined_line(["bob", "dave"]),
        wording.waiting_line(1, ["alice"]),
        wording.waiting_line(2, ["alice", "carol"]),
        wording.waiting_line(1, []),
        wording.trail_cut(12, "og-1"),
        wording.output_cut(500, "og-1"),
    ] == snapshot


def test_what_an_agent_does_in_every_state(snapshot: SnapshotAssertion) -> None:
    table = {
        f"{tier.value} {state.value}": wording.next_action(tier, state, has_link=True, fixable=False).value
        for tier in Tier
        for state in State
    }
    assert table == snapshot


@pytest.mark.parametrize("state", list(State))
def test_an_agent_is_never_told_to_call_again_where_people_decided(state: State) -> None:
    action = wording.next_action(Tier.DESTRUCTIVE, state, has_link=True, fixable=False)
    if state in (State.DENIED, State.VOID, State.EXPIRED, State.UNKNOWN, State.FAILED, State.STALE):
        assert action is NextAction.ASK_A_PERSON
