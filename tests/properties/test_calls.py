"""Properties of arguments, templates and argv: nothing that a caller sends becomes an option or code."""

from __future__ import annotations

from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from policy import arguments, argv, canonical, paths, templates
from policy.refusal import Refused
from policy.tools import Tool
from tests.unit.policy import tool_examples as examples

FREE = """\
  free:
    tier: read
    target: demo
    arguments:
      text: {type: string}
      more: {type: string, default: ""}
      count: {type: integer}
      yes: {type: boolean, default: false}
    run: {image: tools, argv: [tool, "{text}", "-o={text}", "{more}{text}", "{count}", "{{yes}}={yes}"]}
""".replace("yes", "flag")

TOOL: Tool = examples.tool("free", examples.POLICY + FREE)
SCHEMA = jsonschema.Draft202012Validator(dict(TOOL.arguments))

SHARP = st.text(
    st.sampled_from("-/.{}$`'\"\\ \n\t\x00\x1b\u202e\u200büe\u0301aA0@=:;|&<>*?[]~#!"), max_size=12
)
VALUES = st.one_of(
    SHARP, st.text(max_size=20), st.integers(), st.booleans(), st.none(), st.floats(), st.lists(SHARP)
)
CALLS = st.dictionaries(st.sampled_from(["text", "more", "count", "flag", "other"]), VALUES, max_size=5)


def validated(call: Any) -> dict[str, canonical.Json] | None:
    try:
        return arguments.validate(TOOL, call)
    except Refused:
        return None


@given(CALLS)
def test_whatever_passes_satisfies_the_schema_that_agents_see(call: dict[str, Any]) -> None:
    checked = validated(call)
    if checked is not None:
        assert SCHEMA.is_valid(call)
        assert SCHEMA.is_valid(checked)
        assert {**checked, **call} == checked


@given(CALLS)
def test_whatever_passes_is_canonical_visible_and_no_option(call: dict[str, Any]) -> None:
    checked = validated(call)
    if checked is None:
        return
    canonical.encode(checked)
    for value in checked.values():
        if isinstance(value, str):
            assert value.isprintable()
            assert not value.startswith("-")


@given(st.fixed_dictionaries({"text": SHARP, "count": st.integers(0, 99)}, optional={"more": SHARP}))
@settings(max_examples=300)
def test_argv_has_the_templates_shape_whatever_is_filled_in(call: dict[str, Any]) -> None:
    checked = validated(call)
    if checked is None:
        return
    (step,) = argv.render(TOOL, checked)
    assert len(step.argv) == len(TOOL.steps[0].argv)
    for element, template in zip(step.argv, TOOL.steps[0].argv, strict=True):
        assert element.startswith("-") == template.startswith("-")
    assert step.argv[1] == checked["text"]
    assert step.argv[2] == f"-o={checked['text']}"


@given(SHARP)
@settings(max_examples=300)
def test_rendering_alone_never_makes_an_option(text: str) -> None:
    try:
        (step,) = argv.render(TOOL, {"text": text, "more": "", "count": 0, "flag": False})
    except Refused:
        return
    assert [element for element in step.argv if element.startswith("-")] == [f"-o={text}"]
    assert not any("\x00" in element or "\n" in element for element in step.argv)


@given(SHARP)
@settings(max_examples=300)
def test_a_filled_path_stays_below_its_folder(module: str) -> None:
    try:
        filled = argv.fill("terraform/{module}", {"module": module})
    except Refused:
        return
    assert filled.startswith("terraform/")
    assert paths.problem(filled) is None
    assert not {"..", ".", "", ".git", ".ownergate"} & set(filled.casefold().split("/"))


@given(st.text(max_size=30))
def test_a_literal_template_survives_quoting(text: str) -> None:
    quoted = text.replace("{", "{{").replace("}", "}}")
    assert templates.join(quoted, {}) == text
    assert templates.placeholders(quoted) == ()
