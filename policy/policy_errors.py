"""What is wrong with a policy file: every mistake with its place, shown together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

Path = tuple[str | int, ...]
"""Keys and indexes from the top of the document, or of a part of it, to a value."""


class Mistake(NamedTuple):
    """One mistake as a rule finds it, before its place in the file is known.

    Attributes:
        where: from the part that the rule looks at.
        what: what is wrong, without a final full stop.
        allowed: what would be right, without a final full stop.
        nearest: the name that was probably meant.
    """

    where: Path
    what: str
    allowed: str
    nearest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyError:
    """One mistake.

    Attributes:
        file: the file as the reader named it.
        line: counted from 1.
        column: counted from 1.
        path: where in the document, for example `tools.terraform_apply.credential.ttl`.
        what: what is wrong, without a final full stop.
        allowed: what would be right, without a final full stop.
        nearest: the declared name closest to an unknown one; None when nothing is close.
    """

    file: str
    line: int
    column: int
    path: str
    what: str
    allowed: str
    nearest: str | None = None

    def text(self) -> str:
        """One line for people."""
        hint = f" Did you mean {self.nearest}?" if self.nearest else ""
        where = f"{self.path}: " if self.path else ""
        return f"{self.file}:{self.line}:{self.column}: {where}{self.what}. Allowed: {self.allowed}.{hint}"

    def as_json(self) -> dict[str, str | int | None]:
        """The mistake for programs."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "what": self.what,
            "allowed": self.allowed,
            "nearest": self.nearest,
        }


class PolicyErrors(Exception):  # noqa: N818  All of them at once; one alone is a PolicyError.
    """Raised for a file with mistakes: nothing of it is used. `errors` is in the file's order."""

    def __init__(self, errors: Iterable[PolicyError]) -> None:
        self.errors = tuple(sorted(set(errors), key=lambda error: (error.line, error.column, error.what)))
        count = len(self.errors)
        head = f"{self.errors[0].file} has {count} {'mistake' if count == 1 else 'mistakes'}:"
        super().__init__("\n".join([head, *(error.text() for error in self.errors)]))
