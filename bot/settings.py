"""`bot.yaml`: everything that an operator decides about the bot, read strictly.

Paths are relative to the file's own folder. Secrets stand in files of their own and never in this one.
Every mistake is named with its line and what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
)

from policy import policy_yaml
from policy.policy_errors import PolicyError, PolicyErrors
from policy.refusal import Code, refuse


def _path(value: object, info: ValidationInfo) -> object:
    # A text becomes a path only here; anything else stays and is refused by its type.
    if not isinstance(value, str) or not value:
        return value
    folder: Path = (info.context or {"folder": Path()})["folder"]
    return folder / value


def _url(value: str) -> str:
    if not value.startswith(("https://", "http://127.0.0.1:", "http://localhost:", "http://[::1]:")):
        raise ValueError("it has to be https, or http on this machine")
    return value.rstrip("/")


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


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class GitHubSettings(_Strict):
    """How the bot reaches GitHub, and how GitHub proves itself."""

    api_url: Annotated[str, AfterValidator(_url)] = "https://api.github.com"
    app_id: Positive
    installation_id: Positive
    private_key_file: File
    webhook_secret_files: Annotated[list[File], Field(min_length=1, max_length=5)]
    polling_seconds: Annotated[int, Field(ge=1, le=3600)] = 15
    ca_file: File | None = None


class LimitSettings(_Strict):
    """Numbers that protect people from too many questions."""

    open_requests_per_agent: Annotated[int, Field(ge=1, le=1000)] = 3


class BotSettings(_Strict):
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
        raise _invalid(f"the settings file {path}: {error.strerror}", "Give the path of bot.yaml.") from None
    try:
        root = policy_yaml.read(data, name=str(path))
    except PolicyErrors as errors:
        raise _invalid(str(errors), "Correct the file.") from None
    folder = path.resolve().parent
    try:
        return BotSettings.model_validate(policy_yaml.plain(root), context={"folder": folder})
    except ValidationError as error:
        faults = PolicyErrors(_mistake(str(path), root, fault) for fault in error.errors(include_url=False))
        raise _invalid(str(faults), "Correct the file.") from None


def _mistake(name: str, root: policy_yaml.Node, fault: Any) -> PolicyError:
    node, seen = root, []
    for step in fault["loc"]:
        inside = _child(node, step)
        if inside is None:
            break
        node = inside
        seen.append(str(step))
    path = ".".join(map(str, fault["loc"])) or "the file"
    match fault["type"]:
        case "missing":
            what, allowed = "it is missing", "a value"
        case "extra_forbidden":
            what, allowed = "this key is unknown", ", ".join(_keys(fault["loc"][:-1]))
        case kind:
            what, allowed = "its value is wrong", _ALLOWED.get(kind) or str(fault["msg"])
    return PolicyError(file=name, line=node.line, column=node.column, path=path, what=what, allowed=allowed)


_ALLOWED = {
    "int_type": "an integer",
    "is_instance_of": "a path as text",
    "list_type": "a list",
    "model_type": "a mapping of the documented keys",
    "path_type": "a path as text",
    "string_type": "text",
}
"""What pydantic says in the words of its own library."""


def _keys(loc: tuple[int | str, ...]) -> Iterable[str]:
    model: Any = BotSettings
    for step in loc:
        model = model.model_fields[str(step)].annotation
    return tuple(model.model_fields)


def _child(node: policy_yaml.Node, step: int | str) -> policy_yaml.Node | None:
    match node:
        case policy_yaml.Mapping():
            entry = node.entry(str(step))
            return entry.value if entry else None
        case policy_yaml.Sequence() if isinstance(step, int) and step < len(node.items):
            return node.items[step]
        case _:
            return None


def _invalid(what: str, remedy: str) -> Exception:
    return refuse(
        Code.SETTINGS_INVALID,
        what,
        rule="The bot starts only with settings that are complete and understood.",
        remedy=remedy,
    )
