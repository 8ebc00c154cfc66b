"""Validation of a call's arguments."""

from __future__ import annotations

import time
import unicodedata
from typing import Any

import pytest

from policy import arguments, canonical
from policy.canonical import Json
from policy.refusal import Code, Refusal, Refused
from policy.tools import Tool
from tests.unit.policy import tool_examples as examples

MORE = """\
      follow: {type: boolean, default: false}
      note: {type: string, default: x}
      block: {type: string, default: x, allow: [newline]}
      shift: {type: integer, default: 0, allow: [leading_dash]}
      flag: {type: string, default: x, allow: [leading_dash]}
      kind: {type: string, enum: [small, large], default: small}
"""

TEXT = examples.changed(("      follow: {type: boolean, default: false}\n", MORE))


@pytest.fixture(name="tool", scope="module")
def _tool() -> Tool:
    return examples.tool("show", TEXT)


def refusal(tool: Tool, call: Any) -> Refusal:
    with pytest.raises(Refused) as caught:
        arguments.validate(tool, call)
    return caught.value.refusal


def test_good_arguments_come_back_with_the_defaults_shown(tool: Tool) -> None:
    assert arguments.validate(tool, {"name": "a.log", "lines": 3}) == {
        "name": "a.log",
        "lines": 3,
        "follow": False,
        "note": "x",
        "block": "x",
        "shift": 0,
        "flag": "x",
        "kind": "small",
    }


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (None, "no object"),
        ([], "no object"),
        ("x", "no object"),
        ({}, "the argument name is missing"),
        ({"name": None}, "name is not text"),
        ({"name": 3}, "name is not text"),
        ({"name": ["a"]}, "name is not text"),
        ({"name": "a", "nam": "b"}, "there is no argument 'nam'"),
        ({"name": "a", "lines": "3"}, "lines is not an integer"),
        ({"name": "a", "lines": True}, "lines is not an integer"),
        ({"name": "a", "lines": None}, "lines is not an integer"),
        ({"name": "a", "lines": 0}, "lines is out of range"),
        ({"name": "a", "lines": 101}, "lines is out of range"),
        ({"name": "a", "follow": 1}, "follow is not true or false"),
        ({"name": "a", "follow": "true"}, "follow is not true or false"),
        ({"name": "A"}, "name doesn't match its pattern"),
        ({"name": "a\n"}, "name doesn't match its pattern"),
        ({"name": ""}, "name doesn't match its pattern"),
        ({"name": "a" * 21}, "name has 21 characters"),
        ({"name": "a", "kind": "medium"}, "kind is none of the declared values"),
        ({"name": "-rf"}, "name begins with a dash"),
        ({"name": ".."}, "'..' as part of a path"),
        ({"name": "a", "note": "../x"}, "'..' as part of a path"),
        ({"name": "a", "note": "a/.."}, "'..' as part of a path"),
        ({"name": "a", "note": "a\x00b"}, "'\\x00', which can't be seen"),
        ({"name": "a", "note": "a\nb"}, "'\\n', which can't be seen"),
        ({"name": "a", "note": "a\tb"}, "'\\t', which can't be seen"),
        ({"name": "a", "note": "a\x1b[0m"}, "'\\x1b', which can't be seen"),
        ({"name": "a", "note": "a\u202eb"}, "'\\u202e', which can't be seen"),
        ({"name": "a", "note": "a\u200bb"}, "'\\u200b', which can't be seen"),
        ({"name": "a", "note": "a\u2028b"}, "'\\u2028', which can't be seen"),
        ({"name": "a", "note": "--server=evil"}, "note begins with a dash"),
        ({"name": "a", "block": "a\x00"}, "can't be seen"),
    ],
)
def test_anything_else_is_refused(tool: Tool, call: Any, what: str) -> None:
    found = refusal(tool, call)
    assert found.code is Code.ARGUMENTS_INVALID
    assert what in found.what


@pytest.mark.parametrize(
    "call",
    [
        {"name": "a", "lines": 3.0},
        {"name": "a", "lines": float("nan")},
        {"name": "a", "lines": 2**53},
        {"name": "a", "note": unicodedata.normalize("NFD", "ü")},
        {"name": "a", "note": "\ud800"},
    ],
)
def test_what_has_no_canonical_form_is_refused(tool: Tool, call: Any) -> None:
    assert refusal(tool, call).code is Code.JSON_INVALID


def test_what_the_declaration_allows_passes(tool: Tool) -> None:
    call: dict[str, Json] = {"name": "a", "block": "a\nb", "shift": -5, "flag": "--verbose"}
    assert arguments.validate(tool, call).items() >= call.items()


def test_an_unknown_name_is_shown_with_the_nearest(tool: Tool) -> None:
    assert refusal(tool, {"name": "a", "line": 1}).remedy == "Did you mean lines?"


def test_a_secret_is_refused_and_never_repeated(tool: Tool) -> None:
    secret = "ghp_" + "aB3" * 12
    found = refusal(tool, {"name": "a", "note": f"use {secret}"})
    assert found.code is Code.CREDENTIAL_LITERAL
    assert "a GitHub token" in found.what
    assert secret not in found.text()


@pytest.mark.parametrize(
    "call",
    [{"name": "a", "note": "x" * 1_000_000}, {"x" * 1_000_000: 1}, {"name": "a", "note": "ü" * 40_000}],
)
def test_a_megabyte_is_refused_at_once(tool: Tool, call: Any) -> None:
    began = time.process_time()
    found = refusal(tool, call)
    assert "larger than 65536 bytes" in found.what
    assert len(found.text()) < 1000
    assert time.process_time() - began < 0.5


def test_sixty_four_kibibytes_are_not_too_much() -> None:
    text = TEXT.replace(
        "note: {type: string, default: x}", "note: {type: string, default: x, maxLength: 65536}"
    )
    call: Json = {
        "name": "a",
        "note": "x" * (arguments.LARGEST - len(canonical.encode({"name": "a", "note": ""}))),
    }
    assert arguments.validate(examples.tool("show", text), call)["name"] == "a"


@pytest.mark.parametrize(
    "document",
    [
        '{"name": "a", "name": "b"}',
        '{"name": "a", "lines": NaN}',
        '{"name": "a", "lines": 1e2}',
        "{" * 100_000,
    ],
)
def test_the_reader_before_it_refuses_ambiguous_json(document: str) -> None:
    with pytest.raises(Refused) as caught:
        canonical.parse(document, what="the arguments")
    assert caught.value.refusal.code is Code.JSON_INVALID
