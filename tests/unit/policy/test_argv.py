"""Rendering of argv and paths."""

from __future__ import annotations

import pytest

from policy import argv
from policy.canonical import Json
from policy.refusal import Code, Refused
from policy.tools import Network
from tests.unit.policy import tool_examples as examples


def test_every_step_is_rendered() -> None:
    steps = argv.render(examples.tool("show"), {"name": "a.log", "lines": 3, "follow": False})
    assert steps == (
        argv.RenderedStep(argv=("head", "--lines=3", "a.log"), credential=True, network=Network.NONE),
    )
    steps = argv.render(examples.tool("apply"), {"module": "demo"})
    assert [step.argv for step in steps] == [("terraform", "init"), ("terraform", "apply", "plan.bin")]


@pytest.mark.parametrize("value", ["a b; rm -rf /", "$(id)", "`id`", "'\"", "{name}", "{{x}}", "*", "a|b>c"])
def test_a_value_stays_one_element_and_is_never_interpreted(value: str) -> None:
    (step,) = argv.render(examples.tool("show"), {"name": value, "lines": 3})
    assert step.argv == ("head", "--lines=3", value)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"name": "-rf", "lines": 3}, "would make it an option"),
        ({"name": "--server=evil", "lines": 3}, "would make it an option"),
        ({"name": "a\x00b", "lines": 3}, "a NUL"),
        ({"name": "a\nb", "lines": 3}, "a newline"),
        ({"lines": 3}, "the argument name is missing"),
        ({"name": ["a"], "lines": 3}, "has no place in a template"),
        ({"name": None, "lines": 3}, "has no place in a template"),
        ({"name": "x" * 200_000, "lines": 3}, "longer than"),
    ],
)
def test_what_the_template_doesn_t_show_is_refused(values: dict[str, Json], why: str) -> None:
    with pytest.raises(Refused) as caught:
        argv.render(examples.tool("show"), values)
    assert caught.value.refusal.code is Code.ARGV_INVALID
    assert why in caught.value.refusal.what


def test_a_dash_that_comes_about_by_joining_is_refused() -> None:
    text = examples.changed(('"{name}"', '"{name}{follow}"'))
    with pytest.raises(Refused, match="would make it an option"):
        argv.render(examples.tool("show", text), {"name": "", "lines": 3, "follow": "-x"})


def test_what_the_declaration_allows_passes() -> None:
    allowed = "maxLength: 20, allow: [leading_dash, newline]"
    tool = examples.tool("show", examples.changed(("maxLength: 20", allowed)))
    (step,) = argv.render(tool, {"name": "-a\nb", "lines": 3})
    assert step.argv[2] == "-a\nb"


def test_paths_are_filled() -> None:
    assert argv.fill("terraform/{module}", {"module": "demo/web"}) == "terraform/demo/web"
    assert argv.fill("terraform/{module}/", {"module": "demo"}) == "terraform/demo/"


@pytest.mark.parametrize(
    "module",
    ["..", "../x", "a/../../x", "", "/x", "a//b", "a/", ".", ".git", ".ownergate", "a\x00", "a\u202e", " a"],
)
def test_a_value_never_leads_elsewhere(module: str) -> None:
    with pytest.raises(Refused) as caught:
        argv.fill("terraform/{module}", {"module": module})
    assert caught.value.refusal.code is Code.PATH_INVALID


def test_an_absolute_path_is_refused() -> None:
    with pytest.raises(Refused, match="it is absolute"):
        argv.fill("{module}", {"module": "/etc"})
