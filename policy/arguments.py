"""Validation of a call's arguments: strict, without any conversion.

The tool's JSON Schema says what each argument may be. On top of it stand the rules that no tool can
switch off by forgetting them: no control or invisible characters, no leading dash, no way out of a
folder, nothing that looks like a secret, 64 KiB in all.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

from policy import canonical, patterns, secret_shapes
from policy.canonical import Json
from policy.policy_document import nearest
from policy.refusal import Code, refuse
from policy.tools import Allowance, Tool

LARGEST: Final = 64 * 1024
"""Bytes of all arguments together, as canonical JSON."""

_TYPE_WORDS: Final = {"string": "text", "integer": "an integer", "boolean": "true or false"}


def validate(tool: Tool, arguments: Json) -> dict[str, Json]:
    """The arguments of one call, checked; declared defaults are filled in, so that people see them.

    Args:
        tool: the tool that is called.
        arguments: what the caller sent, as `canonical.parse` or an equally strict reader gives it.

    Raises:
        Refused: with code `arguments_invalid`, `credential_literal` or `json_invalid`. The message
            names the argument and never repeats a value that looks like a secret.
    """
    if not isinstance(arguments, dict):
        _no(tool, "the arguments are no object", "Send one JSON object with the arguments by name.")
    _check_size(tool, arguments)
    properties = cast("Mapping[str, Mapping[str, Any]]", tool.arguments["properties"])
    _check_names(tool, arguments, properties)
    result: dict[str, Json] = {}
    for name, schema in properties.items():
        value = arguments.get(name, schema.get("default"))
        _check_type(tool, name, value, schema)
        _check_schema(tool, name, value, schema)
        if isinstance(value, str):
            _check_text(tool, name, value)
        if isinstance(value, int) and value < 0 and not _allows(tool, name, Allowance.LEADING_DASH):
            _dash(tool, name)
        result[name] = value
    return result


def _check_size(tool: Tool, arguments: dict[str, Json]) -> None:
    # Looked at before anything is encoded or matched: a megabyte of text must cost nothing.
    rough = sum(
        len(name) + (len(value) if isinstance(value, str) else 0) for name, value in arguments.items()
    )
    if rough > LARGEST or len(canonical.encode(arguments)) > LARGEST:
        _no(tool, f"the arguments are larger than {LARGEST} bytes", "Send less; files travel as `source`.")


def _check_names(tool: Tool, arguments: dict[str, Json], properties: Mapping[str, Any]) -> None:
    for name in arguments:
        if name not in properties:
            near = nearest(name, properties)
            known = ", ".join(properties) or "none"
            remedy = f"Did you mean {near}?" if near else f"Declared arguments: {known}."
            _no(tool, f"there is no argument {name[:80]!a}", remedy)
    for name in cast("list[str]", tool.arguments["required"]):
        if name not in arguments:
            _no(tool, f"the argument {name} is missing", f"Send {name}.")


def _check_type(tool: Tool, name: str, value: Json, schema: Mapping[str, Any]) -> None:
    wanted = schema["type"]
    # Exact types, because Python's True is an int, and a converted value is not what was approved.
    fits = type(value) is {"string": str, "integer": int, "boolean": bool}[wanted]
    if not fits:
        _no(
            tool, f"{name} is not {_TYPE_WORDS[wanted]}", f"Send {_TYPE_WORDS[wanted]}; nothing is converted."
        )


def _check_schema(tool: Tool, name: str, value: Any, schema: Mapping[str, Any]) -> None:
    """The keywords of the closed part of JSON Schema that tools may use, with RE2 for patterns."""
    if "enum" in schema and value not in schema["enum"]:
        choices = ", ".join(str(choice) for choice in schema["enum"])
        _no(tool, f"{name} is none of the declared values", f"Declared values: {choices}.")
    if isinstance(value, str):
        longest, shortest = schema.get("maxLength", canonical.LARGEST_INTEGER), schema.get("minLength", 0)
        if not shortest <= len(value) <= longest:
            _no(tool, f"{name} has {len(value)} characters", f"Send {shortest} to {longest} characters.")
        if "pattern" in schema and not patterns.matches(schema["pattern"], value):
            _no(tool, f"{name} doesn't match its pattern", f"The whole text must match {schema['pattern']}")
    elif isinstance(value, int) and not isinstance(value, bool):
        least, most = schema.get("minimum"), schema.get("maximum")
        if (least is not None and value < least) or (most is not None and value > most):
            _no(tool, f"{name} is out of range", f"Send an integer from {least} to {most}.")


def _check_text(tool: Tool, name: str, value: str) -> None:
    hidden = next((c for c in value if _is_hidden(c) and not (c == "\n" and _newline(tool, name))), None)
    if hidden is not None:
        _no(tool, f"{name} holds {hidden!a}, which can't be seen", "Send visible characters only.")
    if value.startswith("-") and not _allows(tool, name, Allowance.LEADING_DASH):
        _dash(tool, name)
    if ".." in value.split("/"):
        _no(tool, f"{name} holds '..' as part of a path", "Name the folder itself.")
    shape = secret_shapes.find(value)
    if shape is not None:
        raise refuse(
            Code.CREDENTIAL_LITERAL,
            f"the call of {tool.name}: {name} looks like {shape}",
            rule="What an agent sends is committed and shown, so no secret may be in it.",
            remedy="Send a reference to the secret; revoke this one if it is real.",
        )


def _is_hidden(character: str) -> bool:
    """Control, format, private and unassigned characters, and the two separators of lines."""
    return unicodedata.category(character)[0] == "C" or character in "\u2028\u2029"


def _newline(tool: Tool, name: str) -> bool:
    return _allows(tool, name, Allowance.NEWLINE)


def _allows(tool: Tool, name: str, allowance: Allowance) -> bool:
    return allowance in tool.allowances.get(name, frozenset())


def _dash(tool: Tool, name: str) -> NoReturn:
    _no(tool, f"{name} begins with a dash", "Send a value that no program takes for an option.")


def _no(tool: Tool, what: str, remedy: str) -> NoReturn:
    raise refuse(
        Code.ARGUMENTS_INVALID,
        f"the call of {tool.name}: {what}",
        rule="Arguments must be exactly what the tool declares.",
        remedy=remedy,
    )
