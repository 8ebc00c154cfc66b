"""Frozen dataclasses to and from JSON, strictly: every key present, no key too many, no coercion.

Manifest, grant, receipt and audit events are all read through here, so that one rule about unknown
fields holds for every document that anything is bound to.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from pydantic import BeforeValidator, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from policy import canonical
from policy.canonical import Json
from policy.refusal import Code, refuse
from policy.timestamps import format_timestamp, parse_timestamp

T = TypeVar("T")

STRICT = ConfigDict(extra="forbid", strict=True)
"""The pydantic configuration of every record: unknown keys and coercion are refused."""

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in lower-case hexadecimal."""

CommitId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
"""A full git commit id."""


def _moment(value: object) -> object:
    return parse_timestamp(value) if isinstance(value, str) else value


Moment = Annotated[datetime, BeforeValidator(_moment)]
"""A point in time, written as `policy.timestamps` writes it."""


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def read(kind: type[T], data: bytes | str, *, what: str, code: Code) -> T:
    """Reads one record from JSON text.

    Raises:
        Refused: with `json_invalid` for text that is not strict JSON, with `code` for a document that
            is not exactly of the record's form.
    """
    return from_json(kind, canonical.parse(data, what=what), what=what, code=code)


def from_json(kind: type[T], value: Json, *, what: str, code: Code) -> T:
    """Reads one record from a JSON value; raises as `read` does."""
    try:
        # Going through the text keeps pydantic in its JSON mode, where a list may become a tuple
        # while text never becomes a number.
        return cast("T", _adapter(cast("Any", kind)).validate_json(canonical.encode(value)))
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'the document'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False, include_context=False)[:5]
        )
        raise refuse(
            code,
            f"{what}: {faults}",
            rule="Every field must be present, of its type, and no other field may be there.",
            remedy="Send the document exactly in the documented form.",
        ) from None


def to_json(value: object) -> Json:
    """The JSON value of a record, every key present.

    Raises:
        TypeError: for a value that is neither a record nor JSON.
    """
    match value:
        case None | bool() | int():
            return value
        case enum.Enum():
            return str(value.value)
        case str():
            return value
        case datetime():
            return format_timestamp(value)
        case list() | tuple():
            return [to_json(item) for item in value]
        case Mapping():
            return {str(name): to_json(item) for name, item in value.items()}
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
        case _:
            raise TypeError(f"a {type(value).__name__} is neither a record nor JSON")


def encode(value: Any) -> bytes:
    """The record's canonical bytes."""
    return canonical.encode(to_json(value))
