"""A tool call's arguments: what a schema must look like, and the strict check against it.

The SDK's own server coerces ("3" becomes 3), drops what it does not know and ignores
`additionalProperties`. What people approve must be what the agent sent, so the check is our own: JSON
Schema 2020-12, no coercion, nothing unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import jsonschema

from policy import canonical
from policy.canonical import Json
from policy.refusal import Code, refuse

REASON = "reason"
EXPECT = "expect"
SOURCE = "source"
IDEMPOTENCY_KEY = "idempotency_key"

CALL_LEVEL: dict[str, dict[str, Json]] = {
    REASON: {
        "type": "string",
        "minLength": 1,
        "maxLength": 2000,
        "description": "Why this is needed, for the people who decide; shown as your unverified words.",
    },
    EXPECT: {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "creates": {"type": "integer", "minimum": 0},
            "updates": {"type": "integer", "minimum": 0},
            "deletes": {"type": "integer", "minimum": 0},
            "replaces": {"type": "integer", "minimum": 0},
            "resources": {"type": "array", "items": {"type": "string"}, "maxItems": 1000},
        },
        "description": "The most that you expect the plan to do. A plan that does more comes back to you.",
    },
    SOURCE: {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "files": {
                "type": "object",
                "additionalProperties": {"type": ["string", "null"]},
                "description": (
                    "New content by repository path; null deletes the file. "
                    "Only inside the tool's source path."
                ),
            },
            "branch": {
                "type": "string",
                "description": "A branch to take the source from.",
            },
        },
        "minProperties": 1,
        "maxProperties": 1,
        "description": "Your change to the source: files or a branch. Left out: the base branch as it is.",
    },
    IDEMPOTENCY_KEY: {
        "type": "string",
        "minLength": 8,
        "maxLength": 128,
        "pattern": "^[A-Za-z0-9._-]+$",
        "description": "The same key with the same call gives the same request instead of a new one.",
    },
}
"""Names that stand beside a destructive tool's own arguments. A tool may not declare these itself."""


def destructive_schema(arguments: Mapping[str, Json], *, with_source: bool) -> dict[str, Json]:
    """The input schema of a destructive tool: its own arguments and what every such call may carry."""
    extra = {name: schema for name, schema in CALL_LEVEL.items() if with_source or name != SOURCE}
    own = arguments.get("properties")
    required = arguments.get("required")
    properties: dict[str, Json] = {**(own if isinstance(own, dict) else {}), **extra}
    names: list[Json] = [*(required if isinstance(required, list) else []), REASON]
    return {**arguments, "properties": properties, "required": names, "additionalProperties": False}


def check(tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Refuses arguments that are not exactly as the schema says.

    Raises:
        Refused: `arguments_invalid`, naming each fault; `json_invalid` for values without one
            canonical form (NaN, fractions, huge integers, text that is not NFC).
    """
    canonical.check(dict(arguments), what=f"the arguments of {tool}")
    validator = _validator(canonical.encode(dict(schema)))
    faults = sorted(validator.iter_errors(dict(arguments)), key=lambda error: list(map(str, error.path)))
    if faults:
        shown = "; ".join(_sentence(fault) for fault in faults[:5])
        raise refuse(
            Code.ARGUMENTS_INVALID,
            f"the arguments of {tool}: {shown}",
            rule="Arguments must be exactly as the tool's schema says; nothing is converted or dropped.",
            remedy="Correct the named arguments and call the tool once more.",
        )


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(schema))


def _sentence(fault: jsonschema.ValidationError) -> str:
    # The value itself is left out: it may be long, secret or written to be read as an instruction.
    where = ".".join(map(str, fault.absolute_path)) or "the call"
    limit = cast("Any", fault.validator_value)
    match fault.validator:
        case "additionalProperties":
            known = sorted(cast("Any", fault.schema).get("properties", {}))
            unknown = sorted(set(cast("Any", fault.instance)) - set(known))
            return f"{where} has unknown names {', '.join(unknown)[:200]} (known: {', '.join(known)})"
        case "required":
            missing = [name for name in limit if name not in cast("Any", fault.instance)]
            return f"{where} lacks {', '.join(missing)}"
        case "type":
            return f"{where} must be of type {limit}"
        case "enum":
            return f"{where} must be one of {', '.join(map(str, limit))}"
        case other:
            return f"{where} breaks {other}: {str(limit)[:200]}"
