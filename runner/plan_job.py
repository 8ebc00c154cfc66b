"""A planning job: from the call of a destructive tool to all that its manifest binds.

The result holds the source as read at GitHub, the plan's digests and counts, the masked JSON, the plan
sealed for this request, and exactly what an execution would run. For a tool without a preview there is
no plan, and the execution alone is what people are shown.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Mapping

from policy import manifest, terraform_plan
from policy.canonical import Json
from policy.receipt import LeaseRecord, Outcome
from policy.refusal import Code, refuse
from policy.runner_protocol import Job, JobOutcome, JobResult, PlanResult
from policy.source import SourceArchive
from policy.states import Tier
from policy.tools import Tool
from runner import calls, planning, reports, source_reading
from runner.equipment import Equipment
from runner.leased_run import Released
from runner.planning import Planned, PlanningFailed
from runner.trail import Trail


def plan(
    equipment: Equipment,
    job: Job,
    tool: Tool,
    arguments: Mapping[str, Json],
    *,
    trail: Trail,
    cancelled: threading.Event,
) -> JobResult:
    """Plans a destructive call.

    Raises:
        Refused: for what the source, the state, the lease or the plan itself refuses.
    """
    if tool.tier is not Tier.DESTRUCTIVE:
        raise refuse(
            Code.TOOL_DIFFERS,
            f"{tool.name} as a call to be planned",
            rule="Only destructive tools are planned for approval.",
            remedy="Ask for it as a read-only call.",
        )
    source = source_reading.for_plan(equipment.github, job, tool, arguments)
    execution = calls.execution(
        tool, arguments, source=source, image_sha256=equipment.sandbox.image_sha256(tool.image)
    )
    made_by = equipment.policy.planning_tool(tool)
    if made_by is None or source is None:
        return _no_preview(equipment, source, execution)
    began = equipment.now()
    made = planning.plan(
        equipment, made_by, arguments, source, trail=trail, purpose="plan", cancelled=cancelled
    )
    trail.give_time()
    lease = made.ran.lease
    leases: tuple[LeaseRecord, ...] = () if lease is None else (lease,)
    if isinstance(made, Planned):
        outcome, end = Outcome.SUCCEEDED, _planned(equipment, job, source, execution, made)
    else:
        outcome, end = Outcome.FAILED, _failed(equipment, made)
    signed = reports.sign(
        equipment,
        job,
        made_by,
        outcome,
        end.reason,
        ran=made.ran,
        leases=leases,
        output=Released(text=end.output, cut_bytes=0),
        began=began,
        image_sha256=made.ran.outcome.image_sha256,
    )
    return reports.with_receipt(end, signed)


def _no_preview(
    equipment: Equipment, source: SourceArchive | None, execution: manifest.Execution
) -> JobResult:
    return reports.result(
        equipment.settings.name,
        JobOutcome.PLANNED,
        "This tool has no preview: what it will change can't be shown beforehand.",
        plan=PlanResult(
            source=None if source is None else source.described(),
            plan=None,
            masked_plan=None,
            sealed_plan=None,
            execution=execution,
        ),
    )


def _planned(
    equipment: Equipment,
    job: Job,
    source: SourceArchive,
    execution: manifest.Execution,
    made: Planned,
) -> JobResult:
    read = made.read
    summary = read.plan.summary
    structure = terraform_plan.structure(read.plan)
    if not summary.changes_anything:
        reason = "The plan changes nothing."
        return reports.result(equipment.settings.name, JobOutcome.NO_CHANGE, reason, structure=structure)
    sealed = equipment.sealing.seal(
        made.saved, request=job.request_id, source=source.sha256, plan_sha256=read.sha256
    )
    result = PlanResult(
        source=source.described(),
        plan=manifest.Plan(
            kind=read.kind,
            sha256=read.sha256,
            masked_json_sha256=read.masked_sha256,
            summary=read.counts,
            state=made.state,
            objects=None,
        ),
        masked_plan=read.masked.decode(),
        sealed_plan=base64.b64encode(sealed).decode(),
        execution=execution,
    )
    return reports.result(
        equipment.settings.name,
        JobOutcome.PLANNED,
        f"The plan {summary.verdict()}.",
        structure=structure,
        plan=result,
    )


def _failed(equipment: Equipment, made: PlanningFailed) -> JobResult:
    return reports.result(
        equipment.settings.name,
        JobOutcome.FAILED,
        f"No plan was made: {made.why}.",
        output=Released(text=made.output, cut_bytes=0),
    )
