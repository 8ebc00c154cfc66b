"""Seeding people, organizations and teams."""

import base64
import hashlib
from collections.abc import Iterable
from typing import Literal

from github_simulator import access, events, seeding
from github_simulator.model import (
    Account,
    Organization,
    Team,
    TeamMember,
)
from github_simulator.records import Records
from github_simulator.representation import accounts, teams


class People(Records):
    """Accounts and who belongs to what."""

    def add_user(self, login: str, *, name: str | None = None, email: str | None = None) -> seeding.User:
        """A person with a personal token."""
        with self.lock:
            account = self._add_account(login, "User", email=email, name=name)
            token = f"ghp_{_digest('personal', login)}"
            self.state.personal_tokens[token] = account.id
            return seeding.User(id=account.id, login=account.login, token=token, type="User")

    def add_organization(
        self,
        login: str,
        *,
        members: Iterable[str] = (),
        admins: Iterable[str] = (),
        base_permission: str = "none",
    ) -> seeding.Organization:
        """An organization. ``base_permission`` (none, read, write, admin) is what every member may do."""
        with self.lock:
            account = self._add_account(login, "Organization")
            organization = Organization(id=account.id)
            if base_permission not in access.ORGANIZATION_BASE:
                raise ValueError(
                    f"base_permission {base_permission!r} is not one of none, read, write, admin"
                )
            organization.base_permission = base_permission  # type: ignore[assignment]
            self.state.organizations[account.id] = organization
            for member in members:
                organization.members[self.account(member).id] = "member"
            for admin in admins:
                organization.members[self.account(admin).id] = "admin"
            return seeding.Organization(id=account.id, login=account.login)

    def add_member(self, organization: str, login: str, role: Literal["admin", "member"] = "member") -> None:
        """Make a person a member of an organization."""
        with self.lock:
            self.state.organizations[self.account(organization).id].members[self.account(login).id] = role

    def add_team(
        self,
        organization: str,
        slug: str,
        *,
        members: Iterable[str] = (),
        parent: str | None = None,
        privacy: Literal["closed", "secret"] = "closed",
    ) -> seeding.Team:
        """A team whose members also become members of the organization; ``parent`` is a slug."""
        with self.lock:
            account = self.account(organization)
            above = self.state.team_by_slug(account.id, parent) if parent is not None else None
            if parent is not None and above is None:
                raise KeyError(f"organization {organization} has no team {parent}")
            team = Team(
                id=self.state.next_id("team", 3001),
                organization_id=account.id,
                name=slug,
                slug=slug.lower(),
                created_at=self.clock.now(),
                privacy=privacy,
                parent_id=above.id if above is not None else None,
            )
            self.state.teams[team.id] = team
            for member in members:
                user = self.account(member)
                self.state.organizations[account.id].members.setdefault(user.id, "member")
                team.members[user.id] = TeamMember()
            return seeding.Team(id=team.id, slug=team.slug, organization=account.login)

    def add_to_team(
        self, team: str, login: str, *, state: Literal["active", "pending"] = "active", by: str | None = None
    ) -> None:
        """Put a person into a team given as ``org/slug``; sends ``membership.added`` when active."""
        with self.lock:
            found, user = self.team(team), self.account(login)
            self.state.organizations[found.organization_id].members.setdefault(user.id, "member")
            found.members[user.id] = TeamMember(state=state)
            if state == "active":
                self._tell_membership("added", found, user, by)

    def remove_from_team(self, team: str, login: str, *, by: str | None = None) -> None:
        """Take a person out of a team given as ``org/slug``; sends ``membership.removed``."""
        with self.lock:
            found, user = self.team(team), self.account(login)
            if found.members.pop(user.id, None) is not None:
                self._tell_membership("removed", found, user, by)

    def rename_user(self, login: str, new: str) -> None:
        """Change an account's login; its number, content and token stay, and the old login is free."""
        with self.lock:
            account = self.account(login)
            if new.lower() in self.state.logins:
                raise ValueError(f"the login {new} is taken")
            del self.state.logins[login.lower()]
            account.login = new
            self.state.logins[new.lower()] = account.id

    def remove_user(self, login: str) -> None:
        """Delete an account: its content stays and belongs to nobody, its login is free again."""
        with self.lock:
            account = self.account(login)
            del self.state.accounts[account.id]
            del self.state.logins[login.lower()]
            for organization in self.state.organizations.values():
                organization.members.pop(account.id, None)
            for team in self.state.teams.values():
                team.members.pop(account.id, None)
            for repository in self.state.repositories.values():
                repository.collaborators.pop(account.id, None)
            tokens = self.state.personal_tokens
            for token in [token for token, owner in tokens.items() if owner == account.id]:
                del tokens[token]

    def _add_account(
        self,
        login: str,
        kind: Literal["User", "Organization", "Bot"],
        *,
        name: str | None = None,
        email: str | None = None,
    ) -> Account:
        if login.lower() in self.state.logins:
            raise ValueError(f"the login {login} is taken")
        number = self.state.next_id("account", 1001)
        address = email or f"{number}+{login}@users.noreply.github.com"
        account = Account(
            id=number, login=login, kind=kind, created_at=self.clock.now(), name=name, email=address
        )
        self.state.accounts[number] = account
        self.state.logins[login.lower()] = number
        return account

    def _tell_membership(self, action: str, team: Team, user: Account, by: str | None) -> None:
        view = self.view()
        content = {
            "scope": "team",
            "member": accounts.simple(view, user),
            "team": teams.listed(view, team),
        }
        sender = self._somebody_of(by, team.organization_id)
        events.emit(self, "membership", action, content, sender=sender, organization_id=team.organization_id)


def _digest(*parts: str) -> str:
    """Letters and digits that look random and are the same in every run."""
    digest = hashlib.sha256("/".join(parts).encode()).digest()
    return base64.b32encode(digest).decode().lower().rstrip("=")[:36]
