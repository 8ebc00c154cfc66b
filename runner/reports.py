"""What the runner says at the end of a job: the result for the bot and the signed receipt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from pydantic import JsonValue

from policy import canonical, receipt
from policy.agent_protocol import RefusalView
from policy.receipt import LeaseRecord, Outcome, Receipt, Residue
from policy.refusal import Code, Refusal
from policy.runner_protocol import Job, JobOutcome, JobResult, PlanResult
from policy.tools import Tool
from runner.equipment import Equipment
from runner.leased_run import Output, Ran, Released, Withheld
from runner.sandbox.interface import SandboxOutcome

NOT_NOW = frozenset(
    {
        Code.CLOCK_DIFFERS,
        Code.GITHUB_UNAVAILABLE,
        Code.POLICY_DIFFERS,
        Code.PROGRAM_MISSING,
        Code.SANDBOX_NOT_ISOLATED,
        Code.STATE_BUSY,
        Code.VAULT_SEALED,
        Code.VAULT_UNREACHABLE,
    }
)
"""Refusals that say nothing about the request: something around this runner is not as it must be.

They end as `failed`, so a granted request that was not claimed yet stays good and can be tried again.
"""


def refused(runner: str, refusal: Refusal) -> JobResult:
    """The result of a job that a rule said no to before anything was spent."""
    match refusal.code:
        case Code.STATE_CHANGED:
            outcome = JobOutcome.STALE
        case code if code in NOT_NOW:
            outcome = JobOutcome.FAILED
        case _:
            outcome = JobOutcome.REFUSED
    return result(runner, outcome, f"{refusal.what}.", refusal=refusal)


def result(
    runner: str,
    outcome: JobOutcome,
    reason: str,
    *,
    refusal: Refusal | None = None,
    output: Output | None = None,
    structure: JsonValue = None,
    plan: PlanResult | None = None,
    receipt: str | None = None,
) -> JobResult:
    """One job's end."""
    released = output if isinstance(output, Released) else Released(text="", cut_bytes=0)
    view = None
    if refusal is not None:
        view = RefusalView(
            code=refusal.code.value, what=refusal.what, rule=refusal.rule, remedy=refusal.remedy
        )
    return JobResult(
        runner=runner,
        outcome=outcome,
        reason=reason,
        refusal=view,
        output=released.text,
        output_cut_bytes=released.cut_bytes,
        structure=structure,
        plan=plan,
        receipt=receipt,
    )


def with_receipt(ended: JobResult, signed: str) -> JobResult:
    """The same result with its receipt."""
    return replace(ended, receipt=signed)


def sign(
    equipment: Equipment,
    job: Job,
    tool: Tool,
    outcome: Outcome,
    reason: str,
    *,
    ran: Ran | None,
    leases: Sequence[LeaseRecord],
    output: Output,
    began: datetime,
    image_sha256: str,
    digest: str | None = None,
    grant_id: str | None = None,
    residue: Residue = Residue.NOT_PLANNED,
    state_rescued: bool = False,
) -> str:
    """Signs the receipt of what ran, over the newest tip of the audit chain that was seen.

    Raises:
        OSError: when the tip can't be put on the disk: nothing is signed that could be forgotten.
    """
    released = output if isinstance(output, Released) else Released(text="", cut_bytes=0)
    steps = () if ran is None else ran.outcome.steps
    equipment.chain.save()
    return receipt.sign(
        Receipt(
            request_id=job.request_id,
            digest=digest,
            grant_id=grant_id,
            tool=tool.name,
            target=tool.target.name,
            runner=equipment.settings.name,
            outcome=outcome,
            exit_code=steps[-1].exit_code if steps else None,
            reason=reason,
            kernel="" if ran is None else ran.outcome.kernel,
            image_sha256=image_sha256,
            started_at=steps[0].started_at if steps else began,
            ended_at=steps[-1].ended_at if steps else equipment.now(),
            leases=tuple(leases),
            output_sha256=canonical.sha256_bytes(released.text.encode()),
            output_cut_bytes=released.cut_bytes,
            residue=residue,
            state_rescued=state_rescued,
            audit_tip=equipment.chain.remembered or job.audit_tip,
        ),
        equipment.receipt_key,
    )


def ending(ran: Ran) -> str:
    """How a run ended, as a sentence."""
    sentence = ended_how(ran.outcome)
    if isinstance(ran.output, Withheld):
        sentence += f"; the output is withheld, because {ran.output.why}"
    return f"{sentence[:1].upper()}{sentence[1:]}."


def ended_how(outcome: SandboxOutcome) -> str:
    """How a sandbox ended, as half a sentence."""
    if outcome.reason:
        return outcome.reason.rstrip(".")
    if outcome.succeeded:
        return "every step ended with exit code 0"
    code = outcome.steps[-1].exit_code if outcome.steps else None
    return f"step {len(outcome.steps)} ended with exit code {code}"
