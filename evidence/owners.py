"""Owners as CODEOWNERS names them, resolved to people who can write to the repository now.

Sources: "About code owners" (who may own), "Get repository permissions for a user", "List team members"
(members of child teams are listed too), "Check team permissions for a repository", "List commits" (an
e-mail address as author is looked up as GitHub itself links commits to accounts).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from urllib.parse import quote

from evidence import fields
from evidence.rest import Rest
from policy import codeowners
from policy.facts import OwnerFact, Person

_WRITERS = frozenset({"write", "maintain", "admin"})
_WITH_PERMISSIONS = "application/vnd.github.v3.repository+json"


class Owners:
    """Resolves owners for one reading. What it has asked once it does not ask again.

    Every member of a team that can write can write too. Of a team, only people whose reviews are to be
    counted are looked at one by one as well.
    """

    def __init__(self, rest: Rest, repository: str) -> None:
        self._rest = rest
        self._repository = repository
        self._organization = repository.partition("/")[0]
        self._writers: dict[str, Person | None] = {}
        self.logins: dict[int, str] = {}

    def resolve(self, names: Iterable[str], *, reviewers: Collection[int]) -> dict[str, OwnerFact]:
        """Resolves each name.

        Args:
            names: owners as CODEOWNERS names them.
            reviewers: ids of the people who reviewed.

        Raises:
            Unavailable: when GitHub can't be read; never for an owner that does not exist.
        """
        return {name: self._resolve(name, reviewers) for name in sorted(names)}

    def _resolve(self, name: str, reviewers: Collection[int]) -> OwnerFact:
        if codeowners.is_email(name):
            return self._email(name)
        if codeowners.is_team(name):
            return self._team(name, reviewers)
        return self._user(name, name.removeprefix("@"))

    def _user(self, name: str, login: str) -> OwnerFact:
        writer = self._writer(login)
        if writer is None:
            return _nobody(name, "no person with write access to this repository")
        return OwnerFact(name=name, people=frozenset({writer.id}), unresolved=None)

    def _email(self, name: str) -> OwnerFact:
        commits = self._rest.get(
            f"/repos/{self._repository}/commits", {"author": name, "per_page": "1", "page": "1"}
        )
        for commit in commits:
            author = fields.person(commit, "author")
            written = fields.text(commit, "commit", "author", "email")
            if author is not None and written.casefold() == name.casefold():
                return self._user(name, author.login)
        return _nobody(name, "no commit here tells whose address this is; name the owner by login")

    def _team(self, name: str, reviewers: Collection[int]) -> OwnerFact:
        organization, _, slug = name.removeprefix("@").partition("/")
        if organization.casefold() != self._organization.casefold():
            return _nobody(name, "a team of another organisation")
        team = f"/orgs/{quote(organization)}/teams/{quote(slug)}"
        about = self._rest.find(team)
        if about is None:
            return _nobody(name, "no team that the App can see")
        if fields.text(about, "privacy") == "secret":
            return _nobody(name, "a secret team, which can't own code")
        access = self._rest.find(f"{team}/repos/{self._repository}", accept=_WITH_PERMISSIONS)
        if access is None or not fields.flag(access, "permissions", "push"):
            return _nobody(name, "a team without write access of its own to this repository")
        members = [
            member for entry in self._rest.every(f"{team}/members") if (member := fields.person(entry))
        ]
        people = frozenset(
            member.id for member in members if not member.is_bot and self._still_writes(member, reviewers)
        )
        self.logins |= {member.id: member.login for member in members}
        return OwnerFact(
            name=name,
            people=people,
            unresolved=None if people else "a team without members who can write to this repository",
        )

    def _still_writes(self, member: Person, reviewers: Collection[int]) -> bool:
        if member.id not in reviewers:
            return True
        writer = self._writer(member.login)
        return writer is not None and writer.id == member.id

    def _writer(self, login: str) -> Person | None:
        """The person with that login, if a person with write access; None otherwise."""
        if login.casefold() not in self._writers:
            path = f"/repos/{self._repository}/collaborators/{quote(login)}/permission"
            self._writers[login.casefold()] = self._permitted(self._rest.find(path))
        return self._writers[login.casefold()]

    def _permitted(self, answer: object) -> Person | None:
        if answer is None or fields.text(answer, "permission") not in _WRITERS:
            return None
        person = fields.person(answer, "user")
        if person is None or person.is_bot:
            return None
        self.logins[person.id] = person.login
        return person


def _nobody(name: str, reason: str) -> OwnerFact:
    return OwnerFact(name=name, people=frozenset(), unresolved=reason)
