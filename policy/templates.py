"""Templates: text with `{name}` where an argument goes.

A template is split once into literal and placeholder parts and never scanned again after filling, so
what an argument holds can't become a placeholder. `{{` and `}}` are literal braces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from policy.canonical import Json

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """Where the argument `name` goes."""

    name: str


Part = str | Placeholder


def split(template: str) -> tuple[Part, ...]:
    """The parts of a template, in order; no two literals follow each other.

    Raises:
        ValueError: for a brace without its partner and a placeholder that is no argument name.
    """
    parts: list[Part] = []
    literal = ""
    end = 0
    for match in _PART.finditer(template):
        literal += template[end : match.start()]
        end = match.end()
        token = match[0]
        if token in ("{{", "}}"):
            literal += token[0]
        elif match[1] is None:
            raise ValueError(f"a single {token} stands for nothing; write {token * 2} for the brace itself")
        elif NAME.fullmatch(match[1]) is None:
            raise ValueError(f"{token} is no placeholder; an argument's name is [a-z][a-z0-9_]*")
        else:
            if literal:
                parts.append(literal)
            parts.append(Placeholder(name=match[1]))
            literal = ""
    literal += template[end:]
    if literal:
        parts.append(literal)
    return tuple(parts)


def placeholders(template: str) -> tuple[str, ...]:
    """The names that a template needs, in order, each as often as it stands there."""
    return tuple(part.name for part in split(template) if isinstance(part, Placeholder))


def join(template: str, arguments: Mapping[str, Json]) -> str:
    """Fills a template; the result is not checked by any rule yet.

    Raises:
        KeyError: when an argument is missing.
        TypeError: when an argument is no string, integer or boolean.
    """
    return "".join(part if isinstance(part, str) else show(arguments[part.name]) for part in split(template))


def show(value: Json) -> str:
    """The one text form of an argument: booleans are `true` and `false`.

    Raises:
        TypeError: for any other type.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return value
        case _:
            raise TypeError(f"a {type(value).__name__} has no place in a template")
