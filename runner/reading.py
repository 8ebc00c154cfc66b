"""A read-only call: lease with the tool's read role → sandbox → revoke → powerless → redact → receipt.

GitHub is asked only for a tool that has a source. A planning tool that an agent calls by itself answers
with the structure of its plan and nothing that it printed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import assert_never

from pydantic import JsonValue

from policy import terraform_plan
from policy.canonical import Json
from policy.receipt import Outcome
from policy.refusal import Code, refuse
from policy.runner_protocol import Job, JobOutcome, JobResult
from policy.source import SourceArchive
from policy.states import Tier
from policy.tools import StateAccess, Tool
from runner import call_ids, calls, leased_run, planning, reports, source_reading
from runner.equipment import Equipment
from runner.leased_run import Output, Ran, Released, Withheld
from runner.planning import Planned, PlanningFailed
from runner.sandbox.interface import Ended, StateMount
from runner.trail import Trail

_NOTHING: Output = Released(text="", cut_bytes=0)


def read(
    equipment: Equipment,
    job: Job,
    tool: Tool,
    arguments: Mapping[str, Json],
    *,
    trail: Trail,
    cancelled: threading.Event,
) -> JobResult:
    """Carries out a read-only call.

    Raises:
        Refused: when nothing was started.
    """
    if tool.tier is not Tier.READ:
        raise refuse(
            Code.TOOL_DIFFERS,
            f"{tool.name} as a read-only call",
            rule="A destructive tool runs only as an execution, with a grant.",
            remedy="Ask for it as what it is.",
        )
    source = source_reading.for_plan(equipment.github, job, tool, arguments)
    if tool.preview is not None and source is not None:
        return _plan(equipment, job, tool, arguments, source, trail, cancelled)
    image_sha256 = equipment.sandbox.image_sha256(tool.image)
    began = equipment.now()
    ran = leased_run.run(
        equipment,
        calls.sandbox_call(
            tool,
            call_ids.new(),
            calls.execution(tool, arguments, source=source, image_sha256=image_sha256),
            files=calls.work_files(tool, source, {}),
            take_out=(),
            state=_state(equipment, tool, source),
        ),
        credential=leased_run.credential_of(tool, arguments, grant_jwt=None),
        trail=trail,
        purpose="read",
        cancelled=cancelled,
    )
    good = ran.outcome.succeeded and isinstance(ran.output, Released)
    outcome = Outcome.SUCCEEDED if good else Outcome.FAILED
    trail.give_time()
    reason = _reason(ran)
    signed = reports.sign(
        equipment,
        job,
        tool,
        outcome,
        reason,
        ran=ran,
        leases=() if ran.lease is None else (ran.lease,),
        output=ran.output,
        began=began,
        image_sha256=image_sha256,
    )
    return reports.result(
        equipment.settings.name, JobOutcome(outcome.value), reason, output=ran.output, receipt=signed
    )


def _plan(
    equipment: Equipment,
    job: Job,
    tool: Tool,
    arguments: Mapping[str, Json],
    source: SourceArchive,
    trail: Trail,
    cancelled: threading.Event,
) -> JobResult:
    began = equipment.now()
    made = planning.plan(equipment, tool, arguments, source, trail=trail, purpose="read", cancelled=cancelled)
    outcome, reason = Outcome.FAILED, ""
    structure: JsonValue = None
    output: Output = _NOTHING
    match made:
        case Planned():
            outcome, reason = Outcome.SUCCEEDED, f"The plan {made.read.plan.summary.verdict()}."
            structure = terraform_plan.structure(made.read.plan)
        case PlanningFailed():
            reason = f"No plan was made: {made.why}."
            output = Released(text=made.output, cut_bytes=0)
        case _:
            assert_never(made)
    trail.give_time()
    signed = reports.sign(
        equipment,
        job,
        tool,
        outcome,
        reason,
        ran=made.ran,
        leases=() if made.ran.lease is None else (made.ran.lease,),
        output=output,
        began=began,
        image_sha256=made.ran.outcome.image_sha256,
    )
    return reports.result(
        equipment.settings.name,
        JobOutcome(outcome.value),
        reason,
        output=output,
        structure=structure,
        receipt=signed,
    )


def _state(equipment: Equipment, tool: Tool, source: SourceArchive | None) -> StateMount | None:
    if tool.state is StateAccess.NONE:
        return None
    path = None if source is None else source.path
    return StateMount(folder=equipment.states.folder(tool.target.name, path), writable=False)


def _reason(ran: Ran) -> str:
    if ran.outcome.ended is Ended.CANCELLED:
        return "The call was cancelled."
    if isinstance(ran.output, Withheld):
        return f"The call ran, but its output is withheld: {ran.output.why}."
    return reports.ending(ran)
