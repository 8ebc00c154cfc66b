"""Computes a plan: the planning tool's steps with the plan's own lease, then a fresh sandbox that reads it.

 1. the state is looked at: only listed providers, its lineage and serial;
 2. the planning tool runs on the source, the state read-only, with a lease that may only read;
 3. the lease is revoked and seen powerless; the plan's bytes are taken out and hashed;
 4. `terraform init` must have recorded the policy's backend;
 5. a fresh sandbox turns the bytes into JSON (`plan_reading`), which is checked, masked and read;
 6. the credential must not stand in it, in any coding;
 7. the state must be as it was.

What planning printed is never released when it succeeds: a module can print any value that it can read.
When it fails, the end of what it printed is, redacted, because nobody could repair a module without it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from policy.canonical import Json
from policy.manifest import TerraformState
from policy.refusal import Code, refuse
from policy.source import SourceArchive
from policy.tools import StateAccess, Tool
from runner import call_ids, calls, leased_run, plan_reading, reports, terraform_module, terraform_state
from runner.equipment import Equipment
from runner.leased_run import Ran, Released
from runner.plan_reading import ReadPlan
from runner.sandbox.interface import SandboxCall, StateMount, TakeOut
from runner.trail import Trail

LARGEST_PLAN = 16 * 1024 * 1024
"""Bytes of a saved plan at most."""

_LARGEST_RECORD = 64 * 1024
_TAIL_CHARACTERS = 8 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan that was made and read."""

    ran: Ran
    saved: bytes = field(repr=False)
    read: ReadPlan
    state: TerraformState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningFailed:
    """No plan came of it. `output` is the redacted end of what was printed, or empty."""

    ran: Ran
    why: str
    output: str


def plan(
    equipment: Equipment,
    planning: Tool,
    arguments: Mapping[str, Json],
    source: SourceArchive,
    *,
    trail: Trail,
    purpose: str,
    cancelled: threading.Event,
) -> Planned | PlanningFailed:
    """Makes a plan and reads it.

    Raises:
        Refused: for what the state, the source, the lease or the plan itself refuses.
    """
    folder = equipment.states.folder(planning.target.name, source.path)
    before = terraform_state.see(folder)
    terraform_state.check_providers(before, planning.target.providers)
    ran = leased_run.run(
        equipment,
        _call(equipment, planning, arguments, source, StateMount(folder=folder, writable=False)),
        credential=leased_run.credential_of(planning, arguments, grant_jwt=None),
        trail=trail,
        purpose=purpose,
        cancelled=cancelled,
    )
    if not isinstance(ran.output, Released):
        return PlanningFailed(ran=ran, why=ran.output.why, output="")
    if not ran.outcome.succeeded:
        why = reports.ended_how(ran.outcome)
        return PlanningFailed(ran=ran, why=why, output=_tail(ran.output.text))
    saved = ran.outcome.taken_out.get(_saved_path(planning, source))
    if saved is None:
        why = f"no plan of up to {LARGEST_PLAN} bytes was left in {planning.plan_file}"
        return PlanningFailed(ran=ran, why=why, output=_tail(ran.output.text))
    if planning.state is not StateAccess.NONE:
        record = calls.in_module(source, terraform_module.BACKEND_RECORD)
        terraform_module.check_backend(ran.outcome.taken_out.get(record))
    read = plan_reading.read(equipment.sandbox, planning, saved, source, cancelled)
    if leased_run.holds_credential(ran, read.masked):
        raise refuse(
            Code.CREDENTIAL_LITERAL,
            "the plan holds the credential that planning was given",
            rule="A plan is committed and shown, so no secret may be in it.",
            remedy="Take out what reads /run/credential in the module. That credential is dead already.",
        )
    after = terraform_state.see(folder)
    if after != before:
        raise refuse(
            Code.STATE_CHANGED,
            "the state changed while the plan was made",
            rule="A plan is made on one state.",
            remedy="Wait until nothing else works on this state, then ask again.",
        )
    return Planned(ran=ran, saved=saved, read=read, state=before.made_on)


def _call(
    equipment: Equipment,
    planning: Tool,
    arguments: Mapping[str, Json],
    source: SourceArchive,
    state: StateMount,
) -> SandboxCall:
    image_sha256 = equipment.sandbox.image_sha256(planning.image)
    return calls.sandbox_call(
        planning,
        call_ids.new(),
        calls.execution(planning, arguments, source=source, image_sha256=image_sha256),
        files=calls.work_files(planning, source, {}),
        take_out=(
            TakeOut(path=_saved_path(planning, source), max_bytes=LARGEST_PLAN),
            TakeOut(path=calls.in_module(source, terraform_module.BACKEND_RECORD), max_bytes=_LARGEST_RECORD),
        ),
        state=None if planning.state is StateAccess.NONE else state,
    )


def _saved_path(planning: Tool, source: SourceArchive) -> str:
    return calls.in_module(source, planning.plan_file or "")


def _tail(text: str) -> str:
    return text if len(text) <= _TAIL_CHARACTERS else f"[…]\n{text[-_TAIL_CHARACTERS:]}"
