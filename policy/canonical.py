"""Canonical JSON: strict reading, RFC 8785 writing, SHA-256 over the bytes.

Two parties that hash "the same" document must hash the same bytes, and a document that two parsers
could read differently must not be hashed at all. So reading refuses what RFC 8259 leaves open
(duplicate names, NaN, numbers that a double can't hold) and text that is not in Unicode's NFC.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable
from typing import TypeAlias, cast

import rfc8785

from policy.refusal import Code, Refused, refuse

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"

LARGEST_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader holds exactly (RFC 8785 section 3.2.2.3)."""

DEEPEST_NESTING = 64
"""Deeper documents are refused before a recursive reader meets them."""


def parse(data: bytes | str, *, what: str) -> Json:
    """Reads one JSON document strictly.

    Args:
        data: the document, UTF-8 when bytes.
        what: how to name the document in an error, for example "the arguments".

    Raises:
        Refused: with code `json_invalid` for anything that two readers could read differently.
    """
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise _invalid(what, f"it is not UTF-8 (byte {error.start})") from None
    try:
        value: Json = json.loads(
            text,
            object_pairs_hook=lambda pairs: _unique(pairs, what),
            parse_constant=lambda name: _no_constant(name, what),
            parse_float=lambda digits: _no_fraction(digits, what),
            parse_int=lambda digits: _exact(digits, what),
        )
    except json.JSONDecodeError as error:
        raise _invalid(what, f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise _invalid(what, f"it is nested deeper than {DEEPEST_NESTING} levels") from None
    check(value, what=what)
    return value


def check(value: object, *, what: str, depth: int = 0) -> None:
    """Refuses a value that has no single canonical form.

    Raises:
        Refused: for floats, integers beyond 2**53-1, text that is not NFC or holds lone surrogates,
            names that are not text, and nesting deeper than `DEEPEST_NESTING`.
    """
    if depth > DEEPEST_NESTING:
        raise _invalid(what, f"it is nested deeper than {DEEPEST_NESTING} levels")
    match value:
        case None | bool():
            return
        case int():
            if abs(value) > LARGEST_INTEGER:
                raise _invalid(what, "an integer is beyond 2^53-1; write it as text")
        case str():
            _check_text(value, what)
        case list() | tuple():
            for item in cast("Iterable[object]", value):
                check(item, what=what, depth=depth + 1)
        case dict():
            for name, item in cast("dict[object, object]", value).items():
                if not isinstance(name, str):
                    raise _invalid(what, f"the name {name!r} is not text")
                _check_text(name, what)
                check(item, what=what, depth=depth + 1)
        case _:
            raise _invalid(what, f"it holds a {type(value).__name__}, which JSON has no exact form for")


def encode(value: Json) -> bytes:
    """The one byte form of a value (RFC 8785), after `check`.

    Raises:
        Refused: when the value has no canonical form.
    """
    check(value, what="the document")
    return rfc8785.dumps(cast("dict[str, object]", value))  # type: ignore[arg-type]


def sha256(value: Json) -> str:
    """Lower-case hexadecimal SHA-256 of `encode(value)`, 64 characters."""
    return sha256_bytes(encode(value))


def sha256_bytes(data: bytes) -> str:
    """Lower-case hexadecimal SHA-256 of bytes, 64 characters."""
    return hashlib.sha256(data).hexdigest()


def _unique(pairs: list[tuple[str, Json]], what: str) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for name, value in pairs:
        if name in result:
            raise _invalid(what, f"the name {name!r} stands twice")
        result[name] = value
    return result


def _no_constant(name: str, what: str) -> Json:
    raise _invalid(what, f"{name} is not JSON")


def _no_fraction(digits: str, what: str) -> Json:
    raise _invalid(what, f"the number {digits[:40]} is not an integer; write it as text")


def _exact(digits: str, what: str) -> int:
    # The length is looked at first: turning a million digits into an integer takes seconds.
    if len(digits) > 17 or abs(int(digits)) > LARGEST_INTEGER:
        raise _invalid(what, f"the integer {digits[:20]}… is beyond 2^53-1; write it as text")
    return int(digits)


def _check_text(text: str, what: str) -> None:
    if not text.isascii():
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise _invalid(what, "it holds half of a surrogate pair")
        if not unicodedata.is_normalized("NFC", text):
            raise _invalid(what, "a text is not in Unicode's NFC form")


def _invalid(what: str, why: str) -> Refused:
    return refuse(
        Code.JSON_INVALID,
        f"{what}: {why}",
        rule="Only JSON that every reader reads alike can be approved.",
        remedy="Send the same document without that part.",
    )
