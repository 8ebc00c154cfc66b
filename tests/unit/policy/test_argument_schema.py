"""Declarations of arguments, and the JSON Schema that agents see."""

from __future__ import annotations

import jsonschema
import pytest

from policy import argument_schema
from policy.tools import Allowance
from tests.unit.policy import tool_examples as examples


def test_the_schema_is_closed_and_bounded() -> None:
    tool = examples.tool("show")
    assert tool.arguments == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[a-z.-]+$", "maxLength": 20},
            "lines": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
            "follow": {"type": "boolean", "default": False},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    jsonschema.Draft202012Validator.check_schema(dict(tool.arguments))


def test_what_is_left_open_is_closed() -> None:
    schema = argument_schema.build(
        {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "signed": {"type": "integer", "allow": ["leading_dash"]},
            "choice": {"type": "string", "enum": ["a"]},
        }
    )
    assert schema["properties"] == {
        "text": {"type": "string", "maxLength": 1024},
        "count": {"type": "integer", "minimum": 0, "maximum": 2**53 - 1},
        "signed": {"type": "integer", "minimum": 1 - 2**53, "maximum": 2**53 - 1},
        "choice": {"type": "string", "enum": ["a"]},
    }


def test_allowances_are_kept_beside_the_schema() -> None:
    declared = {"a": {"type": "string", "allow": ["newline", "leading_dash"]}, "b": {"type": "string"}}
    assert argument_schema.allowances(declared) == {"a": {Allowance.NEWLINE, Allowance.LEADING_DASH}}


@pytest.mark.parametrize(
    ("declared", "where", "what"),
    [
        ("{type: boolean, pattern: ^a$}", ".pattern", "says nothing about type boolean"),
        ("{type: string, minimum: 1}", ".minimum", "says nothing about type string"),
        ("{type: integer, maxLength: 1}", ".maxLength", "says nothing about type integer"),
        ("{type: boolean, enum: [true]}", ".enum", "says nothing about type boolean"),
        ("{type: boolean, allow: [newline]}", ".allow", "says nothing about type boolean"),
        ("{type: string, pattern: abc}", ".pattern", "it must begin with ^ and end with $"),
        ("{type: string, pattern: '^(a$'}", ".pattern", "missing )"),
        ("{type: string, pattern: '^(?=a)$'}", ".pattern", "invalid perl operator"),
        ("{type: string, minLength: 5, maxLength: 4}", ".minLength", "no text has at least 5"),
        ("{type: integer, minimum: 5, maximum: 4}", ".maximum", "no integer is at least 5"),
        ("{type: integer, minimum: -5}", ".minimum", "begins with a dash"),
        ("{type: string, enum: [a, 1]}", ".enum[1]", "it is not of type string"),
        ("{type: integer, enum: [1, true]}", ".enum[1]", "it is not of type integer"),
        ("{type: string, enum: ['-a']}", ".enum[0]", "it begins with a dash"),
        ("{type: integer, enum: [-1]}", ".enum[0]", "it begins with a dash"),
        ('{type: string, enum: ["a\\nb"]}', ".enum[0]", "it holds a newline"),
        ("{type: string, default: 1}", ".default", "it is not of type string"),
        ("{type: integer, default: 5, maximum: 4}", ".default", "out of the declared range"),
        ("{type: string, default: b, enum: [a]}", ".default", "not among the declared values"),
        ("{type: string, default: B, pattern: '^[a-z]$'}", ".default", "doesn't match"),
        ("{type: string, default: abc, maxLength: 2}", ".default", "its length"),
    ],
)
def test_a_declaration_that_could_never_be_met_is_refused(declared: str, where: str, what: str) -> None:
    found = examples.mistakes(("{type: boolean, default: false}", declared))
    assert any(e.path == f"tools.show.arguments.follow{where}" and what in e.what for e in found), found


def test_negative_integers_need_the_leading_dash() -> None:
    text = examples.changed(
        (
            "{type: boolean, default: false}",
            "{type: integer, minimum: -5, default: -1, allow: [leading_dash]}",
        )
    )
    assert examples.tool("show", text).allowances == {"follow": {Allowance.LEADING_DASH}}
