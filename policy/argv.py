"""Rendering: from the templates of a tool and checked arguments to what will really run.

Bot and runner both render, from the manifest's arguments; the runner refuses when its own result is not
the manifest's. A value never becomes an option: an element that begins with a dash does so in the
template, or the argument's declaration allows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from policy import paths, templates
from policy.canonical import Json
from policy.refusal import Code, Refused, refuse
from policy.templates import Placeholder
from policy.tools import Allowance, Network, Tool

LONGEST_ARGV: Final = 128 * 1024
"""Bytes of one argv together; Linux takes at most 128 KiB for one element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedStep:
    """One program of a call, ready to run.

    Attributes:
        argv: the program and its arguments.
        credential: whether the lease's files are there while it runs.
        network: what it may reach.
    """

    argv: tuple[str, ...]
    credential: bool
    network: Network


def render(tool: Tool, arguments: Mapping[str, Json]) -> tuple[RenderedStep, ...]:
    """The steps of one call.

    Args:
        tool: the tool that is called.
        arguments: what `policy.arguments.validate` returned.

    Raises:
        Refused: with code `argv_invalid` when an element would not be what its template shows.
    """
    return tuple(
        RenderedStep(argv=_argv(tool, step.argv, arguments), credential=step.credential, network=step.network)
        for step in tool.steps
    )


def fill(template: str, arguments: Mapping[str, Json]) -> str:
    """Fills the template of a path or name: `source`, `owned`, and parameters of a credential.

    The result is a plain relative path, with a final slash exactly when the template has one.

    Raises:
        Refused: with code `path_invalid`.
    """
    text = _join(template, arguments, Code.PATH_INVALID)
    reason = paths.problem(text.removesuffix("/") if template.endswith("/") else text)
    if reason is None and paths.is_record(text):
        reason = f"it leads into {paths.RECORDS}"
    if reason is not None:
        raise refuse(
            Code.PATH_INVALID,
            f"the path {text[:200]!a} from the template {template}: {reason}",
            rule="A path names one file or folder in the repository, plainly.",
            remedy="Send arguments that name it without '..', '//' or a leading '/'.",
        )
    return text


def _argv(tool: Tool, argv: tuple[str, ...], arguments: Mapping[str, Json]) -> tuple[str, ...]:
    rendered = tuple(_element(tool, template, arguments) for template in argv)
    if sum(len(element.encode("utf-8", "surrogatepass")) + 1 for element in rendered) > LONGEST_ARGV:
        raise _no(f"an argv of {tool.name}", f"it is longer than {LONGEST_ARGV} bytes")
    return rendered


def _element(tool: Tool, template: str, arguments: Mapping[str, Json]) -> str:
    text = _join(template, arguments, Code.ARGV_INVALID)
    what = f"the element {template!a} of {tool.name}"
    if text.startswith("-") and not template.startswith("-") and not _may_begin_with_dash(tool, template):
        raise _no(what, "an argument would make it an option")
    if "\x00" in text:
        raise _no(what, "it holds a NUL")
    if "\n" in text and not any(
        Allowance.NEWLINE in tool.allowances.get(name, frozenset())
        for name in templates.placeholders(template)
    ):
        raise _no(what, "it holds a newline")
    return text


def _may_begin_with_dash(tool: Tool, template: str) -> bool:
    first = templates.split(template)[0]
    return isinstance(first, Placeholder) and Allowance.LEADING_DASH in tool.allowances.get(
        first.name, frozenset()
    )


def _join(template: str, arguments: Mapping[str, Json], code: Code) -> str:
    try:
        return templates.join(template, arguments)
    except KeyError as error:
        reason = f"the argument {error.args[0]} is missing"
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise _no(f"the template {template!a}", reason, code)


def _no(what: str, why: str, code: Code = Code.ARGV_INVALID) -> Refused:
    return refuse(
        code,
        f"{what}: {why}",
        rule="What runs must be what its template shows; arguments fill places, they choose nothing else.",
        remedy="Send plain values for the declared arguments.",
    )
