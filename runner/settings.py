"""The runner's settings: one YAML file, read strictly, every path relative to the file's own folder.

Secrets never stand in the file, only the names of files that hold them (each with mode 0600, checked
where it is read). A mistake is shown with its line and what is allowed there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo

from policy import settings_file
from policy.settings_file import Address, Part

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]


def _beside(value: object, info: ValidationInfo) -> object:
    """Makes a path of the file absolute: it is relative to the file's own folder."""
    if not isinstance(value, str) or not value:
        raise ValueError("a path is expected")
    folder = (info.context or {}).get("folder", Path.cwd())
    return (folder / value).resolve()


File = Annotated[Path, BeforeValidator(_beside)]


class Repository(Part):
    """The repository whose code owners decide; the number is what counts."""

    id: int = Field(gt=0)
    name: str = Field(pattern=r"^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$")


class GitHub(Part):
    """The runner's own read-only App at GitHub. `ca_file`: the CA of a GitHub Enterprise Server."""

    api_url: Address
    app_id: int = Field(gt=0)
    installation_id: int = Field(gt=0)
    private_key_file: File
    ca_file: File | None = None


class BotApp(Part):
    """The bot's App: only its commits and pull requests are requests."""

    id: int = Field(gt=0)
    user_id: int = Field(gt=0)


class OpenBao(Part):
    """Where leases come from.

    Attributes:
        login_key_file: the runner's identity for read and plan leases.
        login_issuer: the issuer in its login tokens, as OpenBao's `bound_issuer` has it.
    """

    address: Address
    ca_file: File | None = None
    login_key_file: File
    jwt_runner_mount: str = Field(default="jwt-runner", pattern=r"^[a-z0-9][a-z0-9-]*$")
    jwt_grant_mount: str = Field(default="jwt-grant", pattern=r"^[a-z0-9][a-z0-9-]*$")
    login_issuer: str = Field(default="ownergate:runner", min_length=1, max_length=200)


class SandboxFolders(Part):
    """The sandbox's home on this machine: image folders, a scratch folder in memory, the program."""

    images: File
    scratch: File
    runsc: File


class Settings(Part):
    """`runner.yaml`.

    Attributes:
        name: this runner's name, in events and receipts.
        pool: the pool that it serves; a target of another pool is refused.
        bot_ca_file: the CA of the bot's certificate, PEM; None for the system's.
        revoked_grants_file: ids of grants that were taken back, one a line; None for none.
        state: folder of Terraform states.
        data: spent grants, lease journal, remembered audit tip, kept results, rescued states.
        workers: jobs at one time.
        poll_seconds: how long one poll waits for work; a stop waits no longer than that when idle.
        proof_seconds: how long a proof of isolation is good; then it is made again.
    """

    name: Name
    pool: Name
    bot_url: Address
    bot_ca_file: File | None = None
    token_file: File
    policy: File
    repository: Repository
    github: GitHub
    bot_app: BotApp
    grant_keys_file: File
    revoked_grants_file: File | None = None
    receipt_key_file: File
    sealing_key_file: File
    openbao: OpenBao
    sandbox: SandboxFolders
    state: File
    data: File
    workers: int = Field(default=2, ge=1, le=32)
    poll_seconds: int = Field(default=5, ge=1, le=45)
    proof_seconds: int = Field(default=600, ge=10, le=86_400)


def load(path: Path) -> Settings:
    """Reads the settings.

    Raises:
        Refused: `settings_invalid`, with every mistake that was found.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        what = f"{path}: the settings can't be read: {error.strerror}"
        raise settings_file.invalid(what, remedy="Give the path of runner.yaml.") from None
    context = {"folder": path.resolve().parent}
    return settings_file.read(Settings, data, name=str(path), context=context)
