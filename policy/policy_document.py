"""A policy file that is YAML: its content, and the place of every part of it for the errors."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from policy import policy_yaml, secret_shapes
from policy.canonical import Json
from policy.policy_errors import Path, PolicyError


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file.

    Attributes:
        name: the file as the reader named it.
        root: its nodes.
        content: the same as plain JSON.
    """

    name: str
    root: policy_yaml.Node
    content: Json

    def error(
        self, path: Path, what: str, allowed: str, *, nearest: str | None = None, key: bool = False
    ) -> PolicyError:
        """A mistake at a path; with `key` at the key itself instead of its value."""
        line, column = self._place(path, key=key)
        return PolicyError(
            file=self.name,
            line=line,
            column=column,
            path=show(path),
            what=what,
            allowed=allowed,
            nearest=nearest,
        )

    def texts(self) -> Iterator[tuple[Path, str]]:
        """Every text of the file with its path, keys included."""
        yield from _texts(self.root, ())

    def _place(self, path: Path, *, key: bool) -> tuple[int, int]:
        node = self.root
        place = (node.line, node.column)
        for step in path:
            match node, step:
                case policy_yaml.Mapping(), str():
                    entry = node.entry(step)
                    if entry is None:
                        return place
                    node = entry.value
                    place = (entry.key.line, entry.key.column) if key else (node.line, node.column)
                case policy_yaml.Sequence(), int() if step < len(node.items):
                    node = node.items[step]
                    place = (node.line, node.column)
                case _:
                    return place
        return place


def show(path: Path) -> str:
    """A path for people: `tools.terraform_apply.run.argv[2]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
            continue
        name = _show_key(step)
        text += f".{name}" if text else name
    return text


def _show_key(key: str) -> str:
    if secret_shapes.find(key):
        return "(a secret)"
    return key if key.isprintable() else ascii(key)


def nearest(word: str, known: Collection[str]) -> str | None:
    """The known name that a word was probably meant to be."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def _texts(node: policy_yaml.Node, path: Path) -> Iterator[tuple[Path, str]]:
    match node:
        case policy_yaml.Scalar(value=str() as text):
            yield path, text
        case policy_yaml.Sequence():
            for index, item in enumerate(node.items):
                yield from _texts(item, (*path, index))
        case policy_yaml.Mapping():
            for entry in node.entries:
                inside = (*path, str(entry.key.value))
                yield inside, str(entry.key.value)
                yield from _texts(entry.value, inside)
        case _:
            return
