"""The forms that the policy file's schema is made of, and how each is named to people."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from policy import durations, quantities
from policy.canonical import Json

TOOL_NAME: Final = "^[a-z][a-z0-9_]{0,62}$"
ARGUMENT_NAME: Final = TOOL_NAME
NAME: Final = "^[a-z][a-z0-9-]{0,62}$"
MOUNT: Final = "^[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)*$"
UID: Final = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
BRANCH: Final = "^[A-Za-z0-9_][A-Za-z0-9_./-]*$"
PROVIDER: Final = "^[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*$"
FILE_NAME: Final = "^[A-Za-z0-9_][A-Za-z0-9_.-]*$"
VARIABLE: Final = "^[A-Z][A-Z0-9_]{0,63}$"

WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        TOOL_NAME: "a small letter, then small letters, digits and _",
        NAME: "a small letter, then small letters, digits and -",
        MOUNT: "small letters, digits, _ and -, in parts divided by /",
        UID: "a uid such as 5f0c8a52-0b6e-4c53-9a4c-2b1f6f0a7d11",
        BRANCH: "a branch name such as main, without refs/heads/",
        PROVIDER: "host/namespace/type, such as terraform.io/builtin/terraform",
        FILE_NAME: "a file name without a folder",
        VARIABLE: "capital letters, digits and _, a letter first",
        durations.PATTERN: "a duration such as 90s, 30m, 24h or 7d",
        quantities.BYTES_PATTERN: "a size such as 256KiB, 512Mi or 1Gi",
        quantities.CPU_PATTERN: "cores (2) or thousandths of one (500m)",
    }
)
"""What a pattern means, in words: errors say this and not the expression."""


def record(description: str, properties: dict[str, Json], required: tuple[str, ...] = ()) -> dict[str, Json]:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def named(description: str, pattern: str, value: str) -> dict[str, Json]:
    return {
        "type": "object",
        "description": description,
        "propertyNames": {"pattern": pattern},
        "additionalProperties": {"$ref": f"#/$defs/{value}"},
    }


def text(description: str, *, pattern: str | None = None, longest: int = 1024) -> dict[str, Json]:
    schema: dict[str, Json] = {
        "type": "string",
        "description": description,
        "minLength": 1,
        "maxLength": longest,
    }
    if pattern is not None:
        schema["pattern"] = pattern
    return schema


def choice(description: str, values: type[StrEnum], default: str | None = None) -> dict[str, Json]:
    schema: dict[str, Json] = {"type": "string", "description": description, "enum": [str(v) for v in values]}
    if default is not None:
        schema["default"] = default
    return schema


def whole(description: str, least: int, most: int) -> dict[str, Json]:
    return {"type": "integer", "description": description, "minimum": least, "maximum": most}


def duration(description: str, default: str | None = None) -> dict[str, Json]:
    schema = text(
        f"{description} A duration: `90s`, `30m`, `24h`, `7d`.", pattern=durations.PATTERN, longest=8
    )
    return schema if default is None else {**schema, "default": default}


def size(description: str, default: str) -> dict[str, Json]:
    words = f"{description} A size: `256KiB`, `512Mi`, `1Gi`."
    return {**text(words, pattern=quantities.BYTES_PATTERN, longest=16), "default": default}
