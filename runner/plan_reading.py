"""Reads a saved plan where nothing that ran during planning can reach: in a fresh sandbox, from its bytes.

Planning runs code that nobody has reviewed yet. So what people are shown is never what the planning
sandbox says about its plan: the plan's bytes are taken out, hashed, and turned into JSON by a sandbox
without lease, state, source or network, in which nothing but the plan and Terraform has ever been.
The same is done again, from the same bytes, before an execution.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType

from policy import canonical, terraform_plan
from policy.plan import Plan
from policy.refusal import Code, Refused, refuse
from policy.source import SourceArchive
from policy.tools import Preview, Tool
from runner import call_ids, plan_file, terraform_module
from runner.sandbox import interface
from runner.sandbox.interface import Ended, Sandbox, SandboxCall, StepCall

LARGEST_DOCUMENT = 32 * 1024 * 1024
"""Bytes of the plan's JSON at most."""

READING_CPU_MILLIS = 2000
"""Thousandths of a CPU at least: this is the runner's own work, and an approved request waits for it."""

_NAME = "plan.bin"
_ARGV = ("terraform", "show", "-json", "-no-color", _NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """A saved plan as a fresh sandbox read it.

    Attributes:
        kind: which reader it is for.
        sha256: digest of the plan's bytes.
        masked: canonical JSON without sensitive values.
        plan: the masked JSON, read.
    """

    kind: str
    sha256: str
    masked: bytes = field(repr=False)
    plan: Plan = field(repr=False)

    @property
    def masked_sha256(self) -> str:
        """Digest of the masked JSON."""
        return canonical.sha256_bytes(self.masked)

    @property
    def counts(self) -> Mapping[str, int]:
        """The plan's counts by name, as the manifest has them."""
        return asdict(self.plan.summary)


def read(
    sandbox: Sandbox, planning: Tool, saved: bytes, source: SourceArchive, cancelled: threading.Event
) -> ReadPlan:
    """Reads a saved plan and refuses what would run unseen when it is carried out.

    Args:
        sandbox: where to read it.
        planning: the tool that made it: its image, its target's providers, its limits but for CPU and output.
        saved: the plan's bytes.
        source: the source that it must have been made from.
        cancelled: ends the reading.

    Raises:
        Refused: by `plan_file`, by `policy.terraform_plan`, or `plan_invalid` when it can't be read.
    """
    match planning.preview:
        case Preview.TERRAFORM:
            plan_file.check(saved, configuration=_configuration(source))
            document = _document(sandbox, planning, saved, cancelled)
            terraform_plan.check(document, providers=planning.target.providers)
            masked = terraform_plan.mask(document)
            return ReadPlan(
                kind=planning.preview.value,
                sha256=canonical.sha256_bytes(saved),
                masked=masked,
                plan=terraform_plan.read(masked),
            )
        case None:
            raise _unreadable(f"{planning.name} makes no plan")


def _configuration(source: SourceArchive) -> frozenset[bytes]:
    return frozenset({terraform_module.override(), *(file.content for file in source.files)})


def _document(sandbox: Sandbox, planning: Tool, saved: bytes, cancelled: threading.Event) -> bytes:
    environment: Mapping[str, str] = MappingProxyType(dict(terraform_module.ENVIRONMENT))
    step = StepCall(argv=_ARGV, cwd=interface.WORK, environment=environment, credential=False)
    call = SandboxCall(
        id=call_ids.new(),
        image=planning.image,
        steps=(step,),
        limits=replace(
            planning.limits,
            output_bytes=LARGEST_DOCUMENT,
            cpu_millis=max(planning.limits.cpu_millis, READING_CPU_MILLIS),
        ),
        files={_NAME: saved},
        take_out=(),
        state=None,
        credential=None,
    )
    outcome = sandbox.run(call, started=lambda kernel: None, cancelled=cancelled)
    if not outcome.succeeded or len(outcome.steps) != 1:
        why = outcome.reason or "terraform show did not succeed"
        raise _unreadable("it was cancelled" if outcome.ended is Ended.CANCELLED else why)
    if outcome.steps[0].cut_bytes:
        raise _unreadable(f"its JSON is larger than {LARGEST_DOCUMENT} bytes")
    return outcome.steps[0].output


def _unreadable(why: str) -> Refused:
    return refuse(
        Code.PLAN_INVALID,
        f"the saved plan: {why}",
        rule="A plan that can't be read whole can't be approved.",
        remedy="Plan again; if the plan is very large, split the change.",
    )
