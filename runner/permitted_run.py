"""The execution itself, once its grant is spent: from here on there is an end to report, whatever it is.

Nothing in here raises. A grant that is spent can't be given back, so every way to end has a name:

| what happened | outcome |
|---|---|
| every step ended with 0 | succeeded |
| a step ended otherwise, or was stopped at its deadline | failed |
| no lease, or the sandbox refused to start | failed, and nothing was done |
| the sandbox broke after a step with the credential had begun | unknown |
| its processes can't be seen to be gone, or this program failed | unknown |
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog
from pydantic import JsonValue

from policy import terraform_plan
from policy.audit import Kind
from policy.receipt import LeaseRecord, Outcome, Residue
from policy.refusal import Refused
from policy.tools import StateAccess
from runner import call_ids, calls, leased_run, planning, reports, rescued_states, terraform_module
from runner.equipment import Equipment
from runner.execution_checks import Checked, Permitted
from runner.leased_run import Output, Ran, Released, Withheld
from runner.planning import Planned
from runner.sandbox.interface import Ended, SandboxCall, StateMount, StillRunning, TakeOut
from runner.secret_bytes import SecretBytes
from runner.terraform_state import LARGEST_STATE
from runner.trail import Trail

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How an execution ended.

    Attributes:
        reason: one or two sentences.
        ran: the run; None when nothing was started or its end is not known.
        second_plan: the structure of what a second plan says still differs; None when nothing does.
    """

    outcome: Outcome
    reason: str
    ran: Ran | None
    output: Output
    began: datetime
    leases: tuple[LeaseRecord, ...]
    residue: Residue = Residue.NOT_PLANNED
    second_plan: JsonValue = None
    state_rescued: bool = False


def run(equipment: Equipment, permitted: Permitted, grant_jwt: SecretBytes, *, trail: Trail) -> Finished:
    """Runs what was permitted and looks at what it left. Never raises after the grant is spent."""
    began = equipment.now()
    try:
        finished = _run(equipment, permitted, grant_jwt, trail, began)
    except StillRunning as still:
        return _without_run(Outcome.UNKNOWN, f"How it ended is not known: {still.refusal.what}.", began)
    except Refused as refused:
        why = f"Nothing was done, and the grant is spent: {refused.refusal.what}. {refused.refusal.remedy}"
        return _without_run(Outcome.FAILED, why, began)
    except Exception:  # noqa: BLE001  The grant is spent: an end must be reported, and it is not known.
        _log.exception("an execution broke off", request_id=permitted.checked.approved.id)
        why = "How it ended is not known: the runner failed while it ran. Look at its log and the target."
        return _without_run(Outcome.UNKNOWN, why, began)
    if finished.outcome is not Outcome.SUCCEEDED:
        return finished
    return _with_second_plan(equipment, permitted.checked, finished, trail)


def _run(
    equipment: Equipment, permitted: Permitted, grant_jwt: SecretBytes, trail: Trail, began: datetime
) -> Finished:
    checked = permitted.checked
    call = _call(equipment, permitted)
    ran = leased_run.run(
        equipment,
        call,
        credential=leased_run.credential_of(checked.tool, checked.arguments, grant_jwt=grant_jwt),
        trail=trail,
        purpose="execute",
        # Nothing is broken off halfway: after the start only the deadline ends it.
        cancelled=threading.Event(),
    )
    rescued = _rescue(equipment, checked, ran, trail)
    reason = reports.ending(ran) + (" The state that could not be stored is kept." if rescued else "")
    return Finished(
        outcome=_outcome(call, ran),
        reason=reason,
        ran=ran,
        output=ran.output,
        began=began,
        leases=() if ran.lease is None else (ran.lease,),
        state_rescued=rescued,
    )


def _outcome(call: SandboxCall, ran: Ran) -> Outcome:
    if ran.outcome.succeeded and len(ran.outcome.steps) == len(call.steps):
        return Outcome.SUCCEEDED
    begun = call.steps[: len(ran.outcome.steps)]
    broke = ran.outcome.ended is Ended.SANDBOX_FAILED
    return Outcome.UNKNOWN if broke and any(step.credential for step in begun) else Outcome.FAILED


def _call(equipment: Equipment, permitted: Permitted) -> SandboxCall:
    checked = permitted.checked
    made_by = equipment.policy.planning_tool(checked.tool)
    extra: dict[str, bytes] = {}
    if permitted.saved_plan is not None and made_by is not None and made_by.plan_file is not None:
        extra[made_by.plan_file] = permitted.saved_plan
    state = None
    if checked.tool.state is not StateAccess.NONE:
        path = None if checked.source is None else checked.source.path
        state = StateMount(
            folder=equipment.states.folder(checked.tool.target.name, path),
            writable=checked.tool.state is StateAccess.WRITE,
        )
    rescue = calls.in_module(checked.source, terraform_module.RESCUED_STATE)
    return calls.sandbox_call(
        checked.tool,
        call_ids.new(),
        checked.execution,
        files=calls.work_files(checked.tool, checked.source, extra),
        take_out=(TakeOut(path=rescue, max_bytes=LARGEST_STATE),) if state is not None else (),
        state=state,
    )


def _rescue(equipment: Equipment, checked: Checked, ran: Ran, trail: Trail) -> bool:
    path = calls.in_module(checked.source, terraform_module.RESCUED_STATE)
    state = ran.outcome.taken_out.get(path)
    if state is None:
        return False
    kept = rescued_states.keep(equipment.rescued, equipment.sealing, request=checked.approved.id, state=state)
    trail.note(Kind.STATE_RESCUED, {"sha256": kept.sha256, "bytes": kept.size})
    return True


def _with_second_plan(equipment: Equipment, checked: Checked, finished: Finished, trail: Trail) -> Finished:
    """Adds what a second plan says. That it can't be made changes nothing about what was done."""
    made_by = equipment.policy.planning_tool(checked.tool)
    if made_by is None or checked.source is None:
        return finished
    try:
        made = planning.plan(
            equipment,
            made_by,
            checked.arguments,
            checked.source,
            trail=trail,
            purpose="second plan",
            cancelled=threading.Event(),
        )
    except Refused as refused:
        return replace(finished, reason=f"{finished.reason} No second plan: {refused.refusal.what}.")
    except Exception:  # noqa: BLE001  What was done is known and must be reported.
        _log.exception("a second plan broke off", request_id=checked.approved.id)
        return replace(finished, reason=f"{finished.reason} No second plan: the runner failed.")
    leases = _leases(finished.leases, made.ran.lease)
    if not isinstance(made, Planned):
        reason = f"{finished.reason} No second plan: {made.why}."
        return replace(finished, leases=leases, reason=reason)
    summary = made.read.plan.summary
    if not summary.changes_anything:
        reason = f"{finished.reason} A second plan changes nothing."
        return replace(finished, leases=leases, reason=reason, residue=Residue.NONE)
    return replace(
        finished,
        leases=leases,
        reason=f"{finished.reason} A second plan still {summary.verdict()}.",
        residue=Residue.DIFFERS,
        second_plan=terraform_plan.structure(made.read.plan),
    )


def _leases(before: Sequence[LeaseRecord], more: LeaseRecord | None) -> tuple[LeaseRecord, ...]:
    return (*before, *(() if more is None else (more,)))


def _without_run(outcome: Outcome, reason: str, began: datetime) -> Finished:
    return Finished(
        outcome=outcome,
        reason=reason,
        ran=None,
        output=Withheld(why="nothing is known of it")
        if outcome is Outcome.UNKNOWN
        else Released(text="", cut_bytes=0),
        began=began,
        leases=(),
    )
