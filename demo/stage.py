"""The stage: everything that the story needs, started and wired, in one folder; ended by SIGTERM.

`python -m demo.stage --data .demo` founds the company at the simulator of GitHub, starts OpenBao, gives it
the roles that the policy computes, starts the bot and a runner, and writes `stage.json` (mode 0600)
with addresses and the personas' tokens when all of it answers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from demo import company, processes
from demo.openbao_server import OpenBaoServer
from github_simulator import simulator
from github_simulator.simulator import Simulator

CLONE = Path(__file__).resolve().parent.parent
POOL = "demo"
STAGE_FILE = "stage.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where everything is. Written to `stage.json`, read by the story."""

    pid: int
    data: str
    github_url: str
    repository: str
    repository_id: int
    bot_url: str
    openbao_address: str
    tokens: dict[str, str]
    people_ids: dict[str, int]
    runner_config: str
    state_folder: str
    scratch: str
    agent_token_file: str
    second_agent_token_file: str
    auditor_token_file: str
    grant_key_file: str
    receipt_keys_file: str
    login_key_file: str

    @property
    def path(self) -> Path:
        """The folder of all files."""
        return Path(self.data)


def load(data: Path) -> Stage | None:
    """The stage that stands in a folder; None when there is none."""
    try:
        return Stage(**json.loads((data / STAGE_FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def main() -> int:
    """Builds the stage, keeps it until SIGTERM or SIGINT, and takes it down."""
    parser = argparse.ArgumentParser(prog="python -m demo.stage", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a new folder for everything")
    parser.add_argument("--github-port", type=int, default=0)
    parser.add_argument("--bot-port", type=int, default=0)
    chosen = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    data: Path = chosen.data.resolve()
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True, mode=0o700)
    try:
        with contextlib.ExitStack() as stack:
            _build(stack, data, github_port=chosen.github_port, bot_port=chosen.bot_port or _free_port())
            print("The stage is ready.", flush=True)
            stop.wait()
    except processes.DidNotStart as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        (data / STAGE_FILE).unlink(missing_ok=True)
    return 0


def _build(stack: contextlib.ExitStack, data: Path, *, github_port: int, bot_port: int) -> None:
    say("Starting the simulator of GitHub and founding a company there ...")
    github = stack.enter_context(simulator.running(data=data / "github", port=github_port))
    acme = company.found(github, CLONE)
    # The scratch folder must be in memory: credentials pass through it.
    scratch = Path(tempfile.mkdtemp(prefix="ownergate-demo-", dir="/dev/shm"))
    scratch.chmod(0o700)
    stack.callback(shutil.rmtree, scratch, ignore_errors=True)
    children = processes.Children(data / "logs")
    stack.callback(children.end)
    openbao = OpenBaoServer(data / "openbao")
    stack.callback(openbao.stop)
    say("Starting OpenBao, and giving it the roles that the policy computes ...")
    openbao.start()
    places = _Places(data=data, scratch=scratch, bot_url=f"http://127.0.0.1:{bot_port}")
    _make_keys(places)
    _write_settings(places, github, acme, openbao)
    _vault(places, openbao, acme.repository.id)
    _tokens(places, acme)
    _existing_state(places, data)
    github.world.set_webhook(acme.bot_app, f"{places.bot_url}/webhooks/github", places.webhook_secret)
    say("Starting the bot ...")
    children.start(
        "bot",
        [processes.OWNERGATE, "bot", "run", "--config", str(places.bot / "bot.yaml")],
        ready=lambda: _answers(f"{places.bot_url}/healthz"),
    )
    processes.run(
        *(processes.OWNERGATE, "image", "build", str(CLONE / "images" / "tools" / "host.yaml")),
        *("--images", str(places.runner / "images")),
    )
    say("Starting a runner, which first proves that its sandbox isolates ...")
    stage = _stage(places, github, acme, openbao)
    children.start(
        "runner",
        [processes.OWNERGATE, "runner", "--config", str(places.runner / "runner.yaml")],
        ready=lambda: _runner_is_ready(stage),
    )
    path = data / STAGE_FILE
    path.touch(mode=0o600)
    path.write_text(json.dumps(asdict(stage), indent=1))


class _Places:
    """Folders and files of the stage."""

    def __init__(self, *, data: Path, scratch: Path, bot_url: str) -> None:
        self.data, self.scratch, self.bot_url = data, scratch, bot_url
        self.bot, self.runner, self.agent = data / "bot", data / "runner", data / "agent"
        self.audit = data / "audit"
        for folder in (self.bot, self.runner, self.agent, self.audit):
            folder.mkdir(mode=0o700)
        self.webhook_secret = secrets.token_hex(32)

    def private(self, path: Path, text: str) -> Path:
        """Writes a file that only its owner can read."""
        path.touch(mode=0o600)
        path.write_text(text)
        return path


def _make_keys(places: _Places) -> None:
    def signing(private: Path, public: Path) -> None:
        processes.run(
            processes.OWNERGATE, "keys", "signing", "--private", str(private), "--public", str(public)
        )

    signing(places.bot / "grant-key.pem", places.runner / "grant-keys.pem")
    signing(places.runner / "receipt-key.pem", places.bot / "receipt-keys.pem")
    signing(places.runner / "login-key.pem", places.data / "login-keys.pem")
    processes.run(processes.OWNERGATE, "keys", "sealing", str(places.runner / "sealing.key"))
    shutil.copy(places.bot / "receipt-keys.pem", places.audit / "receipt-keys.pem")


def _write_settings(
    places: _Places, github: Simulator, acme: company.Company, openbao: OpenBaoServer
) -> None:
    policy = str(CLONE / "policy" / "policy.yaml")
    places.private(places.bot / "app.pem", acme.bot_app.private_key_pem)
    places.private(places.bot / "webhook-secret", places.webhook_secret + "\n")
    places.private(places.runner / "app.pem", acme.runner_app.private_key_pem)
    _yaml(
        places.bot / "bot.yaml",
        {
            "listen": places.bot_url.removeprefix("http://"),
            "data": "data",
            "policy": policy,
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
        },
    )
    _yaml(
        places.runner / "runner.yaml",
        {
            "name": "runner-1",
            "pool": POOL,
            "bot_url": places.bot_url,
            "token_file": "token",
            "policy": policy,
            "repository": {"id": acme.repository.id, "name": acme.repository.full_name},
            "github": {
                "api_url": github.url,
                "app_id": acme.runner_app.id,
                "installation_id": acme.runner_installation.id,
                "private_key_file": "app.pem",
            },
            "bot_app": {"id": acme.bot_app.id, "user_id": acme.bot_app.bot.id},
            "grant_keys_file": "grant-keys.pem",
            "receipt_key_file": "receipt-key.pem",
            "sealing_key_file": "sealing.key",
            "openbao": {"address": openbao.address, "login_key_file": "login-key.pem"},
            "sandbox": {
                "images": "images",
                "scratch": str(places.scratch / "sandbox"),
                "runsc": shutil.which("runsc") or "runsc",
            },
            "state": "state",
            "data": "data",
        },
    )


def _vault(places: _Places, openbao: OpenBaoServer, repository_id: int) -> None:
    operator = places.private(places.data / "openbao" / "operator-token", openbao.root_token)
    processes.run(
        *(processes.OWNERGATE, "vault", "apply", "--policy", str(CLONE / "policy" / "policy.yaml")),
        *("--address", openbao.address, "--operator-token-file", str(operator), "--make-mounts"),
        *("--repository-id", str(repository_id), "--runner-cidr", "127.0.0.1/32"),
        *("--runner-keys", str(places.data / "login-keys.pem")),
        *("--grant-keys", str(places.runner / "grant-keys.pem")),
    )


def _tokens(places: _Places, acme: company.Company) -> None:
    def create(out: Path, role: str, name: str, login: str | None = None) -> None:
        person = ("--login", login, "--github-id", str(acme.people[login].id)) if login else ()
        processes.run(
            *(processes.OWNERGATE, "bot", "token", "create", "--config", str(places.bot / "bot.yaml")),
            *("--role", role, "--name", name, "--out", str(out), *person),
        )

    create(places.runner / "token", "runner", "runner-1")
    create(places.agent / "token", "agent", "dana editor", "dana")
    create(places.agent / "second-token", "agent", "bob editor", "bob")
    create(places.audit / "auditor-token", "auditor", "the auditor")


def _existing_state(places: _Places, data: Path) -> None:
    """What an operator had before ownergate came: the module, applied, and its state."""
    say("Letting the company's service run already: one terraform apply by its operator ...")
    from runner.terraform_state import StateFolders

    folder = StateFolders(places.runner / "state").folder(POOL, company.SOURCE)
    work = data / "operator"
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


def _stage(places: _Places, github: Simulator, acme: company.Company, openbao: OpenBaoServer) -> Stage:
    return Stage(
        pid=os.getpid(),
        data=str(places.data),
        github_url=github.url,
        repository=acme.repository.full_name,
        repository_id=acme.repository.id,
        bot_url=places.bot_url,
        openbao_address=openbao.address,
        tokens={login: user.token for login, user in acme.people.items()},
        people_ids={login: user.id for login, user in acme.people.items()},
        runner_config=str(places.runner / "runner.yaml"),
        state_folder=str(places.runner / "state"),
        scratch=str(places.scratch),
        agent_token_file=str(places.agent / "token"),
        second_agent_token_file=str(places.agent / "second-token"),
        auditor_token_file=str(places.audit / "auditor-token"),
        grant_key_file=str(places.bot / "grant-key.pem"),
        receipt_keys_file=str(places.audit / "receipt-keys.pem"),
        login_key_file=str(places.runner / "login-key.pem"),
    )


def _runner_is_ready(stage: Stage) -> bool:
    token = Path(stage.agent_token_file).read_text().strip()
    status = _get(f"{stage.bot_url}/api/v1/sandbox", token)
    return any(runner["proved_at"] and runner["policy_agrees"] for runner in status.get("runners", []))


def _answers(url: str) -> bool:
    return bool(_get(url))


def _get(url: str, token: str | None = None) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  Always the bot on this machine.
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            value = json.loads(answer.read())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _yaml(path: Path, value: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump(value, sort_keys=False))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def say(text: str) -> None:
    """One line of progress."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
