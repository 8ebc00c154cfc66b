"""What a call would do and who would have to approve it, before anyone calls it.

`ownergate policy explain` and `ownergate policy test` print this. It is the same code that decides for
real: arguments are validated, templates rendered and paths filled by the functions that bot and runner
use.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from policy import arguments, argv, conditions, durations, quantities, vault_roles
from policy.argv import RenderedStep
from policy.canonical import Json
from policy.conditions import Required
from policy.states import Tier
from policy.tools import Limits, Policy, RaiseRule, Tool, Via


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalNeeded:
    """Who decides about a destructive call.

    Attributes:
        via: the channel on GitHub.
        owned: the path whose owners decide.
        required: distinct owners at least.
        rules: what raises that, in the file's order.
        for_plan: what a given plan asks for; None when no plan was given.
        allow_self_approval: whether the requester may approve.
    """

    via: Via
    owned: str
    required: int
    rules: tuple[RaiseRule, ...]
    for_plan: Required | None
    allow_self_approval: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseNeeded:
    """The lease of a call: mount, role, login role, life in seconds, filled parameters."""

    mount: str
    role: str
    login: str
    ttl_seconds: int
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One call, resolved.

    Attributes:
        tool, title, tier: which tool, and how much harm it can do.
        arguments: checked, defaults filled in.
        target, runner: where it acts, and who runs it.
        image, steps, limits: what runs.
        source: the folder in the repository; None without one.
        plan: the planning tool; None is NO PREVIEW for a destructive tool.
        lease: None for a tool without credential.
        approval: None for a read tool.
        tool_digest: digest of the declaration.
    """

    tool: str
    title: str
    tier: Tier
    arguments: Mapping[str, Json]
    target: str
    runner: str
    image: str
    steps: tuple[RenderedStep, ...]
    limits: Limits
    source: str | None
    plan: str | None
    lease: LeaseNeeded | None
    approval: ApprovalNeeded | None
    tool_digest: str

    def as_json(self) -> dict[str, Json]:
        """The explanation for programs."""
        return {
            "tool": self.tool,
            "title": self.title,
            "tier": self.tier.value,
            "arguments": dict(self.arguments),
            "target": self.target,
            "runner": self.runner,
            "image": self.image,
            "steps": [
                {"argv": list(step.argv), "credential": step.credential, "network": step.network.value}
                for step in self.steps
            ],
            "timeout_seconds": self.limits.timeout_seconds,
            "source": self.source,
            "plan": self.plan,
            "lease": _lease_json(self.lease),
            "approval": _approval_json(self.approval),
            "tool_digest": self.tool_digest,
        }

    def text(self) -> str:
        """The explanation for people, one fact a line."""
        lines = [
            f"{self.tool}: {self.title}",
            f"tier       {self.tier.value}",
            f"target     {self.target}, by runners of the pool {self.runner}",
            f"source     {self.source or 'none'}",
        ]
        lines += [f"runs       {_step_text(step)}" for step in self.steps]
        limits = self.limits
        lines.append(
            f"limits     {durations.show(limits.timeout_seconds)}, {limits.cpu_millis}m of CPU,"
            f" {quantities.show_bytes(limits.memory_bytes)} of memory, image {self.image}"
        )
        lines += _lease_text(self.lease)
        if self.tier is Tier.DESTRUCTIVE:
            lines.append(f"preview    {f'by {self.plan}' if self.plan else 'NO PREVIEW'}")
        lines += _approval_text(self.approval)
        lines.append(f"digest     {self.tool_digest}")
        return "\n".join(lines) + "\n"


def explain(
    policy: Policy, tool_name: str, call: Json, *, plan: Mapping[str, int] | None = None
) -> Explanation:
    """Resolves one call.

    Args:
        policy: the loaded file.
        tool_name: the tool that is called.
        call: its arguments, as an agent would send them.
        plan: counts of a plan's summary, to see which conditions would hold.

    Raises:
        Refused: for an unknown tool and for everything that a real call would be refused for here.
    """
    tool = policy.tool(tool_name)
    checked = arguments.validate(tool, call)
    return Explanation(
        tool=tool.name,
        title=tool.title,
        tier=tool.tier,
        arguments=checked,
        target=tool.target.name,
        runner=tool.target.runner,
        image=tool.image,
        steps=argv.render(tool, checked),
        limits=tool.limits,
        source=None if tool.source is None else argv.fill(tool.source, checked),
        plan=tool.plan,
        lease=_lease(tool, checked),
        approval=_approval(tool, checked, plan),
        tool_digest=tool.sha256,
    )


def _lease(tool: Tool, checked: Mapping[str, Json]) -> LeaseNeeded | None:
    if tool.credential is None:
        return None
    return LeaseNeeded(
        mount=tool.target.vault,
        role=tool.credential.role,
        login=vault_roles.login_role(tool),
        ttl_seconds=tool.credential.ttl_seconds,
        parameters={name: argv.fill(text, checked) for name, text in tool.credential.parameters.items()},
    )


def _approval(
    tool: Tool, checked: Mapping[str, Json], plan: Mapping[str, int] | None
) -> ApprovalNeeded | None:
    rule = tool.approval
    if rule is None:
        return None
    needed = None
    if plan is not None or tool.plan is None:
        needed = conditions.required_approvals(
            rule, plan=None if tool.plan is None else plan, arguments=checked, target=tool.target.name
        )
    return ApprovalNeeded(
        via=rule.via,
        owned=argv.fill(rule.owned, checked),
        required=rule.required,
        rules=rule.rules,
        for_plan=needed,
        allow_self_approval=rule.allow_self_approval,
    )


def _lease_json(lease: LeaseNeeded | None) -> Json:
    if lease is None:
        return None
    return {
        "mount": lease.mount,
        "role": lease.role,
        "login": lease.login,
        "ttl_seconds": lease.ttl_seconds,
        "parameters": dict(lease.parameters),
    }


def _approval_json(approval: ApprovalNeeded | None) -> Json:
    if approval is None:
        return None
    needed = approval.for_plan
    return {
        "via": approval.via.value,
        "owned": approval.owned,
        "required": approval.required,
        "rules": [{"when": rule.when, "required": rule.required} for rule in approval.rules],
        "for_plan": None if needed is None else {"required": needed.count, "because": list(needed.because)},
        "allow_self_approval": approval.allow_self_approval,
    }


def _step_text(step: RenderedStep) -> str:
    return f"{shlex.join(step.argv)}{'   (with the credential)' if step.credential else ''}"


def _lease_text(lease: LeaseNeeded | None) -> list[str]:
    if lease is None:
        return ["lease      none"]
    scope = "".join(f", {name} {value}" for name, value in lease.parameters.items())
    where = f"{lease.mount}, role {lease.role}{scope}"
    return [f"lease      {where}, for {durations.show(lease.ttl_seconds)}, by the login {lease.login}"]


def _approval_text(approval: ApprovalNeeded | None) -> list[str]:
    if approval is None:
        return ["approval   none: it runs at once"]
    lines = [f"approval   {_owners(approval.required)} of {approval.owned}, by {approval.via.value}"]
    lines += [f"           {_owners(rule.required)} when {rule.when}" for rule in approval.rules]
    if approval.for_plan is not None and approval.for_plan.because:
        lines.append(f"           here: {_owners(approval.for_plan.count)}")
    if approval.allow_self_approval:
        lines.append("           DANGER: the requester may approve")
    return lines


def _owners(count: int) -> str:
    return f"{count} owner{'' if count == 1 else 's'}"
