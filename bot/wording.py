"""Every sentence that the bot says to people and agents, in one place.

Nothing here holds text that somebody else chose, except names that `policy.inert_text` has made
powerless. Sentences for agents never repeat what stands in a pull request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policy.inert_text import code
from policy.next_action import NextAction
from policy.states import State, Tier

# --- Causes: why a request is in its state ---------------------------------------------------------

RECEIVED: Final = "The call was received and waits for a runner."
READING_SOURCE: Final = "The call was received; its source and owners are being read at GitHub."
GITHUB_TROUBLE: Final = "GitHub did not take it at the last try; it is tried again by itself."
GITHUB_SILENT: Final = "GitHub can't be read at the moment; this is tried again by itself."
PLANNING: Final = "A runner computes what this would change."
NO_PREVIEW: Final = "NO PREVIEW"
PLAN_FAILED: Final = "Planning failed."
PUBLISHING: Final = "The plan is ready; its pull request is being opened."
PENDING: Final = "It waits for the approval of code owners on GitHub."
PENDING_PARTLY: Final = "It is approved in part and waits for further approvals on GitHub."
GRANTED: Final = "It was approved and waits for a runner."
CLAIMED: Final = "A runner has claimed it and checks it once more."
RUNNING_READ: Final = "It runs in its sandbox."
RUNNING: Final = "The approved plan is being carried out in its sandbox."
SUCCEEDED_READ: Final = "It ran; the output is below."
SUCCEEDED: Final = "The approved change was carried out once."
FAILED_BEFORE_START: Final = "A runner claimed it and could not start it. Nothing ran."
FAILED: Final = "It ran and failed."
NO_CHANGE: Final = "There is nothing to do: the plan changes nothing."
CANCELLED: Final = "The agent that asked for it took it back."
EXPIRED_WAIT: Final = "Nobody approved it in time."
EXPIRED_GRANT: Final = "It was approved, but no runner claimed it in time."
EXPIRED_PLAN: Final = "Its plan became too old before it was carried out."
DENIED: Final = "A code owner requested changes."
VOID: Final = "It can't be approved any more."
APPROVAL_LOST: Final = "An approval that it rested on no longer counts."
TOOL_CHANGED: Final = "The tool's declaration changed since this was asked for."
STALE: Final = "Another request changed the same thing first."
REPLANNED: Final = "It is planned anew because somebody asked for that."
STALE_PLAN: Final = "What it was planned on has changed since."
REFUSED_BY_RUNNER: Final = "A runner checked it and refused to carry it out."
UNKNOWN: Final = (
    "The runner can't say how it ended, so its outcome is unknown. It is never tried again by itself."
)
NOT_TAKEN: Final = "No runner took it in time."
NOT_PLANNED: Final = "No runner planned it in time."
LOST_READ: Final = "The runner that took it fell silent."
LOST_PLAN: Final = "The runner that planned it fell silent, twice."
LOST_EXECUTION: Final = (
    "The runner fell silent after it had claimed the approval. What it did is not known, and it is never "
    "tried again by itself."
)
LATE_RECEIPT: Final = "Afterwards the runner sent its signed receipt: it {outcome}."
PUBLISHING_FAILED: Final = "Its pull request could not be opened."
RUNNER_FAILED_BEFORE_CLAIM: Final = "A runner could not begin; it is tried again. It said: {reason}"
MERGE_FAILED: Final = (
    "The change was carried out, but its pull request could not be merged. The state stays locked until "
    "somebody has merged it by hand or unlocked it."
)
STATE_RESCUED: Final = (
    "It ran, but the state could not be stored where it belongs. The runner keeps it sealed, and the lock "
    "stays until somebody has put it back."
)
PAUSED: Final = "Claims are paused by an administrator."
LOCKED: Final = "It waits for another request on the same state to finish."
NO_RUNNER: Final = "No runner of the pool {pool} has asked for work lately."
NO_AGREEING_RUNNER: Final = "The runners of the pool {pool} have another policy.yaml than the bot."

# --- What agents are told to do ---------------------------------------------------------------------


def next_action(tier: Tier, state: State, *, has_link: bool, fixable: bool) -> NextAction:
    """What an agent should do about a request in this state.

    Args:
        has_link: its pull request is open and can be given to the user.
        fixable: it was refused for something that the agent can correct.
    """
    match state:
        case State.RECEIVED | State.PLANNING | State.CLAIMED | State.RUNNING | State.GRANTED:
            return NextAction.CHECK_REQUEST
        case State.PENDING:
            return NextAction.SHARE_LINK_AND_STOP if has_link else NextAction.CHECK_REQUEST
        case State.SUCCEEDED | State.NO_CHANGE | State.CANCELLED:
            return NextAction.NONE
        case State.REFUSED:
            return NextAction.FIX_ARGUMENTS if fixable else NextAction.ASK_A_PERSON
        case State.FAILED if tier is Tier.READ and fixable:
            return NextAction.FIX_ARGUMENTS
        case _:
            return NextAction.ASK_A_PERSON


# --- The pull request --------------------------------------------------------------------------------

CHECK_NAME: Final = "ownergate"

HEADLINES: Final[dict[State, str]] = {
    State.RECEIVED: "received",
    State.PLANNING: "being planned",
    State.PENDING: "waiting for approval",
    State.GRANTED: "approved, waiting for a runner",
    State.CLAIMED: "approved, about to run",
    State.RUNNING: "running",
    State.SUCCEEDED: "done",
    State.FAILED: "failed",
    State.UNKNOWN: "outcome unknown",
    State.REFUSED: "refused by the runner",
    State.NO_CHANGE: "nothing to do",
    State.DENIED: "denied",
    State.EXPIRED: "expired",
    State.CANCELLED: "cancelled",
    State.VOID: "void",
    State.STALE: "stale",
}

CONCLUSIONS: Final[dict[State, str]] = {
    State.SUCCEEDED: "success",
    State.FAILED: "failure",
    State.UNKNOWN: "failure",
    State.REFUSED: "failure",
    State.NO_CHANGE: "neutral",
    State.DENIED: "failure",
    State.EXPIRED: "timed_out",
    State.CANCELLED: "cancelled",
    State.VOID: "cancelled",
    State.STALE: "cancelled",
}
"""The check run's conclusion in each final state, in GitHub's words."""

NOTHING_RUNS_TWICE: Final = "Nothing here runs a second time; ask for the change anew."
ONLY_A_REPLAN: Final = "This pull request can't be approved any more. Ask for the change anew."
SOMEBODY_MUST_LOOK: Final = (
    "**Somebody must look at the target before anything else changes it.** The lock on it stays until an "
    "administrator frees it."
)


def commit_message(request_id: str, title: str) -> str:
    """The message of the one commit; GitHub shows its first line."""
    return (
        f"{title}\n\nAsked for through ownergate as {request_id}. Approving the pull request runs it once.\n"
    )


def merge_title(request_id: str, number: int) -> str:
    """The first line of the merge commit."""
    return f"Merge #{number}: {request_id} was approved and carried out"


def successor_line(successor_id: str, number: int | None) -> str:
    """Points from a request to the one that replaces it."""
    where = f" in #{number}" if number is not None else ""
    return f"It is planned anew as {code(successor_id)}{where}. Approvals don't carry over."


def predecessor_line(predecessor_id: str, number: int | None) -> str:
    """Points from a request to the one that it replaces."""
    where = f" (#{number})" if number is not None else ""
    return f"It replaces {code(predecessor_id)}{where}. Approvals don't carry over."


def joined_line(logins: Sequence[str]) -> str:
    """Says who else asked for the same and so can't approve it."""
    names = ", ".join(code(login) for login in logins)
    return f"Also asked for by an agent of {names}, who therefore can't approve it either."


def waiting_line(still_needed: int, may_approve: Sequence[str]) -> str:
    """Says what is missing and who could give it."""
    people = "1 further approval" if still_needed == 1 else f"{still_needed} further approvals"
    if not may_approve:
        return (
            f"{people} needed, and **nobody can give it**: no owner of these paths may approve this request."
        )
    return f"{people} needed, from: {', '.join(code(login) for login in may_approve)}."


def trail_cut(omitted: int, request_id: str) -> str:
    """Says that the oldest events don't stand in the comment, and where they are."""
    return f"The oldest {omitted} events don't fit here. `ownergate audit show {request_id}` has all of them."


def output_cut(characters: int, request_id: str) -> str:
    """Says that the output doesn't stand whole in the comment."""
    return f"{characters} more characters are left out; `check_request` of {request_id} has them."


OUTPUT_HIDDEN: Final = "The output is not shown here because a part of it looks like {shape}."
EDITED_IN_PLACE: Final = "This comment is updated in place."
