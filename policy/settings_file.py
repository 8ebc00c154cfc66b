"""A settings file (`bot.yaml`, `runner.yaml`) read strictly: every mistake with its line, nothing guessed.

The programs say what may stand in their file, as a pydantic model; here is what the file's form is, and
how its mistakes are told. The bytes come from the caller.
"""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from policy import policy_yaml
from policy.policy_document import Document, nearest
from policy.policy_errors import PolicyError, PolicyErrors
from policy.refusal import Code, Refused, refuse

Model = TypeVar("Model", bound="Part")


class Part(BaseModel):
    """A part of a settings file: unknown keys and coercion are refused, values stand in no error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


def _secure_url(value: str) -> str:
    """Plain HTTP sends tokens in the clear, so it is for this machine alone."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("an address such as https://bot.example:8400 is expected")
    if parts.username or parts.password:
        raise ValueError("an address must hold no user and no password")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ValueError("https://; plain http:// is for this machine alone (127.0.0.1, ::1, localhost)")
    return value.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


Address = Annotated[str, AfterValidator(_secure_url)]
"""The address of a service: https, or http on this machine; without a slash at its end."""


def read(model: type[Model], data: bytes, *, name: str, context: dict[str, Any]) -> Model:
    """Reads a settings file.

    Args:
        model: what may stand in it.
        data: its bytes.
        name: the file as the reader would name it.
        context: for the model's validators, such as the folder that paths are relative to.

    Raises:
        Refused: `settings_invalid`, with every mistake that was found.
    """
    try:
        root = policy_yaml.read(data, name=name)
    except PolicyErrors as errors:
        raise invalid(str(errors)) from None
    document = Document(name=name, root=root, content=policy_yaml.plain(root))
    try:
        return model.model_validate(document.content, context=context)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        raise invalid(str(PolicyErrors(_mistake(model, document, fault) for fault in faults))) from None


def invalid(what: str, *, remedy: str = "Correct the file.") -> Refused:
    """The refusal of a settings file."""
    return refuse(
        Code.SETTINGS_INVALID,
        what,
        rule="A program starts only with settings that are complete and understood.",
        remedy=remedy,
    )


def _mistake(model: type[BaseModel], document: Document, fault: Any) -> PolicyError:
    path = tuple(fault["loc"])
    match fault["type"]:
        case "missing":
            return document.error(path, "it is missing", "a value")
        case "extra_forbidden":
            known = _settings_at(model, path[:-1])
            near = nearest(str(path[-1]), known)
            return document.error(path, "this key is unknown", ", ".join(known), nearest=near, key=True)
        case kind:
            allowed = _ALLOWED.get(kind) or str(fault["msg"]).removeprefix("Value error, ")
            return document.error(path, "its value is wrong", allowed)


_ALLOWED = {
    "int_type": "an integer",
    "is_instance_of": "a path as text",
    "list_type": "a list",
    "model_type": "a mapping of the documented keys",
    "path_type": "a path as text",
    "string_type": "text",
}
"""What pydantic says in the words of its own library."""


def _settings_at(model: type[BaseModel], path: tuple[str | int, ...]) -> tuple[str, ...]:
    """The names that may stand at a path; those of the file's top where the path leads out of models."""
    here: Any = model
    for step in path:
        field = here.model_fields.get(step) if isinstance(step, str) else None
        here = getattr(field, "annotation", None)
        if not (isinstance(here, type) and issubclass(here, BaseModel)):
            return tuple(model.model_fields)
    return tuple(here.model_fields)
