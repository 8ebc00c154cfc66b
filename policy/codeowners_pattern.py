"""One CODEOWNERS pattern: what it matches, and what an invalid one might have meant.

The rules are gitignore's with GitHub's exceptions ("About code owners", syntax and syntax exceptions):
no `!`, no `[ ]`, no `\\#`, and `docs/*` does not reach into folders. Where GitHub's words leave doubt
the pattern is invalid, and its `readings` are every pattern that it could stand for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Wild(Enum):
    """A wildcard. MANY is `*` inside a name and `**` between names."""

    ONE = "?"
    MANY = "*"


Name = tuple["str | Wild", ...]
"""One path component of a pattern: characters and wildcards."""

Component = Name | Literal[Wild.MANY]
"""A name, or any number of folders."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern.

    Attributes:
        components: names, and `Wild.MANY` for any number of folders.
        needle: a text that stands in every path that matches; most paths are told apart by it alone.
    """

    components: tuple[Component, ...]
    needle: str

    def matches(self, path: str) -> bool:
        """Whether the pattern matches a repository path.

        A path that ends with `/` is a folder, and is matched when every file that could stand
        directly in it is, whatever its name.
        """
        if self.needle not in path:
            return False
        names = path.split("/")
        if not names[-1]:
            names[-1] = _SOME_NAME
        return _fits(self.components, names, _name_fits)


class InvalidPattern(ValueError):  # noqa: N818  It is an answer about a line, not a fault.
    """The pattern is not valid at GitHub, or it is not certain what it means there.

    `readings` are the patterns that it could stand for.
    """

    def __init__(self, reason: str, readings: tuple[Pattern, ...]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.readings = readings


_SOME_NAME: Final = "\uffff" * 32
"""A file name that no real pattern spells: only a pattern that takes any name matches it."""

EVERYTHING: Final = Pattern((Wild.MANY,), "")
_GROUP = re.compile(r"\[[^\[\]/]+\]")


def parse(text: str) -> Pattern:
    """Reads one pattern, its backslashes still in it.

    Raises:
        InvalidPattern: with the reason as half a sentence.
    """
    if any(character < " " or character == "\x7f" for character in text):
        raise InvalidPattern("the pattern holds a control character", (EVERYTHING,))
    if "//" in text:
        raise InvalidPattern("the pattern holds an empty folder name", (EVERYTHING,))
    if "***" in text:
        raise InvalidPattern("the pattern holds three asterisks in a row", (EVERYTHING,))
    if text.startswith("!"):
        raise InvalidPattern("a pattern that starts with ! does not work", _readings(text, text[1:]))
    if text.startswith(("\\#", "\\!")):
        raise InvalidPattern(f"a pattern that starts with {text[:2]} does not work", _readings(text[1:]))
    if "[" in text or "]" in text:
        raise InvalidPattern("[ ] does not work in a pattern", _readings(text))
    return _compile(_characters(text))


def _readings(*texts: str) -> tuple[Pattern, ...]:
    """What each text means when its brackets are characters, and when they are ranges."""
    readings: list[Pattern] = []
    for text in texts:
        literal = text.replace("\\[", "[").replace("\\]", "]")
        as_range = _GROUP.sub("?", literal)
        if not as_range or "[" in as_range or "]" in as_range:
            return (EVERYTHING,)
        readings += [_compile(_characters(literal)), _compile(_characters(as_range))]
    return tuple(readings)


def _characters(text: str) -> list[str | Wild]:
    """The pattern's characters with escapes taken out, wildcards told from characters."""
    result: list[str | Wild] = []
    characters = iter(text)
    for character in characters:
        match character:
            case "\\":
                escaped = next(characters, "")
                if not escaped or escaped not in " *?\\":
                    raise InvalidPattern(
                        f"the backslash before {escaped or 'the end'} has no certain meaning", (EVERYTHING,)
                    )
                result.append(escaped)
            case "*":
                result.append(Wild.MANY)
            case "?":
                result.append(Wild.ONE)
            case _:
                result.append(character)
    return result


def _compile(characters: list[str | Wild]) -> Pattern:
    names = _split(characters)
    if not any(names):
        return Pattern((), "")  # "/" alone matches nothing, as in gitignore.
    folder_only = not names[-1]
    if folder_only:
        names.pop()
    anchored = len(names) > 1
    if not names[0]:
        names.pop(0)
    components: list[Component] = [Wild.MANY if name == (Wild.MANY, Wild.MANY) else name for name in names]
    if not anchored:
        # A pattern without a slash before its end matches at any depth.
        components.insert(0, Wild.MANY)
    ending = _ending(components[-1], folder_only=folder_only, anchored=anchored)
    return Pattern((*components, *ending), _needle(components))


def _needle(components: list[Component]) -> str:
    """The longest text that the components spell without a wildcard in it."""
    runs = [""]
    for at, component in enumerate(components):
        if at and component is not Wild.MANY and components[at - 1] is not Wild.MANY:
            runs[-1] += "/"
        for character in (Wild.MANY,) if component is Wild.MANY else component:
            if isinstance(character, Wild):
                runs.append("")
            else:
                runs[-1] += character
    return max(runs, key=len)


def _ending(last: Component, *, folder_only: bool, anchored: bool) -> tuple[Component, ...]:
    """What may follow the pattern's own components in a path."""
    any_name: Name = (Wild.MANY,)
    if folder_only:
        # `docs/` is every file in docs, at any depth; `docs/**/` is every file in a folder in docs.
        return (any_name, any_name, Wild.MANY) if last is Wild.MANY else (any_name, Wild.MANY)
    if last is Wild.MANY:
        # `docs/**` is everything in docs, but not a file of that name.
        return (any_name, Wild.MANY)
    if anchored and last == any_name:
        # GitHub's exception: `docs/*` does not reach into folders.
        return ()
    return (Wild.MANY,)


def _split(characters: list[str | Wild]) -> list[Name]:
    names: list[list[str | Wild]] = [[]]
    for character in characters:
        if character == "/":
            names.append([])
        else:
            names[-1].append(character)
    return [tuple(name) for name in names]


def _name_fits(pattern: Component, name: str) -> bool:
    return pattern is not Wild.MANY and _fits(pattern, name, _character_fits)


def _character_fits(pattern: str | Wild, character: str) -> bool:
    return pattern is Wild.ONE or pattern == character


def _fits(pattern: Sequence[T], items: Sequence[U], same: Callable[[T, U], bool]) -> bool:
    """Whether a sequence fits a pattern in which `Wild.MANY` takes any number of items.

    It goes back to the latest MANY only, which is enough, so that no pattern takes exponential time.
    """
    at, item = 0, 0
    many, resume = -1, 0
    while item < len(items):
        if at < len(pattern) and pattern[at] is Wild.MANY:
            many, resume = at, item
            at += 1
        elif at < len(pattern) and same(pattern[at], items[item]):
            at += 1
            item += 1
        elif many >= 0:
            resume += 1
            at, item = many + 1, resume
        else:
            return False
    return all(rest is Wild.MANY for rest in pattern[at:])
