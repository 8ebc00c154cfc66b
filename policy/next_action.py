"""What an agent should do next: a closed list, one for each answer.

An agent is a language model that reads tool results. A closed list with one sentence each keeps it
from inventing a step, such as approving for itself or trying the same call again.
"""

from __future__ import annotations

from enum import StrEnum


class NextAction(StrEnum):
    """The only things an agent is ever told to do."""

    NONE = "none"
    SHARE_LINK_AND_STOP = "share_link_and_stop"
    CHECK_REQUEST = "check_request"
    FIX_ARGUMENTS = "fix_arguments"
    SPLIT = "split"
    ASK_A_PERSON = "ask_a_person"


SENTENCES: dict[NextAction, str] = {
    NextAction.NONE: "Nothing is left to do; report the result to the user.",
    NextAction.SHARE_LINK_AND_STOP: (
        "Give the user this link and stop. A code owner decides on GitHub; you can't approve, and calling "
        "the tool again changes nothing. Call check_request only when the user asks."
    ),
    NextAction.CHECK_REQUEST: "Call check_request with this id; it waits for up to 45 seconds.",
    NextAction.FIX_ARGUMENTS: "Correct the arguments as the error says, then call the tool once more.",
    NextAction.SPLIT: "Split the change into smaller requests.",
    NextAction.ASK_A_PERSON: (
        "Tell the user what happened and ask them what to do. Do not try again by yourself."
    ),
}
"""One sentence for each action, in words for a language model."""
