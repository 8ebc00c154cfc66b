"""A small, strict part of YAML, with the place of every value.

Read from PyYAML's events, so nothing is ever constructed: no anchors, aliases, merge keys or tags
(hence no growth and no objects), no duplicate keys, one document. A plain scalar that some YAML reader
takes for something else than text (`yes`, `012`, `1.0`, `2026-01-31`, `12:30`) is a mistake that quotes
repair; only `true`, `false` and decimal integers are not text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import yaml
from yaml.resolver import Resolver

from policy.canonical import LARGEST_INTEGER, Json
from policy.policy_errors import PolicyError, PolicyErrors

LARGEST_FILE = 1 << 20
"""Bytes of a policy file at most."""

DEEPEST = 24
"""Nesting at most."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
# Floats and octals of YAML 1.2 that PyYAML, a YAML 1.1 reader, takes for text.
_YAML_1_2_NUMBER = re.compile(
    r"[-+]?(?:0o[0-7]+|0x[0-9a-fA-F]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_TEXT_TAG = "tag:yaml.org,2002:str"
_TAKEN_FOR = {
    "bool": "a boolean",
    "int": "a number",
    "float": "a number",
    "timestamp": "a date",
    "merge": "a merge key",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """One value; `line` and `column` count from 1."""

    value: bool | int | str | None
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A key with its value."""

    key: Scalar
    value: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """Keys in the order of the file; no key stands twice."""

    entries: tuple[Entry, ...]
    line: int
    column: int

    def entry(self, key: str) -> Entry | None:
        """The entry with that key."""
        return next((entry for entry in self.entries if entry.key.value == key), None)


Node = Scalar | Sequence | Mapping


def read(text: str | bytes, *, name: str) -> Node:
    """Reads one document.

    Raises:
        PolicyErrors: with every mistake of this layer; a syntax error is the last that can be seen.
    """
    reader = _Reader(name)
    root = reader.document(_decode(text, name))
    if reader.errors or root is None:
        raise PolicyErrors(reader.errors)
    return root


def plain(node: Node) -> Json:
    """The content of a node, without places."""
    match node:
        case Scalar():
            return node.value
        case Sequence():
            return [plain(item) for item in node.items]
        case Mapping():
            return {str(entry.key.value): plain(entry.value) for entry in node.entries}


def _decode(text: str | bytes, name: str) -> str:
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > LARGEST_FILE:
        raise PolicyErrors([_at(name, 1, 1, f"the file has {size} bytes", f"at most {LARGEST_FILE} bytes")])
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        column = error.start - (text.rfind(b"\n", 0, error.start) + 1) + 1
        raise PolicyErrors([_at(name, line, column, "a byte is not UTF-8", "UTF-8 text")]) from None


def _at(name: str, line: int, column: int, what: str, allowed: str, path: str = "") -> PolicyError:
    return PolicyError(file=name, line=line, column=column, path=path, what=what, allowed=allowed)


def _shown(name: object) -> str:
    text = str(name)
    return text if text.isprintable() and len(text) <= 100 else ascii(text[:100])


def _place(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


class _Reader:
    """Turns PyYAML's events into nodes and collects mistakes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.errors: list[PolicyError] = []
        self._resolver = Resolver()

    def document(self, text: str) -> Node | None:
        try:
            # PyYAML's annotations leave the loader class open; SafeLoader constructs nothing here.
            events: Iterator[yaml.Event] = yaml.parse(text, Loader=yaml.SafeLoader)
            root: Node | None = None
            documents = 0
            for event in events:
                if isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    if documents == 2:
                        self._wrong(event, "", "a second document begins", "one document in a file")
                        return None
                    root = self._node(next(events), events, "", 0)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            self.errors.append(_at(self.name, line, column, error.problem or "not YAML", "well-formed YAML"))
            return None
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            what = f"the character {chr(error.character)!a} is not printable"
            self.errors.append(_at(self.name, line, 1, what, "printable text"))
            return None
        if root is None or (isinstance(root, Scalar) and root.value is None):
            self.errors.append(_at(self.name, 1, 1, "the file is empty", "version, targets and tools"))
        return root

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], path: str, depth: int) -> Node:
        line, column = _place(event)
        if depth > DEEPEST:
            # Deeper nodes can't be skipped without reading them, so reading ends here.
            self._wrong(event, path, "it is nested too deeply", f"at most {DEEPEST} levels")
            raise PolicyErrors(self.errors)
        if getattr(event, "anchor", None) is not None:
            kind = "an alias" if isinstance(event, yaml.AliasEvent) else "an anchor"
            self._wrong(event, path, f"{kind} stands here", "the value written out in full")
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._wrong(event, path, f"the tag {_shown(tag)} stands here", "values without tags")
        match event:
            case yaml.MappingStartEvent():
                return self._mapping(events, path, depth, line, column)
            case yaml.SequenceStartEvent():
                items: list[Node] = []
                while not isinstance(item := next(events), yaml.SequenceEndEvent):
                    items.append(self._node(item, events, f"{path}[{len(items)}]", depth + 1))
                return Sequence(items=tuple(items), line=line, column=column)
            case yaml.ScalarEvent():
                return Scalar(value=self._value(event, path), line=line, column=column)
            case _:
                return Scalar(value=None, line=line, column=column)

    def _mapping(
        self, events: Iterator[yaml.Event], path: str, depth: int, line: int, column: int
    ) -> Mapping:
        entries: list[Entry] = []
        seen: dict[str, int] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key = self._node(event, events, path, depth + 1)
            name = key.value if isinstance(key, Scalar) else None
            inside = f"{path}.{_shown(name)}" if path else _shown(name)
            value = self._node(next(events), events, inside, depth + 1)
            if not isinstance(key, Scalar) or not isinstance(name, str):
                self._wrong(event, path, "a key is not text", "text; quote the key when it is meant as text")
            elif name in seen:
                self._wrong(
                    event, inside, f"the key stands twice, first in line {seen[name]}", "each key once"
                )
            else:
                seen[name] = key.line
                entries.append(Entry(key=key, value=value))
        return Mapping(entries=tuple(entries), line=line, column=column)

    def _value(self, event: yaml.ScalarEvent, path: str) -> bool | int | str | None:
        text = event.value
        if not event.implicit[0]:
            return self._text(event, path)
        if text in ("true", "false"):
            return bool(text == "true")
        if text in ("", "~", "null"):
            return None
        if _INTEGER.fullmatch(text):
            if len(text) > 17 or abs(int(text)) > LARGEST_INTEGER:
                self._wrong(event, path, "the number is too large", "integers up to 2^53-1")
                return 0
            return int(text)
        kind = self._taken_for(text)
        if kind is not None:
            what = f"some readers take {text[:40]} for {kind}"
            self._wrong(event, path, what, f'true, false, an integer, or "{text[:40]}" in quotes')
        return self._text(event, path)

    def _taken_for(self, text: str) -> str | None:
        # PyYAML's resolver is the one part of it without annotations.
        tag: str = self._resolver.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        if tag == _TEXT_TAG:
            return "a number" if _YAML_1_2_NUMBER.fullmatch(text) else None
        return _TAKEN_FOR.get(tag.rsplit(":", 1)[-1], "something else than text")

    def _text(self, event: yaml.ScalarEvent, path: str) -> str:
        text = str(event.value)
        if not unicodedata.is_normalized("NFC", text):
            self._wrong(event, path, "the text is not in Unicode's NFC form", "text in NFC")
        hidden = next((c for c in text if unicodedata.category(c) in ("Cf", "Co", "Cn", "Cs")), None)
        if hidden is not None:
            self._wrong(event, path, f"the text holds {hidden!a}, which can't be seen", "visible text")
        return text

    def _wrong(self, event: yaml.Event, path: str, what: str, allowed: str) -> None:
        line, column = _place(event)
        self.errors.append(_at(self.name, line, column, what, allowed, path))
