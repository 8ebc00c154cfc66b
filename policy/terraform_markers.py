"""How the masked form writes what JSON has no word for: hidden, unknown, and numbers beyond 2^53.

Each is an object with the reserved name `$ownergate`, which no plan may use itself, so nothing in a
plan can pass for a marker:

| marker | stands for |
|---|---|
| `{"$ownergate": "sensitive", "ordinal": 1}` | a sensitive value that was taken out |
| `{"$ownergate": "text", "parts": ["a", {…sensitive…}, "b"]}` | a text with sensitive stretches |
| `{"$ownergate": "unknown"}` | a value known only after the change |
| `{"$ownergate": "number", "text": "1e400"}` | a number, as it is written |
| the name `$ownergate:sensitive:1` in an object | a name that held a sensitive value |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from policy.canonical import Json
from policy.plan import Masked, Number, PartlyMasked, Unknown
from policy.terraform_json import RESERVED, Tree, invalid

_HIDDEN_NAME = f"{RESERVED}:sensitive:"

Marked: TypeAlias = (
    "bool | int | str | Number | Masked | PartlyMasked | Unknown | list[Marked] | dict[str, Marked] | None"
)
"""A tree of the masked form after `decode`: containers may be filled here, unlike `plan.Value`."""


def sensitive(ordinal: int) -> dict[str, Json]:
    """The marker of a value that was taken out."""
    return {RESERVED: "sensitive", "ordinal": ordinal}


def partly_sensitive(parts: Sequence[str | int]) -> dict[str, Json]:
    """The marker of a text with hidden stretches: texts as they are, ordinals for what is hidden."""
    return {
        RESERVED: "text",
        "parts": [part if isinstance(part, str) else sensitive(part) for part in parts],
    }


def unknown() -> dict[str, Json]:
    """The marker of a value that is known only after the change."""
    return {RESERVED: "unknown"}


def number(value: Number) -> dict[str, Json]:
    """The marker of a number that canonical JSON can't hold."""
    return {RESERVED: "number", "text": value.text}


def hidden_name(ordinal: int) -> str:
    """The name that stands for a name with a sensitive value in it."""
    return f"{_HIDDEN_NAME}{ordinal}"


def hidden_ordinal(name: str) -> int | None:
    """The ordinal when the name is a hidden one, else None."""
    digits = name.removeprefix(_HIDDEN_NAME)
    return int(digits) if digits != name and digits.isascii() and digits.isdigit() else None


def decode(tree: Tree) -> Marked:
    """Turns markers into values, everywhere in the tree.

    Raises:
        Refused: `plan_invalid` for a marker of an unknown kind or form.
    """
    if isinstance(tree, list):
        return [decode(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if RESERVED in tree:
        return _decode_marker(tree)
    return {name: decode(item) for name, item in tree.items()}


def _decode_marker(tree: dict[str, Tree]) -> Marked:
    match tree:
        case {"$ownergate": "sensitive", "ordinal": int() as ordinal, **rest} if not rest:
            return Masked(ordinal=ordinal)
        case {"$ownergate": "unknown", **rest} if not rest:
            return Unknown()
        case {"$ownergate": "number", "text": str() as text, **rest} if not rest:
            return Number(text=text)
        case {"$ownergate": "text", "parts": list() as parts, **rest} if not rest:
            return PartlyMasked(parts=tuple(_decode_part(part) for part in parts))
        case _:
            raise invalid("it holds a marker of an unknown form")


def _decode_part(part: Tree) -> str | Masked:
    decoded = decode(part)
    if isinstance(decoded, str | Masked):
        return decoded
    raise invalid("it holds a marker of an unknown form")
