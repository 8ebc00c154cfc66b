"""Who may approve, before there is a pull request: for refusing early and for telling people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from policy import ownership
from policy.facts import CodeownersFact, OwnerFact
from policy.findings import Finding, FindingCode, no
from policy.ownership import OwnedPaths


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedPerson:
    """A person who may approve."""

    id: int
    login: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedPath:
    """One deciding path: its line in CODEOWNERS, the owners that it names, and who is behind them."""

    path: str
    line: int
    names: tuple[str, ...]
    people: tuple[RoutedPerson, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """Who may approve each path; with any fault, some path can be approved by nobody."""

    owned: tuple[RoutedPath, ...]
    faults: tuple[Finding, ...]


def route(
    file: CodeownersFact,
    owners: Mapping[str, OwnerFact],
    logins: Mapping[int, str],
    paths: Sequence[str],
    barred: Collection[int],
) -> Routing:
    """Routes each path by one CODEOWNERS file; `barred` are ids of people who may not approve."""
    read = ownership.read(file, file, owners, paths)
    owned = [_routed(path, group, logins, barred) for group in read.groups for path in group.paths]
    faults = [_nobody(group, owners) for group in read.groups if not group.people - frozenset(barred)]
    return Routing(owned=tuple(sorted(owned, key=lambda routed: routed.path)), faults=(*read.faults, *faults))


def _routed(path: str, group: OwnedPaths, logins: Mapping[int, str], barred: Collection[int]) -> RoutedPath:
    people = (RoutedPerson(id=person, login=logins[person]) for person in group.people - frozenset(barred))
    return RoutedPath(
        path=path,
        line=group.line,
        names=group.names,
        people=tuple(sorted(people, key=lambda person: person.login.casefold())),
    )


def _nobody(group: OwnedPaths, owners: Mapping[str, OwnerFact]) -> Finding:
    named = ownership.described(owners, group.names)
    reason = (
        f"Nobody may approve {group.shown()}: CODEOWNERS line {group.line} names {named}, and of them "
        "nobody with write access is free to approve this request."
    )
    return no(FindingCode.NOBODY_MAY_APPROVE, group.shown(), reason)
