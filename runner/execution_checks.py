"""The checks before an execution, in two halves: before the claim, and with what only the claim gives.

Everything that needs no saved plan is checked before the claim, so that what is refused there leaves the
grant unclaimed and the request can go on once the cause is gone. The sealed plan comes with the claim;
what depends on it is checked then, still before anything is spent.

The facts at GitHub are read once, before the claim, and decided on twice: without a plan the rendering
can't be made anew, so the first decision takes the committed one as it is, and the second, which alone
counts, compares it byte by byte with the one made here.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from policy import arguments as argument_rules
from policy import grant, manifest, record, rendering
from policy.canonical import Json
from policy.facts import Facts
from policy.grant import Grant
from policy.manifest import Manifest
from policy.plan import Plan
from policy.refusal import Code, refuse
from policy.runner_protocol import Claim, Job
from policy.source import SourceArchive
from policy.states import Tier
from policy.tools import StateAccess, Tool
from runner import approval_reading, calls, comparison, plan_reading, source_reading, terraform_state
from runner.equipment import Equipment
from runner.terraform_state import StateSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A request that passed what can be checked before the claim.

    Attributes:
        approved: the manifest.
        digest: recomputed here from the manifest.
        execution: computed here; equal to the manifest's.
        source: as it stands at the pull request's head.
        facts: what was read at GitHub.
        number, head_sha: the pull request and its head.
        required: how many owners must approve.
    """

    approved: Manifest
    digest: str
    tool: Tool
    arguments: Mapping[str, Json]
    execution: manifest.Execution
    source: SourceArchive | None
    facts: Facts = field(repr=False)
    number: int
    head_sha: str
    required: int
    barred: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permitted:
    """A request whose grant and plan hold too: it may be spent."""

    checked: Checked
    grant: Grant
    saved_plan: bytes | None = field(repr=False)


def before_claim(equipment: Equipment, job: Job, tool: Tool) -> Checked:
    """The first half.

    Raises:
        Refused: with the name of what differs; the grant is then neither claimed nor spent.
    """
    text, number, head_sha = _needed(job, tool)
    approved = manifest.parse(text)
    if manifest.encode(approved) != text.encode():
        raise refuse(
            Code.MANIFEST_INVALID,
            "the manifest is not in its canonical form",
            rule="One request has one text, which is what is hashed.",
            remedy="Ask for this change anew.",
        )
    own = manifest.Repository(id=equipment.settings.repository.id, name=equipment.settings.repository.name)
    comparison.check_request(approved, job, repository=own)
    arguments = argument_rules.validate(tool, record.to_json(approved.arguments))
    comparison.check_tool(approved, tool, arguments)
    comparison.check_time(approved, tool, now=equipment.now())
    required = comparison.required_approvals(approved, tool, arguments)
    check_state(equipment, approved, tool)
    equipment.check_vault()
    reader = equipment.github()
    source = source_reading.at_head(reader, tool, arguments, head_sha=head_sha)
    comparison.check_source(approved.source, source)
    execution = calls.execution(
        tool, arguments, source=source, image_sha256=equipment.sandbox.image_sha256(tool.image)
    )
    comparison.check_execution(approved.execution, execution)
    checked = Checked(
        approved=approved,
        digest=manifest.digest(approved),
        tool=tool,
        arguments=arguments,
        execution=execution,
        source=source,
        facts=approval_reading.collect(reader, number, approved),
        number=number,
        head_sha=head_sha,
        required=required,
        barred=frozenset(job.barred),
    )
    _decide(equipment, checked, checked.facts, _rendering_so_far(checked))
    return checked


def with_claim(equipment: Equipment, checked: Checked, claim: Claim, cancelled: threading.Event) -> Permitted:
    """The second half.

    Raises:
        Refused: with the name of what differs; the grant is claimed and not spent.
    """
    granted = check_grant(equipment, checked, claim)
    saved, plan = _saved_plan(equipment, checked, claim, cancelled)
    document = rendering.document(checked.approved, plan).encode()
    facts = checked.facts
    if (equipment.now() - facts.read_at).total_seconds() > approval_reading.FRESH_SECONDS:
        facts = approval_reading.collect(equipment.github(), checked.number, checked.approved)
    _decide(equipment, checked, facts, document)
    comparison.check_time(checked.approved, checked.tool, now=equipment.now())
    check_state(equipment, checked.approved, checked.tool)
    # The plan may have taken a while to read; what is spent must still be good now.
    check_grant(equipment, checked, claim)
    return Permitted(checked=checked, grant=granted, saved_plan=saved)


def check_grant(equipment: Equipment, checked: Checked, claim: Claim) -> Grant:
    """Verifies the grant against what was computed here.

    Raises:
        Refused: by `policy.grant`, or `evidence_differs` when it names another pull request or head.
    """
    granted = grant.verify(
        claim.grant,
        equipment.grant_keys,
        now=equipment.now(),
        repository_id=equipment.settings.repository.id,
        request_id=checked.approved.id,
        digest=checked.digest,
        tool=checked.tool.name,
        target=checked.tool.target.name,
        revoked=equipment.revoked_grants(),
    )
    named = (granted.evidence.channel, granted.evidence.number, granted.evidence.head_sha)
    if named != ("pull_request", checked.number, checked.head_sha):
        raise refuse(
            Code.EVIDENCE_DIFFERS,
            f"the grant is for {named[0]} {named[1]} at {named[2][:12]}, and the approval was read at "
            f"pull request {checked.number} at {checked.head_sha[:12]}",
            rule="A grant's evidence is the approval that this runner reads.",
            remedy="Ask for this change anew.",
        )
    return granted


def check_state(equipment: Equipment, approved: Manifest, tool: Tool) -> None:
    """The state is the one that the plan was made on.

    Raises:
        Refused: `state_changed` and what `terraform_state` refuses.
    """
    if tool.state is StateAccess.NONE or approved.plan is None:
        return
    seen = state_of(equipment, tool, approved)
    terraform_state.check_providers(seen, tool.target.providers)
    comparison.check_state(approved.plan.state, seen.made_on)


def state_of(equipment: Equipment, tool: Tool, approved: Manifest) -> StateSeen:
    """The state of the manifest's module as it is now."""
    path = None if approved.source is None else approved.source.path
    return terraform_state.see(equipment.states.folder(tool.target.name, path))


def _needed(job: Job, tool: Tool) -> tuple[str, int, str]:
    if (
        tool.tier is not Tier.DESTRUCTIVE
        or job.manifest is None
        or job.pull_request is None
        or job.head_sha is None
    ):
        raise refuse(
            Code.REQUEST_DIFFERS,
            "the job's manifest, pull request or head is missing, or its tool is read-only",
            rule="An execution has a manifest and an approval at a commit of a pull request.",
            remedy="Ask for this change anew.",
        )
    return job.manifest, job.pull_request, job.head_sha


def _decide(equipment: Equipment, checked: Checked, facts: Facts, document: bytes) -> None:
    approval_reading.decide(
        facts,
        checked.approved,
        rendering=document,
        source=None if checked.source is None else checked.source.contents(),
        head_sha=checked.head_sha,
        required=checked.required,
        barred=checked.barred,
        allow_self_approval=comparison.rule_of(checked.tool).allow_self_approval,
        app_user_id=equipment.settings.bot_app.user_id,
        now=equipment.now(),
    )


def _rendering_so_far(checked: Checked) -> bytes:
    """The rendering itself without a plan; with one, the committed text until the plan is here."""
    if checked.approved.plan is None:
        return rendering.document(checked.approved, None).encode()
    return checked.facts.rendering or b""


def _saved_plan(
    equipment: Equipment, checked: Checked, claim: Claim, cancelled: threading.Event
) -> tuple[bytes | None, Plan | None]:
    approved = checked.approved.plan
    planning = equipment.policy.planning_tool(checked.tool)
    if approved is None and planning is None:
        return None, None
    if approved is None or planning is None or checked.source is None or claim.sealed_plan is None:
        raise refuse(
            Code.PLAN_MISSING,
            "the plan that was approved is not there",
            rule="A tool with a preview carries out its approved plan, and nothing else.",
            remedy="Ask for a replan: comment /ownergate replan on the pull request.",
        )
    saved = equipment.sealing.open(
        _from_base64(claim.sealed_plan),
        request=checked.approved.id,
        source=checked.source.sha256,
        plan_sha256=approved.sha256,
    )
    read = plan_reading.read(equipment.sandbox, planning, saved, checked.source, cancelled)
    comparison.check_plan(approved, read)
    return saved, read.plan


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise refuse(
            Code.SEALED_PLAN,
            "the sealed plan is not base64",
            rule="The bot stores a sealed plan as the runner gave it.",
            remedy="Ask for a replan: comment /ownergate replan on the pull request.",
        ) from None
