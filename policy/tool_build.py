"""Builds the types of `policy.tools` from file content that has the schema's shape.

Only defaults are filled in here; whether the parts fit together is for `policy.tool_rules`. The digest
and the preview of a tool with a plan come last, in `resolve`, because they take in the planning tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from policy import argument_schema, declaration, durations, quantities
from policy.policy_schema import SANDBOX_DEFAULTS
from policy.states import Tier
from policy.tool_schema import DEFAULTS
from policy.tools import (
    ApprovalRule,
    CredentialRule,
    Limits,
    Network,
    Preview,
    RaiseRule,
    StateAccess,
    Step,
    Target,
    Tool,
    Via,
)


def target(name: str, content: Mapping[str, Any]) -> Target:
    """One target of the file."""
    return Target(
        name=name,
        runner=content["runner"],
        vault=content["vault"],
        cluster=content.get("cluster"),
        state=content.get("state"),
        base=content.get("base", "main"),
        egress=tuple(content.get("egress", ())),
        providers=tuple(content.get("providers", ())),
    )


def tool(name: str, content: Mapping[str, Any], defaults: Mapping[str, Any], where: Target) -> Tool:
    """One tool of the file, without digest and, when it names a plan, without preview.

    Args:
        name: its name.
        content: its declaration.
        defaults: the file's `defaults`.
        where: its target.
    """
    run = content["run"]
    arguments = content.get("arguments", {})
    clocks = {key: durations.parse(content.get(key, defaults.get(key, DEFAULTS[key]))) for key in DEFAULTS}
    title = content.get("title", name.replace("_", " ").capitalize())
    return Tool(
        name=name,
        title=title,
        description=content.get("description", title),
        tier=Tier(content["tier"]),
        target=where,
        arguments=MappingProxyType(argument_schema.build(arguments)),
        allowances=MappingProxyType(argument_schema.allowances(arguments)),
        source=content.get("source"),
        state=StateAccess(content.get("state", "none")),
        plan=content.get("plan"),
        plan_file=content.get("plan_file"),
        preview=Preview(content["preview"]) if "preview" in content else None,
        image=run["image"],
        steps=_steps(run, has_credential="credential" in content),
        environment=MappingProxyType(dict(content.get("environment", {}))),
        limits=_limits({**SANDBOX_DEFAULTS, **defaults.get("sandbox", {}), **run.get("sandbox", {})}),
        credential=_credential(content["credential"]) if "credential" in content else None,
        approval=_approval(content["approval"]) if "approval" in content else None,
        wait_seconds=clocks["wait"],
        plan_age_seconds=clocks["plan_age"],
        grant_seconds=clocks["grant"],
        sha256="",
    )


def resolve(built: Tool, planning: Tool | None) -> Tool:
    """The finished tool: with the preview of its planning tool and with its digest."""
    whole = built if planning is None else replace(built, preview=planning.preview)
    return replace(whole, sha256=declaration.digest(whole, planning))


def _steps(run: Mapping[str, Any], *, has_credential: bool) -> tuple[Step, ...]:
    if "argv" in run:
        return (Step(argv=tuple(run["argv"]), credential=has_credential, network=Network.NONE),)
    return tuple(
        Step(
            argv=tuple(step["argv"]),
            credential=step.get("credential", False),
            network=Network(step.get("network", "none")),
        )
        for step in run["steps"]
    )


def _limits(content: Mapping[str, Any]) -> Limits:
    return Limits(
        cpu_millis=quantities.parse_cpu(str(content["cpu"])),
        memory_bytes=quantities.parse_bytes(content["memory"]),
        timeout_seconds=durations.parse(content["timeout"]),
        grace_seconds=durations.parse(content["grace"]),
        output_bytes=quantities.parse_bytes(content["output"]),
        work_bytes=quantities.parse_bytes(content["work"]),
        processes=content["processes"],
    )


def _credential(content: Mapping[str, Any]) -> CredentialRule:
    return CredentialRule(
        role=content["role"],
        ttl_seconds=durations.parse(content["ttl"]),
        parameters=MappingProxyType({key: content[key] for key in ("namespace",) if key in content}),
    )


def _approval(content: Mapping[str, Any]) -> ApprovalRule:
    return ApprovalRule(
        via=Via(content["via"]),
        owned=content["owned"],
        required=content["required"],
        rules=tuple(
            RaiseRule(when=rule["when"], required=rule["required"]) for rule in content.get("rules", ())
        ),
        allow_self_approval=content.get("allow_self_approval", False),
    )
