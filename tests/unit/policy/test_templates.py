"""Placeholders."""

from __future__ import annotations

import pytest

from policy import templates
from policy.canonical import Json
from policy.templates import Placeholder


def test_a_template_splits_into_literals_and_placeholders() -> None:
    assert templates.split("-var=a={name}/{other}") == (
        "-var=a=",
        Placeholder(name="name"),
        "/",
        Placeholder(name="other"),
    )


def test_double_braces_are_braces() -> None:
    assert templates.split("{{name}}") == ("{name}",)
    assert templates.join("a{{{name}}}b", {"name": "x"}) == "a{x}b"


@pytest.mark.parametrize(
    "template", ["{", "}", "{name", "name}", "{}", "{Name}", "{a.b}", "{a!r}", "{0}", "{{{"]
)
def test_anything_else_with_a_brace_is_a_fault(template: str) -> None:
    with pytest.raises(ValueError, match=r"brace|placeholder"):
        templates.split(template)


def test_a_value_is_never_a_template_again() -> None:
    assert templates.join("{a}{b}", {"a": "{b}", "b": "{{a}}"}) == "{b}{{a}}"


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (False, "false"), (7, "7"), (-1, "-1"), ("x", "x")]
)
def test_each_type_has_one_text(value: Json, text: str) -> None:
    assert templates.show(value) == text


@pytest.mark.parametrize("value", [None, 1.5, ["x"], {"a": 1}])
def test_other_types_have_none(value: Json) -> None:
    with pytest.raises(TypeError):
        templates.show(value)


def test_a_missing_argument_is_a_fault() -> None:
    with pytest.raises(KeyError):
        templates.join("{a}", {})
