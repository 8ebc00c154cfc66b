"""CODEOWNERS as GitHub reads it: where it stands, who owns a path, what is wrong with it.

Source: docs.github.com, "About code owners". This reader is the simulator's own and is written apart
from the product's, so that one can check the other.
"""

import re
from dataclasses import dataclass, field

from github_simulator import access
from github_simulator.model import Repository, State, Team

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
LARGEST = 3 * 1024 * 1024
OWNER = re.compile(r"@[A-Za-z0-9][A-Za-z0-9-]*(\[bot\])?(/[A-Za-z0-9._-]+)?|[^@\s]+@[^@\s]+\.[^@\s]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line that names a pattern; ``invalid`` says where and why GitHub skips it."""

    number: int
    source: str
    pattern: str
    owners: tuple[str, ...]
    invalid: tuple[str, int] | None = None


@dataclass(slots=True, kw_only=True)
class Owners:
    """Accounts and teams with the right to be asked for a review."""

    users: list[int] = field(default_factory=list)
    teams: list[int] = field(default_factory=list)


def parsed(text: str) -> list[Line]:
    """The lines of a file that are neither empty nor comments."""
    lines = []
    for number, raw in enumerate(text.split("\n"), start=1):
        source = raw.rstrip("\r")
        words = [(match.group(), match.start() + 1) for match in re.finditer(r"(?:\\.|[^\s\\])+", source)]
        if not words or words[0][0].startswith("#"):
            continue
        pattern, owners, invalid = words[0][0], [], None
        if pattern.startswith(("!", "\\#")) or "[" in pattern or "]" in pattern or "***" in pattern:
            invalid = ("Invalid pattern", words[0][1])
        for word, column in words[1:]:
            if word.startswith("#"):
                break
            if not OWNER.fullmatch(word) and invalid is None:
                invalid = ("Invalid owner", column)
            owners.append(word)
        lines.append(
            Line(number=number, source=source, pattern=pattern, owners=tuple(owners), invalid=invalid)
        )
    return lines


def expression(pattern: str) -> re.Pattern[str]:
    """A pattern of the file as a regular expression over whole paths."""
    text = pattern.replace("\\ ", " ")
    anchored = "/" in text.rstrip("/")
    folder = text.endswith("/")
    parts = [part for part in text.strip("/").split("/") if part]
    built = "" if anchored else "(?:.*/)?"
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            built += ".*" if last else "(?:.*/)?"
        else:
            built += re.sub(r"\\\*+", "[^/]*", re.escape(part)).replace(r"\?", "[^/]")
            built += "" if last else "/"
    if folder:
        built += "/.*"
    elif parts and "*" not in parts[-1]:
        built += "(?:/.*)?"
    return re.compile(built, re.DOTALL)


def owners_of(lines: list[Line], path: str) -> tuple[str, ...]:
    """The owners on the last valid line that matches; empty when nobody owns the path."""
    for line in reversed(lines):
        if line.invalid is None and expression(line.pattern).fullmatch(path):
            return line.owners
    return ()


def resolve_team(state: State, repository: Repository, owner: str) -> Team | None:
    """The team that ``@org/slug`` names, if it is visible and can write."""
    organization, _, slug = owner.removeprefix("@").partition("/")
    account = state.account_by_login(organization)
    if account is None or account.id != repository.owner_id:
        return None
    team = state.team_by_slug(account.id, slug)
    if (
        team is None
        or team.privacy != "closed"
        or not access.at_least(access.team_level(state, team, repository), "push")
    ):
        return None
    return team


def resolve_user(state: State, repository: Repository, owner: str) -> int | None:
    """The account that ``@login`` or an e-mail address names, if it can write. An App never can."""
    if owner.startswith("@"):
        account = state.account_by_login(owner[1:])
    else:
        account = next((a for a in state.accounts.values() if (a.email or "").lower() == owner.lower()), None)
    if account is None or account.kind != "User":
        return None
    can_write = access.at_least(access.granted_level(state, account.id, repository), "push")
    return account.id if can_write else None


def requested(state: State, repository: Repository, lines: list[Line], paths: list[str]) -> Owners:
    """Whom GitHub asks to review changes of these paths."""
    found = Owners()
    for path in paths:
        for owner in owners_of(lines, path):
            if "/" in owner:
                team = resolve_team(state, repository, owner)
                if team is not None and team.id not in found.teams:
                    found.teams.append(team.id)
            else:
                user = resolve_user(state, repository, owner)
                if user is not None and user not in found.users:
                    found.users.append(user)
    return found


def errors(state: State, repository: Repository, lines: list[Line], place: str) -> list[dict[str, object]]:
    """What GitHub's endpoint says is wrong."""
    found: list[dict[str, object]] = []
    for line in lines:
        if line.invalid is not None:
            found.append(_error(line, line.invalid[0], line.invalid[1], None, place))
            continue
        for owner in line.owners:
            known = (
                resolve_team(state, repository, owner)
                if "/" in owner
                else resolve_user(state, repository, owner)
            )
            if known is None:
                what, exists = (
                    (f"the team {owner}", "exists, is publicly visible,")
                    if "/" in owner
                    else (owner, "exists")
                )
                advice = f"make sure {what} {exists} and has write access to the repository"
                found.append(_error(line, "Unknown owner", line.source.index(owner) + 1, advice, place))
    return found


def _error(line: Line, kind: str, column: int, suggestion: str | None, place: str) -> dict[str, object]:
    reason = f": {suggestion}" if suggestion else ":"
    return {
        "line": line.number,
        "column": column,
        "source": line.source,
        "kind": kind,
        "suggestion": suggestion,
        "message": f"{kind} on line {line.number}{reason}\n\n  {line.source}\n  {' ' * (column - 1)}^",
        "path": place,
    }
