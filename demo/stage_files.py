"""The files of the stage: keys, settings, tokens, OpenBao's roles, and the state that was there before."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from demo import company, processes
from demo.openbao_server import OpenBaoServer
from github_simulator.simulator import Simulator

CLONE = Path(__file__).resolve().parent.parent
POOL = "demo"
Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """What differs from the usual stage.

    Attributes:
        policy: the policy file of bot and runner.
        files: more files of the company's repository, by path.
        bot, runner: settings that differ; a mapping adds to the usual one.
        way: the address at which the runner reaches a part, from that part's own.
    """

    policy: Path = CLONE / "policy" / "policy.yaml"
    files: Mapping[str, str] = field(default_factory=dict)
    bot: Settings = field(default_factory=dict)
    runner: Settings = field(default_factory=dict)
    way: Callable[[str], str] = str


class Places:
    """Folders and files of the stage."""

    def __init__(self, *, data: Path, scratch: Path, bot_url: str) -> None:
        self.data, self.scratch, self.bot_url = data, scratch, bot_url
        self.bot, self.runner, self.agent = data / "bot", data / "runner", data / "agent"
        self.audit = data / "audit"
        for folder in (self.bot, self.runner, self.agent, self.audit):
            folder.mkdir(mode=0o700)
        self.webhook_secret = secrets.token_hex(32)

    @property
    def bot_config(self) -> Path:
        """`bot.yaml`."""
        return self.bot / "bot.yaml"

    @property
    def runner_config(self) -> Path:
        """`runner.yaml`."""
        return self.runner / "runner.yaml"

    def private(self, path: Path, text: str) -> Path:
        """Writes a file that only its owner can read."""
        path.touch(mode=0o600)
        path.write_text(text)
        return path


def make_keys(places: Places) -> None:
    """Makes every key pair where its private half belongs, and hands out the public halves."""

    def signing(private: Path, public: Path) -> None:
        processes.run(
            processes.OWNERGATE, "keys", "signing", "--private", str(private), "--public", str(public)
        )

    signing(places.bot / "grant-key.pem", places.runner / "grant-keys.pem")
    signing(places.runner / "receipt-key.pem", places.bot / "receipt-keys.pem")
    signing(places.runner / "login-key.pem", places.data / "login-keys.pem")
    processes.run(processes.OWNERGATE, "keys", "sealing", str(places.runner / "sealing.key"))
    shutil.copy(places.bot / "receipt-keys.pem", places.audit / "receipt-keys.pem")


def write_settings(
    places: Places,
    github: Simulator,
    acme: company.Company,
    openbao: OpenBaoServer,
    variation: Variation,
) -> None:
    """Writes `bot.yaml` and `runner.yaml`, and the secrets beside them."""
    places.private(places.bot / "app.pem", acme.bot_app.private_key_pem)
    places.private(places.bot / "webhook-secret", places.webhook_secret + "\n")
    places.private(places.runner / "app.pem", acme.runner_app.private_key_pem)
    bot: dict[str, Any] = {
        "listen": places.bot_url.removeprefix("http://"),
        "data": "data",
        "policy": str(variation.policy),
        "repository": acme.repository.full_name,
        "github": {
            "api_url": github.url,
            "app_id": acme.bot_app.id,
            "installation_id": acme.bot_installation.id,
            "private_key_file": "app.pem",
            "webhook_secret_files": ["webhook-secret"],
            "polling_seconds": 5,
        },
        "grant_key_file": "grant-key.pem",
        "receipt_keys_file": "receipt-keys.pem",
        "limits": {"open_requests_per_agent": 8},
    }
    runner: dict[str, Any] = {
        "name": "runner-1",
        "pool": POOL,
        "bot_url": places.bot_url,
        "token_file": "token",
        "policy": str(variation.policy),
        "repository": {"id": acme.repository.id, "name": acme.repository.full_name},
        "github": {
            "api_url": variation.way(github.url),
            "app_id": acme.runner_app.id,
            "installation_id": acme.runner_installation.id,
            "private_key_file": "app.pem",
        },
        "bot_app": {"id": acme.bot_app.id, "user_id": acme.bot_app.bot.id},
        "grant_keys_file": "grant-keys.pem",
        "receipt_key_file": "receipt-key.pem",
        "sealing_key_file": "sealing.key",
        "openbao": {"address": variation.way(openbao.address), "login_key_file": "login-key.pem"},
        "sandbox": {
            "images": "images",
            "scratch": str(places.scratch / "sandbox"),
            "runsc": shutil.which("runsc") or "runsc",
        },
        "state": "state",
        "data": "data",
    }
    write_yaml(places.bot_config, changed(bot, variation.bot))
    write_yaml(places.runner_config, changed(runner, variation.runner))


def changed(usual: Settings, differing: Settings) -> dict[str, Any]:
    """The usual settings with the differing ones in their place; a mapping adds to the usual one."""
    both = dict(usual)
    for name, value in differing.items():
        both[name] = {**both.get(name, {}), **value} if isinstance(value, Mapping) else value
    return both


def write_yaml(path: Path, value: Settings) -> None:
    """Writes a settings file."""
    path.write_text(yaml.safe_dump(dict(value), sort_keys=False))


def set_up_openbao(places: Places, openbao: OpenBaoServer, repository_id: int, policy: Path) -> None:
    """Gives a new OpenBao the mounts and roles that the policy computes, as its operator would."""
    operator = places.private(places.data / "openbao" / "operator-token", openbao.root_token)
    processes.run(
        *(processes.OWNERGATE, "vault", "apply", "--policy", str(policy)),
        *("--address", openbao.address, "--operator-token-file", str(operator), "--make-mounts"),
        *("--repository-id", str(repository_id), "--runner-cidr", "127.0.0.1/32"),
        *("--runner-keys", str(places.data / "login-keys.pem")),
        *("--grant-keys", str(places.runner / "grant-keys.pem")),
    )


def make_tokens(places: Places, acme: company.Company) -> None:
    """Makes the bot's tokens of the runner, two agents and an auditor."""

    def create(out: Path, role: str, name: str, login: str | None = None) -> None:
        person = ("--login", login, "--github-id", str(acme.people[login].id)) if login else ()
        processes.run(
            *(processes.OWNERGATE, "bot", "token", "create", "--config", str(places.bot_config)),
            *("--role", role, "--name", name, "--out", str(out), *person),
        )

    create(places.runner / "token", "runner", "runner-1")
    create(places.agent / "token", "agent", "dana editor", "dana")
    create(places.agent / "second-token", "agent", "bob editor", "bob")
    create(places.audit / "auditor-token", "auditor", "the auditor")


def build_image(places: Places) -> None:
    """Builds the folder that becomes the root of every sandbox."""
    processes.run(
        *(processes.OWNERGATE, "image", "build", str(CLONE / "images" / "tools" / "host.yaml")),
        *("--images", str(places.runner / "images")),
    )


def apply_once(places: Places) -> None:
    """What an operator had before ownergate came: the module, applied, and its state."""
    from runner.terraform_state import StateFolders

    folder = StateFolders(places.runner / "state").folder(POOL, company.SOURCE)
    work = places.data / "operator"
    shutil.copytree(CLONE / "terraform", work, ignore=shutil.ignore_patterns(".terraform*"))
    state = folder / "terraform.tfstate"
    override = {"terraform": {"backend": {"local": {"path": str(state)}}}}
    (work / company.MODULE / "override.tf.json").write_text(json.dumps(override))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TF_")}
    for arguments in (["init", "-input=false"], ["apply", "-input=false", "-auto-approve"]):
        done = subprocess.run(
            ["terraform", *arguments, "-no-color"],
            cwd=work / company.MODULE,
            env={**environment, "CHECKPOINT_DISABLE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise processes.DidNotStart(f"terraform {arguments[0]} failed:\n{done.stdout}{done.stderr}")
    shutil.rmtree(work)
