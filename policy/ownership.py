"""Rule 9: who owns each deciding path, by CODEOWNERS at two commits that must agree.

The manifest's base commit is where the request was made; the base's tip is what holds now. A path
whose owners differ between the two has no certain owners, and the request is planned anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policy import codeowners
from policy.codeowners import Owned, Ownership, Uncertain, Unowned
from policy.facts import CodeownersFact, OwnerFact
from policy.findings import Finding, FindingCode, no, some


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedPaths:
    """Deciding paths that one line of CODEOWNERS gives to the same owners.

    Attributes:
        line: the line, at the manifest's base commit.
        names: the owners as that line names them.
        people: ids of those behind the names who can write to the repository now.
        paths: the paths, sorted.
    """

    line: int
    names: tuple[str, ...]
    people: frozenset[int]
    paths: tuple[str, ...]

    def shown(self) -> str:
        """The paths as people read them: a folder stands for what is in it."""
        folders = tuple(path for path in self.paths if path.endswith("/"))
        return some(
            path
            for path in self.paths
            if not any(path != folder and path.startswith(folder) for folder in folders)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """The owners of every deciding path; `faults` is not empty when any path has no certain owner."""

    groups: tuple[OwnedPaths, ...]
    faults: tuple[Finding, ...]


def read(
    base: CodeownersFact, tip: CodeownersFact, owners: Mapping[str, OwnerFact], paths: Sequence[str]
) -> Owners:
    """Matches each path against CODEOWNERS at the manifest's base commit and at the base's tip."""
    for fact in (base, tip):
        if fact.text is None:
            return Owners(groups=(), faults=(_missing(fact),))
    at_base, at_tip = _matches(base, paths), _matches(tip, paths)
    groups: dict[tuple[int, tuple[str, ...]], list[str]] = defaultdict(list)
    faults: dict[tuple[FindingCode, str], list[str]] = defaultdict(list)
    for path in paths:
        before, now = at_base[path], at_tip[path]
        if not isinstance(before, Owned):
            fault = _no_owner(before)
        elif not isinstance(now, Owned):
            fault = _no_owner(now)
        elif _names(before) != _names(now):
            why = f"CODEOWNERS of the base now names {some(now.owners)} (line {now.line})"
            fault = (FindingCode.OWNERS_CHANGED, why)
        else:
            groups[before.line, before.owners].append(path)
            continue
        faults[fault].append(path)
    return Owners(
        groups=tuple(
            OwnedPaths(line=line, names=names, people=people(owners, names), paths=tuple(owned))
            for (line, names), owned in groups.items()
        ),
        faults=tuple(_fault(code, why, affected) for (code, why), affected in faults.items()),
    )


def owner_names(files: Sequence[CodeownersFact], paths: Sequence[str]) -> frozenset[str]:
    """Every owner that any of these files names for any of these paths: whom a reader must resolve."""
    return frozenset(
        name
        for file in files
        for ownership in _matches(file, paths).values()
        if isinstance(ownership, Owned)
        for name in ownership.owners
    )


def people(owners: Mapping[str, OwnerFact], names: Sequence[str]) -> frozenset[int]:
    """Ids of the people behind these owners; an owner that was not resolved is nobody."""
    resolved = (owners[name] for name in names if name in owners)
    return frozenset().union(*(owner.people for owner in resolved if owner.unresolved is None))


def described(owners: Mapping[str, OwnerFact], names: Sequence[str]) -> str:
    """The owners as people read them, each that could not be resolved with the reason."""
    return some(_described(owners, name) for name in names)


def _described(owners: Mapping[str, OwnerFact], name: str) -> str:
    owner = owners.get(name)
    if owner is None:
        return f"{name} (not looked up)"
    return f"{name} ({owner.unresolved})" if owner.unresolved else name


def _matches(fact: CodeownersFact, paths: Sequence[str]) -> dict[str, Ownership]:
    file = codeowners.parse(fact.text or b"")
    return {path: codeowners.match(file, path) for path in paths}


def _names(owned: Owned) -> frozenset[str]:
    return frozenset(name.casefold() for name in owned.owners)


def _missing(fact: CodeownersFact) -> Finding:
    where = f"commit {fact.commit[:7]}"
    if fact.path is not None:
        reason = f"{fact.path} at {where} is no regular file under 3 MB, so nobody can approve."
    else:
        reason = f"There is no CODEOWNERS file at {where}, so nobody can approve."
    return no(FindingCode.CODEOWNERS_MISSING, "CODEOWNERS", reason)


def _no_owner(ownership: Unowned | Uncertain) -> tuple[FindingCode, str]:
    if isinstance(ownership, Uncertain):
        why = f"line {ownership.line} of CODEOWNERS is invalid: {ownership.reason}"
        return FindingCode.PATH_UNCERTAIN, why
    if ownership.line is None:
        return FindingCode.PATH_UNOWNED, "no line of CODEOWNERS matches"
    return FindingCode.PATH_UNOWNED, f"line {ownership.line} of CODEOWNERS names nobody"


def _fault(code: FindingCode, why: str, paths: Sequence[str]) -> Finding:
    shown = some(paths)
    match code:
        case FindingCode.OWNERS_CHANGED:
            reason = f"The owners of {shown} changed since this was asked for: {why}."
        case FindingCode.PATH_UNCERTAIN:
            reason = f"Who owns {shown} is not certain: {why}."
        case _:
            reason = f"Nobody owns {shown}: {why}."
    return no(code, shown, reason)
