"""The stage: everything that the story needs, started and wired, in one folder.

`running` founds the company at the simulator of GitHub, starts OpenBao, gives it the roles that the
policy computes, and starts the bot and a runner, each in a process of its own. `python -m demo.stage
--data .demo` keeps that until SIGTERM, and writes `stage.json` (mode 0600) with addresses and the
personas' tokens when all of it answers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from demo import company, ports, processes, stage_files
from demo.openbao_server import OpenBaoServer
from demo.stage_files import Places, Variation
from github_simulator import simulator
from github_simulator.simulator import Simulator

STAGE_FILE = "stage.json"
BOT = "bot"
RUNNER = "runner"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A stage that runs, with a handle on each of its parts."""

    stage: Stage
    places: Places
    github: Simulator
    company: company.Company
    openbao: OpenBaoServer
    children: processes.Children
    policy: Path

    def start_bot(self, *options: str) -> None:
        """Starts the bot, with further options of its command, and waits until it answers.

        Raises:
            DidNotStart: when it does not.
        """
        self.children.start(
            BOT,
            [processes.OWNERGATE, "bot", "run", "--config", str(self.places.bot_config), *options],
            ready=lambda: bool(_get(f"{self.stage.bot_url}/healthz")),
        )

    def start_runner(self) -> None:
        """Starts the runner and waits until it has proved its sandbox to the bot.

        Raises:
            DidNotStart: when it does not.
        """
        before = _proved_at(self.stage)
        self.children.start(
            RUNNER,
            [processes.OWNERGATE, "runner", "--config", str(self.places.runner_config)],
            ready=lambda: _proved_at(self.stage) not in (None, before),
        )

    def set_up_openbao(self) -> None:
        """Gives a new OpenBao the mounts and roles that the policy computes."""
        stage_files.set_up_openbao(self.places, self.openbao, self.company.repository.id, self.policy)


def load(data: Path) -> Stage | None:
    """The stage that stands in a folder; None when there is none."""
    try:
        return Stage(**json.loads((data / STAGE_FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


@contextlib.contextmanager
def running(
    data: Path,
    *,
    github_port: int = 0,
    bot_port: int = 0,
    variation: Variation | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[Running]:
    """Builds a stage in a new folder and takes it down at the end of the block.

    Args:
        github_port, bot_port: fixed ports; 0 takes free ones.
        variation: what differs from the usual stage.
        say: gets one line of progress at each step.

    Raises:
        DidNotStart: when a part does not come up; the others are ended.
    """
    variation = variation or Variation()
    data.mkdir(parents=True, mode=0o700, exist_ok=True)
    with contextlib.ExitStack() as stack:
        say("Starting the simulator of GitHub and founding a company there ...")
        github = stack.enter_context(simulator.running(data=data / "github", port=github_port))
        acme = company.found(github, stage_files.CLONE, more=variation.files)
        # The scratch folder must be in memory: credentials pass through it.
        scratch = Path(tempfile.mkdtemp(prefix="ownergate-demo-", dir="/dev/shm"))
        scratch.chmod(0o700)
        stack.callback(_clear, scratch)
        children = processes.Children(data / "logs")
        stack.callback(children.end)
        openbao = OpenBaoServer(data / "openbao")
        stack.callback(openbao.stop)
        bot_url = f"http://127.0.0.1:{bot_port or ports.free()}"
        places = Places(data=data, scratch=scratch, bot_url=bot_url)
        built = Running(
            stage=_stage(places, github, acme, openbao),
            places=places,
            github=github,
            company=acme,
            openbao=openbao,
            children=children,
            policy=variation.policy,
        )
        say("Starting OpenBao, and giving it the roles that the policy computes ...")
        openbao.start()
        stage_files.make_keys(places)
        stage_files.write_settings(places, github, acme, openbao, variation)
        built.set_up_openbao()
        stage_files.make_tokens(places, acme)
        say("Letting the company's service run already: one terraform apply by its operator ...")
        stage_files.apply_once(places)
        github.world.set_webhook(acme.bot_app, f"{bot_url}/webhooks/github", places.webhook_secret)
        say("Starting the bot ...")
        built.start_bot()
        stage_files.build_image(places)
        say("Starting a runner, which first proves that its sandbox isolates ...")
        built.start_runner()
        yield built


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
    path = data / STAGE_FILE
    try:
        with running(data, github_port=chosen.github_port, bot_port=chosen.bot_port, say=_say) as built:
            path.touch(mode=0o600)
            path.write_text(json.dumps(asdict(built.stage), indent=1))
            print("The stage is ready.", flush=True)
            stop.wait()
    except processes.DidNotStart as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        path.unlink(missing_ok=True)
    return 0


def _stage(places: Places, github: Simulator, acme: company.Company, openbao: OpenBaoServer) -> Stage:
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
        runner_config=str(places.runner_config),
        state_folder=str(places.runner / "state"),
        scratch=str(places.scratch),
        agent_token_file=str(places.agent / "token"),
        second_agent_token_file=str(places.agent / "second-token"),
        auditor_token_file=str(places.audit / "auditor-token"),
        grant_key_file=str(places.bot / "grant-key.pem"),
        receipt_keys_file=str(places.audit / "receipt-keys.pem"),
        login_key_file=str(places.runner / "login-key.pem"),
    )


def _proved_at(stage: Stage) -> str | None:
    """When a runner with the bot's policy last proved its sandbox; None when none has."""
    token = Path(stage.agent_token_file).read_text().strip()
    status = _get(f"{stage.bot_url}/api/v1/sandbox", token)
    proofs = [runner["proved_at"] for runner in status.get("runners", []) if runner["policy_agrees"]]
    return max((str(proof) for proof in proofs if proof), default=None)


def _get(url: str, token: str | None = None) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  Always the bot on this machine.
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            value = json.loads(answer.read())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _clear(scratch: Path) -> None:
    """Takes the scratch folder away, with what a runner that was killed midway left mounted in it."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        place = line.split(" ")[1]
        if place.startswith(f"{scratch}/"):
            subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)
    shutil.rmtree(scratch, ignore_errors=True)


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
