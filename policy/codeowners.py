"""CODEOWNERS by GitHub's rules: who owns a path, and when that is not certain.

Source: GitHub's documentation, "About code owners". The last matching line wins, a line without
owners clears what lines above said, and a line that GitHub can't read is skipped. Such a line is kept
here with its reason: a path that it might have been meant for, and that no later line decides, has no
certain owner, and what is not certain is not approved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from policy import codeowners_pattern
from policy.codeowners_pattern import EVERYTHING, InvalidPattern, Pattern

LOCATIONS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where GitHub looks, in this order; the first that exists counts, alone."""

SIZE_LIMIT = 3_000_000
"""Bytes. GitHub does not load a file of 3 MB or more; it does not say which kind of megabyte."""

_LINE_SHOWN = 200
"""Characters of an invalid line that are kept for people."""

_USER = re.compile(r"@[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_TEAM = re.compile(r"@[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9_][A-Za-z0-9._-]{0,254}")
_EMAIL = re.compile(r"[^\s@/<>()\[\],;:\"\\#]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One valid line. `owners` is empty for a line that clears."""

    line: int
    pattern: str
    owners: tuple[str, ...]
    matcher: Pattern = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidLine:
    """One line that GitHub skips or that has no certain meaning; `readings` is what it might match."""

    line: int
    text: str
    reason: str
    readings: tuple[Pattern, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Codeowners:
    """A file, read. `lines` are its valid and invalid lines in the order of the file."""

    lines: tuple[Rule | InvalidLine, ...]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The valid lines."""
        return tuple(line for line in self.lines if isinstance(line, Rule))

    @property
    def invalid(self) -> tuple[InvalidLine, ...]:
        """The lines that can't be read with certainty."""
        return tuple(line for line in self.lines if isinstance(line, InvalidLine))


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The path has owners; `owners` is never empty."""

    line: int
    pattern: str
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unowned:
    """The path has no owner: no line matches (`line` is None), or that line names nobody."""

    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertain:
    """An invalid line might have been meant for the path, and no later line decides."""

    line: int
    reason: str


Ownership = Owned | Unowned | Uncertain


def parse(text: bytes) -> Codeowners:
    """Reads a CODEOWNERS file; it never fails, what can't be read becomes an `InvalidLine`."""
    if len(text) >= SIZE_LIMIT:
        whole = InvalidLine(
            line=1, text="", reason="the file is 3 MB or larger and GitHub ignores it", readings=(EVERYTHING,)
        )
        return Codeowners(lines=(whole,))
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    read = (_read_line(number, line.removesuffix(b"\r")) for number, line in enumerate(lines, start=1))
    return Codeowners(lines=tuple(line for line in read if line is not None))


def match(codeowners: Codeowners, path: str) -> Ownership:
    """Who owns a path. A path that ends with `/` is a folder: who owns whatever file stands in it."""
    for line in reversed(codeowners.lines):
        match line:
            case Rule() if line.matcher.matches(path):
                if not line.owners:
                    return Unowned(line=line.line)
                return Owned(line=line.line, pattern=line.pattern, owners=line.owners)
            case InvalidLine() if any(reading.matches(path) for reading in line.readings):
                return Uncertain(line=line.line, reason=line.reason)
            case _:
                continue
    return Unowned(line=None)


def is_team(owner: str) -> bool:
    """Whether an owner as CODEOWNERS names it is a team: `@org/team`."""
    return owner.startswith("@") and "/" in owner


def is_email(owner: str) -> bool:
    """Whether an owner as CODEOWNERS names it is an e-mail address."""
    return not owner.startswith("@")


def _read_line(number: int, line: bytes) -> Rule | InvalidLine | None:
    try:
        text = line.decode("utf-8").strip(" \t")
    except UnicodeDecodeError:
        shown = line.decode("utf-8", "backslashreplace")
        return _invalid(number, shown, "the line is not UTF-8", (EVERYTHING,))
    if not text or text.startswith("#"):
        return None
    pattern, rest = _split_pattern(text)
    try:
        matcher = codeowners_pattern.parse(pattern)
    except InvalidPattern as error:
        return _invalid(number, text, error.reason, error.readings)
    owners = _owners(rest)
    for owner in owners:
        if not (_USER.fullmatch(owner) or _TEAM.fullmatch(owner) or _EMAIL.fullmatch(owner)):
            return _invalid(number, text, f"{owner!r} is no @user, @org/team or e-mail address", (matcher,))
    return Rule(line=number, pattern=pattern, owners=owners, matcher=matcher)


def _invalid(number: int, text: str, reason: str, readings: tuple[Pattern, ...]) -> InvalidLine:
    return InvalidLine(line=number, text=text[:_LINE_SHOWN], reason=reason, readings=readings)


def _split_pattern(text: str) -> tuple[str, str]:
    """The pattern, up to the first blank without a backslash before it, and the rest."""
    escaped = False
    for at, character in enumerate(text):
        if character in " \t" and not escaped:
            return text[:at], text[at:]
        escaped = character == "\\" and not escaped
    return text, ""


def _owners(rest: str) -> tuple[str, ...]:
    """The owners after the pattern, up to a comment: a `#` at the start of a word."""
    owners: list[str] = []
    for word in rest.replace("\t", " ").split(" "):
        if word.startswith("#"):
            break
        if word:
            owners.append(word)
    return tuple(owners)
