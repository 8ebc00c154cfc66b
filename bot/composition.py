"""From a runner's planning result to the manifest, the digest and what people read. Pure.

The bot does not take a runner's word for what is going to run: steps, limits, image and source must be
what it computes or has read itself, and the plan is read from its masked JSON again. What it can't
recompute (the image's content, the sealed plan's bytes) is bound by digest, and the runner that carries
it out checks those against the manifest.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from policy import (
    argv,
    canonical,
    conditions,
    expectation,
    manifest,
    record,
    rendering,
    request_files,
    secret_shapes,
    terraform_plan,
)
from policy.canonical import Json
from policy.manifest import Manifest
from policy.plan import Plan
from policy.refusal import Code, Refused, refuse
from policy.rendering import ApproverView, Rendering
from policy.rendering_body import PathOwners
from policy.runner_protocol import PlanResult
from policy.source import SourceArchive
from policy.tools import ApprovalRule, Policy, Tool, Via

LARGEST_SEALED_PLAN = 24 * 1024 * 1024
"""Characters of a sealed plan in base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is known of the request before its plan.

    Attributes:
        source: as the bot read it; None for a tool without source.
        barred: logins of everyone who asked.
        owners: who may approve for each path, as routed before planning.
    """

    id: str
    tool: Tool
    policy: Policy
    arguments: dict[str, Json]
    expect: Json
    requester: manifest.Requester
    barred: Sequence[str]
    reason: str
    repository: manifest.Repository
    base: manifest.Base
    source: SourceArchive | None = field(repr=False)
    owners: Sequence[PathOwners]
    nonce: str
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A request, ready to be shown."""

    manifest: Manifest
    digest: str
    plan: Plan | None
    rendering: Rendering
    because: tuple[str, ...]


def read_plan(asked: Asked, result: PlanResult) -> Plan | None:
    """The plan of a result, checked against what the bot knows.

    Raises:
        Refused: `result_invalid` where the result is not what this request has; what
            `policy.terraform_plan` refuses; `expectation_exceeded` for a plan that does more than the
            agent expects.
    """
    check_execution(asked, result.execution)
    own = None if asked.source is None else asked.source.described()
    if record.to_json(own) != record.to_json(result.source):
        raise refuse(
            Code.SOURCE_DIFFERS,
            "the plan: it was made from another source than the one that was asked for",
            rule="A plan is made from the source that is shown with it.",
            remedy="Ask again. A branch that is named may not move meanwhile, nor change modules elsewhere.",
        )
    if asked.tool.preview is None:
        if result.plan is not None or result.masked_plan is not None or result.sealed_plan is not None:
            raise _invalid("it has a plan, and the tool has none")
        return None
    if result.plan is None or result.masked_plan is None or result.sealed_plan is None:
        raise _invalid("its plan is not whole")
    _check_sealed(result.sealed_plan)
    masked = result.masked_plan.encode()
    if canonical.sha256_bytes(masked) != result.plan.masked_json_sha256:
        raise _invalid("the plan's JSON does not have the digest that stands beside it")
    plan = terraform_plan.read(masked)
    counts = {name: int(str(count)) for name, count in plan.summary.as_json().items()}
    if dict(result.plan.summary) != counts or result.plan.kind != plan.kind:
        raise _invalid("the plan's counts are not those of its JSON")
    _check_expectation(asked, plan)
    return plan


def check_execution(asked: Asked, execution: manifest.Execution) -> None:
    """What will run is what the bot's own policy says.

    Raises:
        Refused: `result_invalid`.
    """
    tool = asked.tool
    rendered = argv.render(tool, asked.arguments)
    expected = {
        "the image": (tool.image, execution.image),
        "the time limit": (tool.limits.timeout_seconds, execution.timeout_seconds),
        "the grace": (tool.limits.grace_seconds, execution.grace_seconds),
        "the number of steps": (len(rendered), len(execution.steps)),
    }
    for name, (own, said) in expected.items():
        if own != said:
            raise _invalid(f"{name} is {said}, and the policy says {own}")
    for number, (own_step, step) in enumerate(zip(rendered, execution.steps, strict=True), start=1):
        same = (
            own_step.argv == step.argv
            and own_step.credential == step.lease
            and own_step.network.value == step.network
            and all(step.environment.get(name) == value for name, value in tool.environment.items())
        )
        if not same:
            raise _invalid(f"step {number} is not what the policy says")


def compose(asked: Asked, result: PlanResult, plan: Plan | None) -> Composed:
    """The manifest of a request, its digest and its rendering.

    Raises:
        Refused: `condition_failed`, `cannot_be_shown_whole`, `credential_literal`.
    """
    tool = asked.tool
    rule = _rule(tool)
    counts = None if plan is None else {name: int(str(n)) for name, n in plan.summary.as_json().items()}
    required = conditions.required_approvals(
        rule, plan=counts, arguments=asked.arguments, target=tool.target.name
    )
    composed = _manifest(asked, result, rule, required.count)
    approvers = ApproverView(
        required=required.count,
        because=tuple(f"The policy's condition `{condition}` holds." for condition in required.because),
        paths=tuple(asked.owners),
        barred=tuple(asked.barred),
        allow_self_approval=rule.allow_self_approval,
        document_path=request_files.paths(composed).rendering,
        channel=Via.PULL_REQUEST,
    )
    shown = rendering.render(composed, plan, approvers=approvers)
    _check_secrets(composed, shown)
    return Composed(
        manifest=composed,
        digest=manifest.digest(composed),
        plan=plan,
        rendering=shown,
        because=required.because,
    )


def _manifest(asked: Asked, result: PlanResult, rule: ApprovalRule, required: int) -> Manifest:
    tool = asked.tool
    now = asked.now.replace(microsecond=0)
    return Manifest(
        version=manifest.VERSION,
        id=asked.id,
        tool=tool.name,
        tool_digest=tool.sha256,
        arguments=asked.arguments,
        requester=asked.requester,
        reason=asked.reason,
        repository=asked.repository,
        base=asked.base,
        owned=(argv.fill(rule.owned, asked.arguments),),
        target=manifest.Target(
            name=tool.target.name,
            runner_pool=tool.target.runner,
            cluster_uid=tool.target.cluster,
            vault_mount=tool.target.vault,
            backend=tool.target.state,
        ),
        source=None if asked.source is None else asked.source.described(),
        plan=result.plan,
        execution=result.execution,
        policy_sha256=asked.policy.sha256,
        approvals_required=required,
        created_at=now,
        expires_at=now + timedelta(seconds=tool.wait_seconds),
        nonce=asked.nonce,
    )


def _check_expectation(asked: Asked, plan: Plan) -> None:
    if asked.expect is None:
        return
    exceeded = expectation.exceeded(expectation.parse(asked.expect), plan)
    if exceeded:
        raise refuse(
            Code.EXPECTATION_EXCEEDED,
            f"the plan does more than you expected: {' '.join(exceeded[:10]).removesuffix('.')}",
            rule="A plan that goes beyond its own agent's expectation is not shown to people.",
            remedy="Look at the plan's structure, correct the change or the expectation, and ask again.",
        )


def _check_secrets(composed: Manifest, shown: Rendering) -> None:
    for name, text in (
        ("manifest", manifest.encode(composed).decode()),
        ("rendering", shown.document),
        ("pull request's text", shown.body),
    ):
        shape = secret_shapes.find(text)
        if shape is not None:
            raise refuse(
                Code.CREDENTIAL_LITERAL,
                f"the request: its {name} holds what looks like {shape}",
                rule="What is committed and shown holds no secret.",
                remedy="Mark the value as sensitive in the module, or refer to the secret instead.",
            )


def _check_sealed(sealed: str) -> None:
    if len(sealed) > LARGEST_SEALED_PLAN:
        raise _invalid("its sealed plan is too large")
    try:
        base64.b64decode(sealed, validate=True)
    except (binascii.Error, ValueError):
        raise _invalid("its sealed plan is not base64") from None


def _rule(tool: Tool) -> ApprovalRule:
    if tool.approval is None:
        raise _invalid("the tool needs no approval, so nothing is planned for it")
    return tool.approval


def path_owners(routing: Json) -> tuple[PathOwners, ...]:
    """The stored routing as the rendering shows it."""
    rows = routing if isinstance(routing, list) else []
    return tuple(_path_owners(row) for row in rows if isinstance(row, Mapping))


def _path_owners(row: Mapping[str, Json]) -> PathOwners:
    def texts(name: str) -> tuple[str, ...]:
        value = row.get(name)
        return tuple(map(str, value)) if isinstance(value, list) else ()

    routed = row.get("people")
    people = tuple(
        str(person["login"])
        for person in (routed if isinstance(routed, list) else [])
        if isinstance(person, Mapping)
    )
    return PathOwners(path=str(row.get("path", "")), owners=texts("names"), people=people)


def _invalid(why: str) -> Refused:
    return refuse(
        Code.RESULT_INVALID,
        f"the planning result: {why}",
        rule="The bot asks people only about what its own policy and its own reading say.",
        remedy="Give bot and runner the same policy.yaml and the same version, then ask again.",
    )
