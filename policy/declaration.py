"""A tool's whole declaration as JSON, and the digest that a manifest binds as `tool_digest`.

Everything that a tool's file entry, the file's defaults and its target say is in here, so a change of
any of them makes another digest and voids what was asked under the old one.
"""

from __future__ import annotations

from policy import canonical
from policy.canonical import Json
from policy.tools import ApprovalRule, CredentialRule, Limits, Step, Target, Tool

VERSION = 1
"""Version of this form; a change of the form is a change of every digest."""


def as_json(tool: Tool, planning: Tool | None) -> dict[str, Json]:
    """The declaration with defaults and target resolved, and its planning tool's in full.

    Every key is present, null where the tool has nothing to say. The digest itself is left out.
    """
    return {
        "version": VERSION,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "tier": tool.tier.value,
        "target": _target(tool.target),
        "arguments": dict(tool.arguments),
        "allowances": {name: [*sorted(map(str, allowed))] for name, allowed in tool.allowances.items()},
        "source": tool.source,
        "state": tool.state.value,
        "plan": None if planning is None else as_json(planning, None),
        "plan_file": tool.plan_file,
        "preview": tool.preview,
        "image": tool.image,
        "steps": [_step(step) for step in tool.steps],
        "environment": dict(tool.environment),
        "limits": _limits(tool.limits),
        "credential": None if tool.credential is None else _credential(tool.credential),
        "approval": None if tool.approval is None else _approval(tool.approval),
        "wait_seconds": tool.wait_seconds,
        "plan_age_seconds": tool.plan_age_seconds,
        "grant_seconds": tool.grant_seconds,
    }


def digest(tool: Tool, planning: Tool | None) -> str:
    """SHA-256 of the declaration's canonical JSON."""
    return canonical.sha256(as_json(tool, planning))


def _target(target: Target) -> dict[str, Json]:
    return {
        "name": target.name,
        "runner": target.runner,
        "vault": target.vault,
        "cluster": target.cluster,
        "state": target.state,
        "base": target.base,
        "egress": list(target.egress),
        "providers": list(target.providers),
    }


def _step(step: Step) -> dict[str, Json]:
    return {"argv": list(step.argv), "credential": step.credential, "network": step.network.value}


def _limits(limits: Limits) -> dict[str, Json]:
    return {
        "cpu_millis": limits.cpu_millis,
        "memory_bytes": limits.memory_bytes,
        "timeout_seconds": limits.timeout_seconds,
        "grace_seconds": limits.grace_seconds,
        "output_bytes": limits.output_bytes,
        "work_bytes": limits.work_bytes,
        "processes": limits.processes,
    }


def _credential(rule: CredentialRule) -> dict[str, Json]:
    return {"role": rule.role, "ttl_seconds": rule.ttl_seconds, "parameters": dict(rule.parameters)}


def _approval(rule: ApprovalRule) -> dict[str, Json]:
    return {
        "via": rule.via.value,
        "owned": rule.owned,
        "required": rule.required,
        "rules": [{"when": raised.when, "required": raised.required} for raised in rule.rules],
        "allow_self_approval": rule.allow_self_approval,
    }
