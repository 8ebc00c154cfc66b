"""Argument declarations of the policy file, and the JSON Schema that they become.

A closed part of JSON Schema: scalars only, because an argument fills an element of an argv. What a
declaration leaves open is closed here: text is at most 1,024 characters, integers start at 0 unless a
leading dash is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from policy import patterns
from policy.canonical import LARGEST_INTEGER, Json
from policy.policy_errors import Mistake, Path
from policy.tools import Allowance

DEFAULT_LONGEST: Final = 1024
"""Characters of a text when its declaration doesn't say."""

_ONLY_FOR: Final = {
    "pattern": "string",
    "minLength": "string",
    "maxLength": "string",
    "minimum": "integer",
    "maximum": "integer",
}

_TYPES: Final[Mapping[str, object]] = {"string": str, "integer": int, "boolean": bool}


def build(declarations: Mapping[str, Any]) -> dict[str, Json]:
    """The JSON Schema (2020-12) of the arguments object: closed, everything required but defaults."""
    return {
        "type": "object",
        "properties": {name: _property(declared) for name, declared in declarations.items()},
        "required": [name for name, declared in declarations.items() if "default" not in declared],
        "additionalProperties": False,
    }


def allowances(declarations: Mapping[str, Any]) -> dict[str, frozenset[Allowance]]:
    """What each argument's text may hold beyond the rule; arguments without any are left out."""
    return {
        name: frozenset(Allowance(item) for item in declared["allow"])
        for name, declared in declarations.items()
        if declared.get("allow")
    }


def mistakes(declared: Mapping[str, Any]) -> Iterator[Mistake]:
    """What is wrong with one declaration that has the schema's shape."""
    kind = declared["type"]
    for key, only in _ONLY_FOR.items():
        if key in declared and kind != only:
            yield Mistake((key,), f"{key} says nothing about type {kind}", f"{key} for type {only} only")
    if kind == "boolean" and "enum" in declared:
        yield Mistake(("enum",), "enum says nothing about type boolean", "type boolean alone, or default")
    if kind == "boolean" and declared.get("allow"):
        yield Mistake(("allow",), "allow says nothing about type boolean", "allow for text and integers")
    if "pattern" in declared:
        reason = patterns.problem(declared["pattern"])
        if reason is not None:
            yield Mistake(
                ("pattern",), f"the pattern can't be used: {reason}", "an RE2 expression from ^ to $"
            )
            return
    yield from _empty_range(declared)
    for path, value in _declared_values(declared):
        reason = _unfit(declared, value)
        if reason is not None:
            yield Mistake(path, reason, "a value that a call could have")


def _declared_values(declared: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    for index, value in enumerate(declared.get("enum", ())):
        yield ("enum", index), value
    if "default" in declared:
        yield ("default",), declared["default"]


def _property(declared: Mapping[str, Any]) -> dict[str, Json]:
    schema = {key: value for key, value in declared.items() if key != "allow"}
    if declared["type"] == "string" and "enum" not in declared:
        schema.setdefault("maxLength", DEFAULT_LONGEST)
    if declared["type"] == "integer" and "enum" not in declared:
        schema.setdefault("minimum", _least(declared))
        schema.setdefault("maximum", LARGEST_INTEGER)
    return cast("dict[str, Json]", schema)


def _least(declared: Mapping[str, Any]) -> int:
    return -LARGEST_INTEGER if Allowance.LEADING_DASH in declared.get("allow", ()) else 0


def _empty_range(declared: Mapping[str, Any]) -> Iterator[Mistake]:
    shortest, longest = declared.get("minLength", 0), declared.get("maxLength", DEFAULT_LONGEST)
    if shortest > longest:
        yield Mistake(
            ("minLength",), f"no text has at least {shortest} and at most {longest} characters", "a range"
        )
    least = declared.get("minimum", _least(declared))
    if least > declared.get("maximum", LARGEST_INTEGER):
        yield Mistake(
            ("maximum",), f"no integer is at least {least} and at most {declared['maximum']}", "a range"
        )
    if least < _least(declared):
        yield Mistake(
            ("minimum",), "a negative integer begins with a dash", "0 or more, or allow: [leading_dash]"
        )


def _unfit(declared: Mapping[str, Any], value: Any) -> str | None:
    """Why a value of the declaration itself could never be an argument."""
    allowed = declared.get("allow", ())
    if _TYPES[declared["type"]] is not type(value):
        return f"it is not of type {declared['type']}"
    if isinstance(value, bool):
        return None
    if str(value).startswith("-") and Allowance.LEADING_DASH not in allowed:
        return "it begins with a dash"
    if isinstance(value, int):
        least, most = declared.get("minimum", _least(declared)), declared.get("maximum", LARGEST_INTEGER)
        return None if least <= value <= most else "it is out of the declared range"
    if "\n" in value and Allowance.NEWLINE not in allowed:
        return "it holds a newline"
    if "pattern" in declared and not patterns.matches(declared["pattern"], value):
        return "it doesn't match the declared pattern"
    if not declared.get("minLength", 0) <= len(value) <= declared.get("maxLength", DEFAULT_LONGEST):
        return "its length is out of the declared range"
    if "enum" in declared and value not in declared["enum"]:
        return "it is not among the declared values"
    return None
