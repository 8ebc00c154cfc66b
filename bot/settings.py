"""`bot.yaml`: everything that an operator decides about the bot, read strictly.

Paths are relative to the file's own folder. Secrets stand in files of their own and never in this one.
Every mistake is named with its line and what is allowed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, ValidationInfo

from policy import settings_file
from policy.settings_file import Address, Part


def _path(value: object, info: ValidationInfo) -> object:
    # A text becomes a path only here; anything else stays and is refused by its type.
    if not isinstance(value, str) or not value:
        return value
    folder: Path = (info.context or {"folder": Path()})["folder"]
    return folder / value


def _port(value: str) -> str:
    if not 0 < int(value.rpartition(":")[2]) < 65536:
        raise ValueError("host and a port up to 65535")
    return value


File = Annotated[Path, BeforeValidator(_path)]
Positive = Annotated[int, Field(gt=0)]
Listen = Annotated[
    str,
    StringConstraints(pattern=r"^(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}$"),
    AfterValidator(_port),
]


class GitHubSettings(Part):
    """How the bot reaches GitHub, and how GitHub proves itself."""

    api_url: Address = "https://api.github.com"
    app_id: Positive
    installation_id: Positive
    private_key_file: File
    webhook_secret_files: Annotated[list[File], Field(min_length=1, max_length=5)]
    polling_seconds: Annotated[int, Field(ge=1, le=3600)] = 15
    ca_file: File | None = None


class LimitSettings(Part):
    """Numbers that protect people from too many questions."""

    open_requests_per_agent: Annotated[int, Field(ge=1, le=1000)] = 3


class BotSettings(Part):
    """The whole file."""

    listen: Listen = "127.0.0.1:8400"
    data: File
    audit_tip_folder: File | None = None
    policy: File
    repository: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$")]
    github: GitHubSettings
    grant_key_file: File
    receipt_keys_file: File
    limits: LimitSettings = LimitSettings()

    @property
    def database_url(self) -> str:
        """Where the database is."""
        return f"sqlite:///{self.data / 'bot.db'}"

    @property
    def audit_tip_file(self) -> Path:
        """Where the audit chain's tip is kept; best on another disk than `data`."""
        return (self.audit_tip_folder or self.data / "audit-tip") / "audit-tip.json"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


def load(path: Path) -> BotSettings:
    """Reads the settings file.

    Raises:
        Refused: `settings_invalid`, with every mistake.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        what = f"the settings file {path}: {error.strerror}"
        raise settings_file.invalid(what, remedy="Give the path of bot.yaml.") from None
    context = {"folder": path.resolve().parent}
    return settings_file.read(BotSettings, data, name=str(path), context=context)
