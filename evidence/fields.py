"""Fields of GitHub's answers, read strictly: what is missing or of another type is no fact.

PyGithub gives None for a field that an answer does not have, so a cut answer looks like an empty one.
Everything that decides is read from the raw answer through here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from evidence.unavailable import Unavailable
from policy.facts import Person

T = TypeVar("T")

Answer = Mapping[str, Any]
"""One JSON object of an answer."""


def value(answer: object, *names: str) -> Any:
    """The value under these names; it may be null, but every name must be there.

    Raises:
        Unavailable: when a name is missing.
    """
    found = answer
    for name in names:
        if not isinstance(found, Mapping) or name not in found:
            raise Unavailable(f"GitHub's answer has no {'.'.join(names)}")
        found = found[name]
    return found


def text(answer: object, *names: str) -> str:
    """A text. Raises `Unavailable` for anything else."""
    return _typed(str, value(answer, *names), names)


def number(answer: object, *names: str) -> int:
    """An integer. Raises `Unavailable` for anything else."""
    return _typed(int, value(answer, *names), names)


def flag(answer: object, *names: str) -> bool:
    """True or false. Raises `Unavailable` for anything else."""
    return _typed(bool, value(answer, *names), names)


def moment(answer: object, *names: str) -> datetime:
    """A time, aware. Raises `Unavailable` for anything else."""
    written = text(answer, *names)
    try:
        parsed = datetime.fromisoformat(written)
    except ValueError:
        raise Unavailable(f"GitHub's answer has {written[:40]!r} as {'.'.join(names)}") from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def person(answer: object, *names: str) -> Person | None:
    """An account; None when GitHub has none there any more (null, or an object without fields).

    Raises:
        Unavailable: for an account without id, login or type.
    """
    account = value(answer, *names) if names else answer
    if not account:
        return None
    return Person(
        id=number(account, "id"), login=text(account, "login"), is_bot=text(account, "type") != "User"
    )


def _typed(kind: type[T], found: object, names: tuple[str, ...]) -> T:
    # A bool is an int for isinstance, and must not pass for one here.
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise Unavailable(f"GitHub's answer has {type(found).__name__} as {'.'.join(names)}")
    return found
