"""The bot's App on the simulator of GitHub: its settings, its key file and its installation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot import settings
from bot.github_app import NEEDED, GitHubApp
from github_simulator import seeding
from github_simulator.simulator import Simulator
from tests.unit.bot.ground import SECRET

REPOSITORY = "acme/infra"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppOnGitHub:
    """Where things are."""

    github: Simulator
    app: seeding.App
    installation: seeding.Installation
    repository: seeding.Repository
    settings: settings.GitHubSettings

    def made(self, **changes: Any) -> GitHubApp:
        """The bot's App, with other settings where they are given."""
        repository = changes.pop("repository", REPOSITORY)
        return GitHubApp(self.settings.model_copy(update=changes), repository=repository)


def install(github: Simulator, folder: Path, *, permissions: dict[str, str] | None = None) -> AppOnGitHub:
    """A repository with the App on it; webhooks go nowhere yet."""
    github.world.add_organization("acme")
    repository = github.world.add_repository("acme", "infra")
    app = github.world.add_app(
        "ownergate-bot",
        permissions=permissions or {**NEEDED, "issues": "write", "members": "read"},
        events=["pull_request", "pull_request_review", "issue_comment", "push"],
        webhook_secret=SECRET.decode(),
    )
    installation = github.world.install(app, "acme", repositories=[repository])
    key = folder / "app.pem"
    key.write_text(app.private_key_pem)
    key.chmod(0o600)
    return AppOnGitHub(
        github=github,
        app=app,
        installation=installation,
        repository=repository,
        settings=settings.GitHubSettings(
            api_url=github.url,
            app_id=app.id,
            installation_id=installation.id,
            private_key_file=key,
            webhook_secret_files=[folder / "webhook-secret"],
        ),
    )
