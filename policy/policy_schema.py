"""The JSON Schema (2020-12) of `policy.yaml`: the one table of its keys.

Editors complete from it, `policy.policy_file` refuses by it and `docs/policy.md` is written from it.
What one key can't know about another stands in `policy.policy_rules`. Every description says what the
key means and in which unit; a default stands in `default`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from policy import quantities, tool_schema
from policy import schema_forms as forms
from policy.canonical import Json

SANDBOX_DEFAULTS: Final = MappingProxyType(
    {
        "cpu": "500m",
        "memory": "512Mi",
        "timeout": "2m",
        "grace": "10s",
        "output": "256KiB",
        "work": "256Mi",
        "processes": 256,
    }
)
"""The limits of a call, when neither the file's `defaults` nor the tool says otherwise."""


def _sandbox() -> dict[str, Json]:
    limits = {name: str(value) for name, value in SANDBOX_DEFAULTS.items()}
    cpu = "CPU of a call: cores (`2`) or thousandths of one (`500m`)."
    return forms.record(
        "What one call may use. A tool's own entry goes before the file's `defaults`, key by key.",
        {
            "cpu": {
                "type": ["string", "integer"],
                "description": cpu,
                "pattern": quantities.CPU_PATTERN,
                "minimum": 1,
                "maximum": 64,
                "default": limits["cpu"],
            },
            "memory": forms.size("Memory of the whole sandbox.", limits["memory"]),
            "timeout": forms.duration(
                "Time of all steps together, until the sandbox gets SIGTERM.", limits["timeout"]
            ),
            "grace": forms.duration(
                "Time between SIGTERM and the kill of the whole sandbox.", limits["grace"]
            ),
            "output": forms.size("Output kept of a call; what is cut is named.", limits["output"]),
            "work": forms.size("The work folder, held in memory.", limits["work"]),
            "processes": {
                **forms.whole("Processes and threads at one time.", 1, 4096),
                "default": int(limits["processes"]),
            },
        },
    )


def _target() -> dict[str, Json]:
    return forms.record(
        "Where tools act.",
        {
            "runner": forms.text("The pool of runners that serves it.", pattern=forms.NAME),
            "vault": forms.text(
                "Mount of the secrets engine in OpenBao or Vault that its leases come from.",
                pattern=forms.MOUNT,
                longest=128,
            ),
            "cluster": forms.text(
                "The uid of the Kubernetes cluster's `kube-system` namespace.",
                pattern=forms.UID,
            ),
            "state": {
                "type": "string",
                "enum": ["folder"],
                "description": (
                    "The Terraform state backend. `folder` is a folder of the runner's, which its sandboxes"
                    " see at `/state`. Without it, tools of the target have no state."
                ),
            },
            "base": {
                **forms.text(
                    "The branch whose tree is the source and whose CODEOWNERS decides.",
                    pattern=forms.BRANCH,
                    longest=200,
                ),
                "default": "main",
            },
            "egress": {
                "type": "array",
                "description": (
                    "What its sandboxes may reach: nothing, or `kubernetes` (the API server of `cluster`)."
                ),
                "items": {"type": "string", "enum": ["kubernetes"]},
                "uniqueItems": True,
                "maxItems": 16,
                "default": [],
            },
            "providers": {
                "type": "array",
                "description": (
                    "Full addresses of the Terraform providers that may run, for example"
                    " `terraform.io/builtin/terraform`. Any other is refused, in lock file and state too."
                ),
                "items": forms.text(
                    "A provider's address: host, namespace and type.",
                    pattern=forms.PROVIDER,
                    longest=200,
                ),
                "uniqueItems": True,
                "maxItems": 64,
                "default": [],
            },
        },
        ("runner", "vault"),
    )


SCHEMA: Final[dict[str, Json]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:ownergate:policy:1",
    "title": "ownergate policy",
    **forms.record(
        "The tools that agents may ask for, and where they act.",
        {
            "version": {"const": 1, "description": "The version of this format: `1`."},
            "defaults": forms.record(
                "What holds for every tool that doesn't say otherwise.",
                {**tool_schema.clocks(own=False), "sandbox": {"$ref": "#/$defs/sandbox"}},
            ),
            "targets": {
                **forms.named("Where tools act, by name.", forms.NAME, "target"),
                "minProperties": 1,
            },
            "tools": {
                **forms.named("The tools, by name.", forms.TOOL_NAME, "tool"),
                "minProperties": 1,
            },
        },
        ("version", "targets", "tools"),
    ),
    "$defs": {
        "sandbox": _sandbox(),
        "target": _target(),
        "argument": tool_schema.argument(),
        "run": tool_schema.run(),
        "credential": tool_schema.credential(),
        "approval": tool_schema.approval(),
        "tool": tool_schema.tool(),
    },
}
"""The schema, a plain JSON document."""
