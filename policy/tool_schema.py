"""The part of the policy file's schema that declares one tool."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from policy import schema_forms as forms
from policy.canonical import Json
from policy.states import Tier
from policy.tools import Allowance, Network, Preview, StateAccess, Via

DEFAULTS: Final = MappingProxyType({"wait": "24h", "plan_age": "24h", "grant": "30m"})
"""The clocks of a request, when neither the file's `defaults` nor the tool says otherwise."""


def clocks(*, own: bool) -> dict[str, Json]:
    """The clocks of a request, of one tool or of the file's `defaults`."""
    meanings = {
        "wait": "How long people may take to decide.",
        "plan_age": "How old a plan may be when it is carried out.",
        "grant": "How long an approval may wait for a runner.",
    }
    if own:
        return {
            key: forms.duration(f"{meaning} Without it, `defaults`.") for key, meaning in meanings.items()
        }
    return {key: forms.duration(meaning, DEFAULTS[key]) for key, meaning in meanings.items()}


def argument() -> dict[str, Json]:
    scalar: dict[str, Json] = {"type": ["string", "integer", "boolean"]}
    return forms.record(
        "One argument, in a closed part of JSON Schema. It is required unless it has a default.",
        {
            "type": {
                "type": "string",
                "enum": ["string", "integer", "boolean"],
                "description": 'Its type; nothing is converted: `"3"` is no integer, `1` no boolean.',
            },
            "description": forms.text("What it means, for agents and people.", longest=4096),
            "enum": {
                "type": "array",
                "items": scalar,
                "minItems": 1,
                "maxItems": 256,
                "uniqueItems": True,
                "description": "The values that it may have.",
            },
            "pattern": forms.text(
                "A regular expression for the whole text, in RE2's syntax, from `^` to `$`.",
                longest=512,
            ),
            "minLength": {**forms.whole("Characters at least.", 0, 65_536), "default": 0},
            "maxLength": {**forms.whole("Characters at most.", 1, 65_536), "default": 1024},
            "minimum": {"type": "integer", "description": "The least integer."},
            "maximum": {"type": "integer", "description": "The largest integer."},
            "default": {
                **scalar,
                "description": "The value when the call has none; it is shown like any other.",
            },
            "allow": {
                "type": "array",
                "items": {"type": "string", "enum": [str(allowance) for allowance in Allowance]},
                "uniqueItems": True,
                "description": (
                    "What its text may hold although it is refused elsewhere: a `leading_dash`, a `newline`."
                ),
                "default": [],
            },
        },
        ("type",),
    )


def _argv() -> dict[str, Json]:
    return {
        "type": "array",
        "items": {"type": "string", "maxLength": 4096},
        "minItems": 1,
        "maxItems": 128,
        "description": (
            "The program and its arguments, never a shell line. `{name}` is replaced by that argument;"
            " `{{` and `}}` are braces. The program itself holds no placeholder and is no shell."
        ),
    }


def run() -> dict[str, Json]:
    step = forms.record(
        "One program of a call.",
        {
            "argv": _argv(),
            "credential": {
                "type": "boolean",
                "description": "Whether the lease's files are in `/run/credential` while it runs.",
                "default": False,
            },
            "network": forms.choice("What it may reach.", Network, "none"),
        },
        ("argv",),
    )
    return {
        **forms.record(
            "What a call runs.",
            {
                "image": forms.text("Name of the image that the steps run in.", pattern=forms.NAME),
                "sandbox": {"$ref": "#/$defs/sandbox"},
                "argv": {
                    **_argv(),
                    "description": "Short for one step, which has the credential if the tool declares one.",
                },
                "steps": {
                    "type": "array",
                    "items": step,
                    "minItems": 1,
                    "maxItems": 16,
                    "description": "The programs, in order; the first that fails ends the call.",
                },
            },
            ("image",),
        ),
        "oneOf": [{"required": ["argv"]}, {"required": ["steps"]}],
    }


def credential() -> dict[str, Json]:
    return forms.record(
        "The lease that a call gets from the target's secrets engine.",
        {
            "role": forms.text(
                "Role of the engine. A destructive tool shares it with no other tool.",
                pattern=forms.NAME,
            ),
            "ttl": forms.duration("Life of the lease; at least the timeout and its grace."),
            "namespace": forms.text("Template: the Kubernetes namespace that the lease is for."),
        },
        ("role", "ttl"),
    )


def approval() -> dict[str, Json]:
    rule = forms.record(
        "More approvals when a condition holds.",
        {
            "when": forms.text(
                "A condition in CEL over `plan` (counts of the plan's summary), `arguments` and `target`.",
                longest=2048,
            ),
            "required": forms.whole("Distinct owners at least, when it holds.", 1, 100),
        },
        ("when", "required"),
    )
    return forms.record(
        "Who decides, where and how many. Destructive tools have it, read tools don't.",
        {
            "via": forms.choice("The channel on GitHub.", Via),
            "owned": forms.text(
                "Template: the path whose code owners decide. A folder ends in `/`; else it is one file."
            ),
            "required": forms.whole("Distinct owners at least.", 1, 100),
            "rules": {
                "type": "array",
                "items": rule,
                "maxItems": 32,
                "description": "Conditions that raise `required`; the largest number counts.",
                "default": [],
            },
            "allow_self_approval": {
                "type": "boolean",
                "description": "Dangerous: whether the person behind the agent may approve.",
                "default": False,
            },
        },
        ("via", "owned", "required"),
    )


def tool() -> dict[str, Json]:
    return forms.record(
        "One named action.",
        {
            "title": forms.text("A few words for people. Without it, the name in words.", longest=120),
            "description": forms.text(
                "What it does, for agents and people. Without it, the title.", longest=4096
            ),
            "tier": forms.choice(
                "`read` runs at once and must change nothing; `destructive` waits for code owners.", Tier
            ),
            "target": forms.text("Name of its target.", pattern=forms.NAME),
            "arguments": {
                **forms.named("Its arguments.", forms.ARGUMENT_NAME, "argument"),
                "default": {},
            },
            "source": forms.text(
                "Template: the folder of the repository that the call works on; no final `/`."
            ),
            "state": forms.choice("What it may do with the target's Terraform state.", StateAccess, "none"),
            "plan": forms.text(
                "Name of the read tool that computes its plan. Without it: NO PREVIEW.",
                pattern=forms.TOOL_NAME,
            ),
            "plan_file": forms.text(
                "For a planning tool: the file in the call's folder that is the plan.",
                pattern=forms.FILE_NAME,
                longest=64,
            ),
            "preview": forms.choice("For a planning tool: how its plan is read.", Preview),
            "run": {"$ref": "#/$defs/run"},
            "environment": {
                "type": "object",
                "description": "Fixed environment variables of its steps; no secret and no placeholder.",
                "propertyNames": {"pattern": forms.VARIABLE},
                "additionalProperties": {"type": "string", "maxLength": 1024},
                "default": {},
            },
            "credential": {"$ref": "#/$defs/credential"},
            "approval": {"$ref": "#/$defs/approval"},
            **clocks(own=True),
        },
        ("tier", "target", "run"),
    )
