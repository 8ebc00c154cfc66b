"""Registering and installing GitHub Apps."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from github_simulator import events, seeding
from github_simulator.model import (
    App,
    Hook,
    Installation,
    Repository,
)
from github_simulator.people import People
from github_simulator.representation import apps, repositories

Permissions = Mapping[str, str]


class AppRegistry(People):
    """Apps and their installations."""

    def add_app(
        self,
        slug: str,
        *,
        permissions: Permissions,
        events: Iterable[str] = (),
        webhook_url: str | None = None,
        webhook_secret: str | None = None,
        owner: str | None = None,
    ) -> seeding.App:
        """A GitHub App with an RSA key of its own and a bot account ``slug[bot]``."""
        with self.lock:
            private, public = _key_pair(len(self.state.apps))
            now = self.clock.now()
            bot = self._add_account(f"{slug}[bot]", "Bot")
            app_id = self.state.next_id("app", 400_001)
            owner_id = self.account(owner).id if owner is not None else self._first_owner()
            hook = Hook(
                id=self.state.next_id("hook", 500_001),
                url=webhook_url,
                secret=webhook_secret,
                events=list(events),
                created_at=now,
                updated_at=now,
            )
            self.state.apps[app_id] = App(
                id=app_id,
                slug=slug,
                name=slug,
                bot_id=bot.id,
                owner_id=owner_id,
                public_key_pem=public,
                permissions={"metadata": "read"} | dict(permissions),
                events=list(events),
                created_at=now,
                hook=hook,
            )
            user = seeding.User(id=bot.id, login=bot.login, token="", type="Bot")
            return seeding.App(id=app_id, slug=slug, private_key_pem=private, bot=user)

    def set_webhook(self, app: seeding.App, url: str | None, secret: str | None) -> None:
        """Where an App's webhooks go and with which secret they are signed."""
        with self.lock:
            hook = self.state.apps[app.id].hook
            hook.url, hook.secret = url, secret

    def install(
        self,
        app: seeding.App,
        account: str,
        *,
        repositories: Iterable[seeding.Repository] | None = None,
        by: str | None = None,
    ) -> seeding.Installation:
        """Install an App for some repositories of an account, or all; sends ``installation.created``."""
        with self.lock:
            found, now = self.state.apps[app.id], self.clock.now()
            installation = Installation(
                id=self.state.next_id("installation", 600_001),
                app_id=app.id,
                account_id=self.account(account).id,
                permissions=dict(found.permissions),
                events=list(found.events),
                repository_ids=[repo.id for repo in repositories] if repositories is not None else None,
                created_at=now,
                updated_at=now,
            )
            self.state.installations[installation.id] = installation
            self._tell_installation("created", installation, by)
            return seeding.Installation(id=installation.id, app_id=app.id)

    def suspend(self, installation: seeding.Installation, *, by: str | None = None) -> None:
        """Suspend an installation: its tokens answer 403 until ``unsuspend``."""
        with self.lock:
            found = self.state.installations[installation.id]
            found.suspended_at, found.suspended_by = (
                self.clock.now(),
                self._somebody_of(by, found.account_id).id,
            )
            self._tell_installation("suspend", found, by)

    def unsuspend(self, installation: seeding.Installation, *, by: str | None = None) -> None:
        """End a suspension."""
        with self.lock:
            found = self.state.installations[installation.id]
            found.suspended_at = found.suspended_by = None
            self._tell_installation("unsuspend", found, by)

    def uninstall(self, installation: seeding.Installation, *, by: str | None = None) -> None:
        """Remove an installation; its tokens are no longer valid."""
        with self.lock:
            found = self.state.installations[installation.id]
            self._tell_installation("deleted", found, by)
            del self.state.installations[found.id]

    def set_permissions(
        self, installation: seeding.Installation, permissions: Permissions, *, by: str | None = None
    ) -> None:
        """Change what an installation may do, for its present tokens too."""
        with self.lock:
            found = self.state.installations[installation.id]
            found.permissions = {"metadata": "read"} | dict(permissions)
            for token in self.state.installation_tokens.values():
                if token.installation_id == found.id:
                    token.permissions = {
                        name: value for name, value in token.permissions.items() if name in found.permissions
                    }
            self._tell_installation("new_permissions_accepted", found, by)

    def set_installation_repositories(
        self,
        installation: seeding.Installation,
        repos: Iterable[seeding.Repository],
        *,
        by: str | None = None,
    ) -> None:
        """Choose the repositories of an installation; sends ``installation_repositories``."""
        with self.lock:
            found = self.state.installations[installation.id]
            before, after = set(found.repository_ids or ()), {repo.id for repo in repos}
            found.repository_ids = sorted(after)
            for action, ids in (("added", after - before), ("removed", before - after)):
                if ids:
                    listed = [self._short(self.state.repositories[number]) for number in sorted(ids)]
                    content = {
                        "installation": apps.installation(self.view(), found),
                        "repository_selection": "selected",
                        "repositories_added": listed if action == "added" else [],
                        "repositories_removed": listed if action == "removed" else [],
                        "requester": None,
                    }
                    sender = self._somebody_of(by, found.account_id)
                    events.emit(self, "installation_repositories", action, content, sender=sender, only=found)

    def _first_owner(self) -> int:
        for account in self.state.accounts.values():
            if account.kind != "Bot":
                return account.id
        return self._add_account("apps", "User").id

    def _short(self, repository: Repository) -> dict[str, Any]:
        shown = repositories.minimal(self.view(), repository)
        return {key: shown[key] for key in ("id", "node_id", "name", "full_name", "private")}

    def _tell_installation(self, action: str, installation: Installation, by: str | None) -> None:
        content: dict[str, Any] = {"installation": apps.installation(self.view(), installation)}
        if action in {"created", "deleted", "suspend", "unsuspend", "new_permissions_accepted"}:
            ids = installation.repository_ids
            reached = [
                repo
                for repo in self.state.repositories.values()
                if repo.owner_id == installation.account_id and (ids is None or repo.id in ids)
            ]
            content["repositories"] = [self._short(repo) for repo in reached]
        if action == "created":
            content["requester"] = None
        sender = self._somebody_of(by, installation.account_id)
        events.emit(self, "installation", action, content, sender=sender, only=installation)


@functools.cache
def _key_pair(ordinal: int) -> tuple[str, str]:
    """Private and public PEM for the n-th App of a world; made once for the process, as that is slow."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()
