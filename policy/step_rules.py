"""Whether the steps of a tool run what they seem to run: programs, options, placeholders, environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from policy import programs, templates
from policy.canonical import Json
from policy.policy_document import nearest
from policy.policy_errors import Mistake, Path
from policy.tools import Step, Tool

_ORDERS: Final = frozenset(
    {"BASH_ENV", "ENV", "HOME", "IFS", "KUBECONFIG", "PATH", "PYTHONPATH", "PYTHONSTARTUP", "SHELL", "TMPDIR"}
)
_ORDER_PREFIXES: Final = ("BAO_", "GIT_", "LD_", "NODE_", "PERL", "TF_", "VAULT_")
_HARMLESS: Final = ("TF_IN_AUTOMATION", "TF_VAR_")


def mistakes(tool: Tool, *, short: bool) -> Iterator[Mistake]:
    """What is wrong with a tool's steps, seen from its entry in the file.

    Args:
        tool: the tool as built.
        short: whether the file writes the only step as `run.argv`.
    """
    for index, step in enumerate(tool.steps):
        where: Path = ("run", "argv") if short else ("run", "steps", index, "argv")
        yield from _argv(tool, step, where)
    uses = any(step.credential for step in tool.steps)
    if tool.credential is not None and not uses:
        yield Mistake(
            ("credential",), "no step has the credential", "credential: true on the steps that need it"
        )
    if tool.credential is None and uses:
        what = "a step has a credential that the tool doesn't declare"
        yield Mistake(("run",), what, "credential on the tool")
    yield from _environment(tool)


def arguments(tool: Tool) -> Mapping[str, Json]:
    """The declared arguments, each with its schema."""
    return cast("Mapping[str, Json]", tool.arguments["properties"])


def template(tool: Tool, where: Path, text: str) -> Iterator[Mistake]:
    """What is wrong with the placeholders of a template."""
    known = arguments(tool)
    try:
        names = templates.placeholders(text)
    except ValueError as error:
        yield Mistake(where, str(error), "{name} of a declared argument")
        return
    for name in names:
        if name not in known:
            allowed = ", ".join(f"{{{argument}}}" for argument in known) or "none, as it has no arguments"
            what = f"the placeholder {{{name}}} is unknown"
            yield Mistake(where, what, allowed, nearest(name, known))


def _argv(tool: Tool, step: Step, where: Path) -> Iterator[Mistake]:
    wrong = programs.problem(step.argv)
    if wrong is not None:
        yield wrong._replace(where=(*where, *wrong.where))
    for position, element in enumerate(step.argv):
        at = (*where, position)
        yield from template(tool, at, element)
        if _has_control_character(element):
            yield Mistake(at, "an element holds a control character", "text on one line")
        elif _chooses_option(element):
            allowed = "a fixed option, then = and the placeholder: -option={name}"
            yield Mistake(at, "an argument would choose the option", allowed)


def _chooses_option(element: str) -> bool:
    """Whether a placeholder stands in the option's own name, so that a value could pick another flag."""
    option = element.split("=", 1)[0]
    return element.startswith("-") and "{" in option.replace("{{", "").replace("}}", "")


def _environment(tool: Tool) -> Iterator[Mistake]:
    for name, value in tool.environment.items():
        where: Path = ("environment", name)
        if name in _ORDERS or (name.startswith(_ORDER_PREFIXES) and not name.startswith(_HARMLESS)):
            what = f"{name} would change what the argv does"
            yield Mistake(where, what, "variables that no loader, shell or tool takes orders from")
        if _has_control_character(value):
            yield Mistake(where, "the value holds a control character", "text on one line")


def _has_control_character(text: str) -> bool:
    return any(ord(character) < 32 or ord(character) == 127 for character in text)
