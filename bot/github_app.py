"""The bot's GitHub App: clients that act as its installation, calls as the App itself, and who it is.

Sources: docs.github.com, "Authenticating as a GitHub App", "Generating an installation access token" (a
token lives for an hour), "Permissions required for GitHub Apps".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import github
from github import Auth, GithubException
from requests.exceptions import RequestException

from bot import github_failures, secret_files
from bot.settings import GitHubSettings
from evidence import app_client
from policy import record
from policy.refusal import Code, Refused, refuse

NEEDED = {"metadata": "read", "contents": "write", "pull_requests": "write", "checks": "write"}
"""Permissions without which no request could ever be shown or answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppIdentity:
    """Who the App is and where it works, by number; names are for people.

    Attributes:
        app_user_id: the account `<slug>[bot]` that the App's commits and comments belong to.
    """

    __pydantic_config__ = record.STRICT

    app_id: int
    slug: str
    app_user_id: int
    installation_id: int
    repository_id: int
    repository_name: str


class GitHubApp:
    """Makes clients. Safe for threads; the clients are not, so each job takes its own."""

    def __init__(self, settings: GitHubSettings, *, repository: str) -> None:
        """Reads the App's private key.

        Raises:
            Refused: `secret_file_invalid`.
        """
        self._settings = settings
        self._repository = repository
        self._key = secret_files.app_key(settings.private_key_file)
        self._verify: bool | str = str(settings.ca_file) if settings.ca_file else True
        self._clients = app_client.AppClients(
            base_url=settings.api_url,
            app_id=settings.app_id,
            private_key=self._key,
            installation_id=settings.installation_id,
            read_only=False,
            verify=self._verify,
        )

    def client(self) -> github.Github:
        """A client that acts as the App's installation, for one job in one thread."""
        return self._clients.client()

    def as_app(self) -> github.GithubIntegration:
        """A client that acts as the App itself, for one job in one thread; it retries nothing."""
        return github.GithubIntegration(
            auth=Auth.AppAuth(self._settings.app_id, self._key),
            base_url=self._settings.api_url,
            timeout=app_client.TIMEOUT_SECONDS,
            verify=self._verify,
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            api_version=app_client.API_VERSION,
        )

    def identify(self) -> AppIdentity:
        """Asks GitHub who the App is, and checks that it can work.

        Raises:
            Refused: `github_unavailable` when GitHub doesn't answer; `settings_invalid` when it answers
                that the App, the installation or the repository is not what the settings say.
        """
        try:
            return self._identify()
        except GithubException as error:
            said = github_failures.message(error)
            if error.status in (401, 404):
                raise _wrong(f"GitHub answers {error.status}: {said}", _CHECK_SETTINGS) from None
            raise _unavailable(f"it answers {error.status}: {said}") from None
        except RequestException as error:
            raise _unavailable(f"no answer from {self._settings.api_url} ({type(error).__name__})") from None

    def _identify(self) -> AppIdentity:
        integration = self.as_app()
        app = integration.get_app().raw_data
        if app["id"] != self._settings.app_id:
            raise _wrong(f"the key is of App {app['id']}, not {self._settings.app_id}", _CHECK_SETTINGS)
        installation = integration.get_app_installation(self._settings.installation_id).raw_data
        if installation.get("suspended_at"):
            raise _wrong(
                "the App's installation is suspended", "Unsuspend it in the organisation's settings."
            )
        granted = installation.get("permissions", {})
        lacking = [f"{name}: {level}" for name, level in NEEDED.items() if not _grants(granted, name, level)]
        if lacking:
            what = f"the App's installation lacks {', '.join(lacking)}"
            raise _wrong(what, "Add the permissions to the App and accept them for the installation.")
        client = self.client()
        repository = client.get_repo(self._repository).raw_data
        account = client.get_user(f"{app['slug']}[bot]").raw_data
        return AppIdentity(
            app_id=app["id"],
            slug=app["slug"],
            app_user_id=account["id"],
            installation_id=self._settings.installation_id,
            repository_id=repository["id"],
            repository_name=repository["full_name"],
        )


_CHECK_SETTINGS = "Correct app_id, installation_id, private_key_file and repository in the settings."


def _grants(granted: Mapping[str, Any], name: str, level: str) -> bool:
    return granted.get(name) in (("read", "write", "admin") if level == "read" else ("write", "admin"))


def _wrong(what: str, remedy: str) -> Refused:
    return refuse(
        Code.SETTINGS_INVALID,
        f"the GitHub App: {what}",
        rule="The bot starts only as an App that can work in its repository.",
        remedy=remedy,
    )


def _unavailable(why: str) -> Refused:
    return refuse(
        Code.GITHUB_UNAVAILABLE,
        f"GitHub: {why}",
        rule="Nothing is decided that was not read at GitHub.",
        remedy="Wait until GitHub can be reached; the bot goes on by itself.",
    )
