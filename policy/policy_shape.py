"""Whether a policy file has the shape of the schema, and in plain words where it has not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from policy import secret_shapes
from policy.policy_document import Document, nearest
from policy.policy_errors import Path, PolicyError
from policy.policy_schema import SCHEMA
from policy.schema_forms import WORDS

_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "array": "a list",
        "boolean": "true or false",
        "integer": "an integer",
        "object": "a mapping",
        "string": "text",
    }
)

_TELLING: Final = ("type", "minLength")
"""Mistakes beside which all others about the same value say nothing new."""

_NO_STS: Final = (
    "no credential of AWS STS: it can't be revoked and needs egress by name, which sandboxes don't have yet"
)
_STS_KEYS: Final = frozenset({"aws", "aws_role", "aws_sts", "role_arn", "sts"})
_NO_NAMED_HOSTS: Final = (
    "kubernetes; named hosts come later, through a proxy that lets them pass by name,"
    " and are refused until then"
)


def mistakes(document: Document) -> list[PolicyError]:
    """Every place where the file is not of the schema's shape, and every literal secret."""
    # jsonschema takes a tenth of a second to import, which a command line that prints help can't spare.
    from jsonschema import Draft202012Validator

    found = list(_secrets(document))
    for errors in _by_place(Draft202012Validator(SCHEMA).iter_errors(document.content)):
        for error in errors:
            found += _explain(document, error)
    return found


def _by_place(errors: Iterable[Any]) -> Iterator[list[Any]]:
    """The errors of each place; of a value of the wrong type, or an empty one, only that is told."""
    places: dict[Path, list[Any]] = {}
    for error in errors:
        places.setdefault(tuple(error.absolute_path), []).append(error)
    for found in places.values():
        telling = next((kind for kind in _TELLING if any(error.validator == kind for error in found)), None)
        yield [error for error in found if telling in (None, error.validator)]


def _secrets(document: Document) -> Iterator[PolicyError]:
    for path, text in document.texts():
        shape = secret_shapes.find(text)
        if shape is not None:
            yield document.error(path, f"it looks like {shape}", "no secret; they come from OpenBao or Vault")


def _explain(document: Document, error: Any) -> Iterator[PolicyError]:
    path: Path = tuple(error.absolute_path)
    limit = error.validator_value
    if "propertyNames" in error.absolute_schema_path:
        name = str(error.instance)
        yield document.error((*path, name), f"the name {_quote(name)} is not allowed", WORDS[limit], key=True)
        return
    match error.validator:
        case "additionalProperties":
            yield from _unknown_keys(document, path, error)
        case "required":
            for name in limit:
                if name not in error.instance:
                    yield document.error(
                        path, f"{name} is missing", f"{name}, which has no default", key=True
                    )
        case "type":
            types = [limit] if isinstance(limit, str) else limit
            allowed = " or ".join(_TYPES[name] for name in types)
            yield document.error(path, f"{_kind(error.instance)} stands here", allowed)
        case "enum":
            yield _not_listed(document, path, error.instance, limit)
        case "const":
            yield document.error(path, f"{_quote(error.instance)} stands here", _quote(limit))
        case "pattern":
            allowed = _NO_STS if str(error.instance).startswith("arn:aws") else WORDS[limit]
            yield document.error(path, f"{_quote(error.instance)} stands here", allowed)
        case "oneOf":
            both = "argv" in error.instance and "steps" in error.instance
            what = "argv and steps stand side by side" if both else "argv or steps is missing"
            yield document.error(path, what, "argv for one program, or steps for several", key=True)
        case _:
            yield document.error(path, *_beyond(error.validator, error.instance, limit))


def _unknown_keys(document: Document, path: Path, error: Any) -> Iterator[PolicyError]:
    known = list(error.schema["properties"])
    for name in error.instance:
        if name in known:
            continue
        allowed = ", ".join(known)
        near = nearest(name, known)
        if name in _STS_KEYS and path[-1:] == ("credential",):
            allowed, near = _NO_STS, None
        yield document.error(
            (*path, name), f"the key {_quote(name)} is unknown", allowed, nearest=near, key=True
        )


def _not_listed(document: Document, path: Path, value: object, allowed: list[Any]) -> PolicyError:
    what = f"{_quote(value)} stands here"
    if "egress" in path:
        return document.error(path, what, _NO_NAMED_HOSTS)
    names = [str(item) for item in allowed]
    return document.error(path, what, ", ".join(names), nearest=nearest(str(value), names))


def _beyond(validator: str, value: Any, limit: Any) -> tuple[str, str]:
    match validator:
        case "minimum":
            hint = "; with no approval anyone could act" if limit == 1 and value == 0 else ""
            return f"{value} stands here", f"an integer from {limit}{hint}"
        case "maximum":
            return f"{value} stands here", f"an integer up to {limit}"
        case "minLength":
            return "the text is empty", f"at least {_count(limit, 'character')}"
        case "maxLength":
            return f"the text has {len(value)} characters", f"at most {_count(limit, 'character')}"
        case "minItems" | "minProperties":
            return "it is empty", f"at least {_count(limit, 'entry')}"
        case "maxItems":
            return f"it has {len(value)} entries", f"at most {_count(limit, 'entry')}"
        case "uniqueItems":
            return "an entry stands twice", "each entry once"
        case _:
            return "it is not of the schema's form", f"what the schema's {validator} says"


def _count(number: int, noun: str) -> str:
    plural = "entries" if noun == "entry" else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool() | int() | str():
            return _quote(value)
        case list():
            return "a list"
        case _:
            return "a mapping"


def _quote(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str() if secret_shapes.find(value):
            return "a text that looks like a secret"
        case str():
            return ascii(value) if len(value) <= 60 else f"{value[:60]!a}…"
        case _:
            return str(value)
