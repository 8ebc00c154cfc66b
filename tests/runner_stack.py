"""A whole runner for tests: real OpenBao, runsc and Terraform, the simulator of GitHub, a scripted bot.

`Stack` is made once for many tests; each test works on a module of its own, so that states don't meet.
"""

from __future__ import annotations

import base64
import os
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from evidence.app_client import AppClients
from github_simulator import simulator
from policy import (
    argv,
    grant,
    manifest,
    policy_file,
    receipt,
    rendering,
    request_files,
    signing,
    terraform_plan,
    vault_roles,
)
from policy.grant import Grant
from policy.manifest import Manifest
from policy.receipt import Receipt
from policy.runner_protocol import Claim, ClaimRequest, Job, JobKind, JobResult
from policy.tools import Policy
from policy.vault_roles import VaultSettings
from runner import assembly, settings
from runner.data_folder import DataFolder
from runner.equipment import Equipment
from runner.lease import openbao_setup
from runner.lease.vault_calls import VaultCalls
from runner.readiness import Readiness
from runner.sandbox.interface import Proof
from runner.secret_bytes import SecretBytes
from runner.work_loop import WorkLoop
from tests import sandboxes
from tests.openbao import OpenBaoServer, running_openbao
from tests.request_on_github import PERMISSIONS, Forge
from tests.scripted_bot import ANY_TIME, TOKEN, ScriptedBot

ISSUER = "ownergate:runner"
MODULES = tuple(f"m{number}" for number in range(60))
MAIN = b"""variable "size" {
  type    = string
  default = "small"
}
resource "terraform_data" "disk" {
  triggers_replace = var.size
  input            = var.size
}
output "size" {
  value = terraform_data.disk.output
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A request that the bot opened at GitHub."""

    manifest: Manifest
    number: int
    head: str
    sealed_plan: str | None

    @property
    def digest(self) -> str:
        return manifest.digest(self.manifest)


@dataclass(slots=True, kw_only=True)
class Stack:
    """Everything around one runner."""

    folder: Path
    forge: Forge
    bao: OpenBaoServer
    bot: ScriptedBot
    policy: Policy
    keys: Mapping[str, Ed25519PrivateKey]
    images: Path
    scratch: Path
    proof: Proof
    claims: dict[str, Any] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)

    @property
    def settings_path(self) -> Path:
        return self.folder / "runner.yaml"

    @property
    def data(self) -> DataFolder:
        return DataFolder(root=self.folder / "data")

    def module(self) -> str:
        """A module that no other test uses."""
        free = MODULES[len(self.used)]
        self.used.append(free)
        return free

    def variant(self, folder: Path, **changes: Any) -> Stack:
        """The same stack with another runner: a data folder of its own, some settings changed."""
        folder.mkdir()
        for path in self.folder.iterdir():
            if path.is_file():
                shutil.copy2(path, folder / path.name)
        content = yaml.safe_load(self.settings_path.read_text())
        # Inside the stack's own, so that it is taken away with it; no call's folder begins with a dot.
        scratch = self.scratch / f".own-{secrets.token_hex(4)}"
        content["sandbox"]["scratch"] = str(scratch)
        for name, value in changes.items():
            content[name] = content[name] | value if isinstance(value, dict) else value
        (folder / "runner.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
        return replace(self, folder=folder, scratch=scratch)

    def with_openbao(self, folder: Path, bao: OpenBaoServer) -> Stack:
        """The same stack with a runner that has an OpenBao of its own, which the test may stop."""
        set_up_openbao(bao, self.policy, self.keys, self.forge.repository.id)
        return replace(self.variant(folder, openbao={"address": bao.address}), bao=bao)

    @contextmanager
    def equipment(self, **changes: Any) -> Iterator[Equipment]:
        """The runner's equipment, its sandbox proved already."""
        loaded = settings.load(self.settings_path)
        equipment = assembly.assemble(loaded, self.data)
        with equipment.bot:
            yield replace(equipment, readiness=_Proved(equipment, self.proof), **changes)

    def work(self, job: Job, **changes: Any) -> JobResult:
        """Lets a runner do one job, and gives the result that the bot got."""
        self.bot.give(job)
        with self.equipment(**changes) as equipment:
            assert WorkLoop(equipment, stop=threading.Event()).run_once()
        return self.bot.result_of(job.id, timeout=1)

    def process(self, **environment: str) -> subprocess.Popen[bytes]:
        """A real runner process."""
        code = "import sys, pathlib; from runner import service; service.run(pathlib.Path(sys.argv[1]))"
        log = (self.folder / "runner.log").open("ab")
        with log:
            return subprocess.Popen(
                [sys.executable, "-c", code, str(self.settings_path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **environment},
                cwd=Path(__file__).resolve().parent.parent,
            )

    def job(
        self, tool: str, arguments: Mapping[str, Any], kind: JobKind = JobKind.READ, **changes: Any
    ) -> Job:
        """A job as an honest bot makes it."""
        declared = self.policy.tool(tool)
        fields: dict[str, Any] = {
            "id": f"job-{secrets.token_hex(6)}",
            "kind": kind,
            "request_id": f"og-{secrets.token_hex(13)}",
            "at": ANY_TIME,
            "audit_tip": self.bot.tip,
            "audit_at_remembered": None,
            "tool": tool,
            "tool_digest": declared.sha256,
            "policy_sha256": self.policy.sha256,
            "arguments": dict(arguments),
            "base": manifest.Base(ref="main", sha=self.forge.tip()),
            "source": None,
            "manifest": None,
            "pull_request": None,
            "head_sha": None,
            "barred": (),
        }
        return Job(**{**fields, **changes})

    def plan(self, module: str, tool: str = "terraform_apply", **changes: Any) -> tuple[Job, JobResult]:
        """A planning job on a module, done."""
        arguments = changes.pop("arguments", {"module": module})
        job = self.job(tool, arguments, JobKind.PLAN, **changes)
        return job, self.work(job)

    def open(self, job: Job, planned: JobResult, **changes: Any) -> Opened:
        """Opens the pull request of a planned job, as the bot does; `changes` are of the manifest."""
        assert planned.plan is not None, planned
        tool = self.policy.tool(job.tool)
        assert tool.approval is not None
        counts = None if planned.plan.plan is None else planned.plan.plan.summary
        now = datetime.now(UTC).replace(microsecond=0)
        fields: dict[str, Any] = {
            "version": 1,
            "id": job.request_id,
            "tool": tool.name,
            "tool_digest": tool.sha256,
            "arguments": job.arguments,
            "requester": manifest.Requester(
                agent="editor", person_id=self.forge.id("agent-owner"), login="agent-owner"
            ),
            "reason": "a test",
            "repository": manifest.Repository(id=self.forge.repository.id, name="acme/infra"),
            "base": job.base,
            "owned": (argv.fill(tool.approval.owned, dict(job.arguments)),),
            "target": manifest.Target(
                name=tool.target.name,
                runner_pool=tool.target.runner,
                cluster_uid=tool.target.cluster,
                vault_mount=tool.target.vault,
                backend=tool.target.state,
            ),
            "source": planned.plan.source,
            "plan": planned.plan.plan,
            "execution": planned.plan.execution,
            "policy_sha256": self.policy.sha256,
            "approvals_required": 2 if counts and counts["deletes"] else 1,
            "created_at": now,
            "expires_at": now + timedelta(hours=1),
            "nonce": secrets.token_hex(32),
        }
        document = changes.pop("document", None)
        composed = Manifest(**{**fields, **changes})
        masked = planned.plan.masked_plan
        plan = None if masked is None else terraform_plan.read(masked.encode())
        text = document or rendering.document(composed, plan)
        own = request_files.paths(composed)
        files: dict[str, bytes | None] = {
            own.manifest: manifest.encode(composed),
            own.rendering: text.encode(),
            **_files_of(job),
        }
        number, head = self._pull_request(composed.id, job.base.sha, files)
        return Opened(manifest=composed, number=number, head=head, sealed_plan=planned.plan.sealed_plan)

    def ready(self, module: str, *, approved: bool = True, **changes: Any) -> Opened:
        """A planned, opened and (if not told otherwise) approved apply of a module."""
        job, planned = self.plan(module, source=changes.pop("source", None))
        opened = self.open(job, planned, **changes)
        if approved:
            self.forge.review(opened.number, "alice", commit=opened.head)
        return opened

    def execution(self, opened: Opened, **changes: Any) -> Job:
        """The execution job of a request."""
        fields: dict[str, Any] = {
            "request_id": opened.manifest.id,
            "base": opened.manifest.base,
            "manifest": manifest.encode(opened.manifest).decode(),
            "pull_request": opened.number,
            "head_sha": opened.head,
        }
        arguments = dict(opened.manifest.arguments)
        return self.job(opened.manifest.tool, arguments, JobKind.EXECUTE, **{**fields, **changes})

    def a_grant(self, opened: Opened, **changes: Any) -> Grant:
        """What an honest bot would grant."""
        now = int(datetime.now(UTC).timestamp())
        approval = grant.Approval(
            review_id=1, person_id=self.forge.id("alice"), login="alice", commit=opened.head, lines=(2,)
        )
        fields: dict[str, Any] = {
            "iss": grant.issuer(self.forge.repository.id),
            "aud": grant.AUDIENCE,
            "sub": opened.manifest.id,
            "jti": secrets.token_hex(32),
            "iat": now,
            "nbf": now,
            "exp": now + 600,
            "digest": opened.digest,
            "tool": opened.manifest.tool,
            "target": opened.manifest.target.name,
            "policy_sha256": self.policy.sha256,
            "evidence": grant.Evidence(
                channel="pull_request", number=opened.number, head_sha=opened.head, approvals=(approval,)
            ),
        }
        return Grant(**{**fields, **changes})

    def grants(
        self,
        opened: Opened,
        *,
        key: Ed25519PrivateKey | None = None,
        sealed: str | None = None,
        **changes: Any,
    ) -> Grant:
        """From now on the bot answers every claim with this grant."""
        granted = self.a_grant(opened, **changes)
        token = grant.sign(granted, key or self.keys["grant"])

        def claim(job_id: str, request: ClaimRequest) -> Claim:
            plan = opened.sealed_plan if sealed is None else sealed
            return Claim(grant=token, fence=1, sealed_plan=plan, audit_tip=self.bot.tip)

        self.bot.on_claim = claim
        return granted

    def receipt(self, result: JobResult) -> Receipt:
        """The receipt of a result, verified."""
        public = self.keys["receipt"].public_key()
        assert result.receipt is not None
        return receipt.verify(result.receipt, {signing.key_id(public): public})

    def state(self, module: str) -> Path:
        """The state file of a module."""
        return self.folder / "state" / "demo" / f"terraform%2F{module}" / "terraform.tfstate"

    def _pull_request(self, name: str, base: str, files: Mapping[str, bytes | None]) -> tuple[int, str]:
        entries = [
            {"path": path, "mode": "100644", "type": "blob", "sha": self._blob(content)}
            for path, content in files.items()
        ]
        tree = self.forge.as_bot("POST", "/git/trees", {"base_tree": base, "tree": entries})["sha"]
        commit = {"message": "Ask", "tree": tree, "parents": [base]}
        head = self.forge.as_bot("POST", "/git/commits", commit)["sha"]
        branch = f"ownergate/{name}-{secrets.token_hex(3)}"
        self.forge.as_bot("POST", "/git/refs", {"ref": f"refs/heads/{branch}", "sha": head})
        pull = {"title": "Ask", "head": branch, "base": "main", "body": "a request"}
        return int(self.forge.as_bot("POST", "/pulls", pull)["number"]), str(head)

    def _blob(self, content: bytes | None) -> str | None:
        if content is None:
            return None
        body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
        return str(self.forge.as_bot("POST", "/git/blobs", body)["sha"])


class _Proved(Readiness):
    """A readiness that was proved once for all tests."""

    def __init__(self, equipment: Equipment, proof: Proof) -> None:
        super().__init__(equipment.sandbox, period_seconds=86_400, now=equipment.now)
        self._state = proof


def _files_of(job: Job) -> dict[str, bytes | None]:
    files: Any = (job.source or {}).get("files", {})
    return {path: None if text is None else text.encode() for path, text in files.items()}


@contextmanager
def running(folder: Path, policy_text: str) -> Iterator[Stack]:
    """A stack that runs inside the `with` block; skips where a program is missing."""
    images = sandboxes.build_images(folder / "images")
    policy = policy_file.load(policy_text)
    with ExitStack() as opened:
        scratch = opened.enter_context(sandboxes.scratch_folder())
        bao = opened.enter_context(running_openbao(folder / "openbao"))
        bot = opened.enter_context(ScriptedBot())
        github = opened.enter_context(simulator.running(data=folder / "github"))
        forge, runner_installation, runner_app = _forge(github)
        keys = {name: Ed25519PrivateKey.generate() for name in ("grant", "receipt", "login")}
        _write_settings(
            folder,
            policy_text=policy_text,
            keys=keys,
            forge=forge,
            runner_app=runner_app,
            installation=runner_installation,
            bao=bao,
            bot=bot,
            images=images,
            scratch=scratch,
        )
        set_up_openbao(bao, policy, keys, forge.repository.id)
        with sandboxes.home(images) as prover:
            proof = prover.check()
        yield Stack(
            folder=folder,
            forge=forge,
            bao=bao,
            bot=bot,
            policy=policy,
            keys=keys,
            images=images,
            scratch=scratch,
            proof=replace(proof, proved_at=datetime.now(UTC)),
        )


def set_up_openbao(
    bao: OpenBaoServer, policy: Policy, keys: Mapping[str, Ed25519PrivateKey], repository_id: int
) -> None:
    """Makes the mounts and writes what the policy wants."""
    calls = VaultCalls(bao.address)
    client = calls.client(SecretBytes(bao.root_token.encode()))
    openbao_setup.prepare(calls, client, engines=["pki"], jwt_mounts=["jwt-runner", "jwt-grant"])
    wanted = vault_roles.desired(
        policy,
        VaultSettings(
            runner_issuer=ISSUER,
            grant_issuer=grant.issuer(repository_id),
            runner_keys=(_public(keys["login"]),),
            grant_keys=(_public(keys["grant"]),),
            runner_cidrs=("127.0.0.1/32",),
        ),
    )
    openbao_setup.apply(wanted, calls, client)


def _forge(github: simulator.Simulator) -> tuple[Forge, int, Any]:
    world = github.world
    people = ("alice", "bob", "carol", "agent-owner", "mallory")
    for login in people:
        world.add_user(login)
    world.add_organization("acme", members=people)
    files = {".github/CODEOWNERS": "/terraform/ @alice @carol @agent-owner\n"}
    files |= {f"terraform/{module}/main.tf": MAIN.decode() for module in MODULES}
    repository = world.add_repository("acme", "infra", files=files)
    for login in people:
        world.grant_access(repository, login, "push")
    bot = world.add_app("ownergate", permissions=PERMISSIONS, owner="acme")
    reads = {name: "read" for name in PERMISSIONS if name != "checks"}
    runner = world.add_app("runner", owner="acme", permissions=reads)
    bot_installation, installation = (
        world.install(app, "acme", repositories=[repository]) for app in (bot, runner)
    )
    clients = [
        AppClients(
            base_url=github.url,
            app_id=app.id,
            private_key=app.private_key_pem,
            installation_id=place.id,
            read_only=app is runner,
        )
        for app, place in ((bot, bot_installation), (runner, installation))
    ]
    forge = Forge(
        github=github,
        repository=repository,
        bot=bot,
        bot_installation=bot_installation,
        bot_clients=clients[0],
        runner_clients=clients[1],
    )
    return forge, installation.id, runner


def _write_settings(
    folder: Path,
    *,
    policy_text: str,
    keys: Mapping[str, Ed25519PrivateKey],
    forge: Forge,
    runner_app: Any,
    installation: int,
    bao: OpenBaoServer,
    bot: ScriptedBot,
    images: Path,
    scratch: Path,
) -> None:
    _secret(folder / "token", TOKEN.encode() + b"\n")
    _secret(folder / "app.pem", runner_app.private_key_pem.encode())
    _secret(folder / "receipt.pem", _private(keys["receipt"]))
    _secret(folder / "login.pem", _private(keys["login"]))
    _secret(folder / "sealing.key", secrets.token_bytes(32))
    (folder / "grant.pem").write_text(_public(keys["grant"]))
    (folder / "policy.yaml").write_text(policy_text)
    content = {
        "name": "test-1",
        "pool": "demo",
        "bot_url": bot.url,
        "token_file": "token",
        "policy": "policy.yaml",
        "repository": {"id": forge.repository.id, "name": "acme/infra"},
        "github": {
            "api_url": forge.github.url,
            "app_id": runner_app.id,
            "installation_id": installation,
            "private_key_file": "app.pem",
        },
        "bot_app": {"id": forge.bot.id, "user_id": forge.bot.bot.id},
        "grant_keys_file": "grant.pem",
        "receipt_key_file": "receipt.pem",
        "sealing_key_file": "sealing.key",
        "openbao": {"address": bao.address, "login_key_file": "login.pem", "login_issuer": ISSUER},
        "sandbox": {"images": str(images), "scratch": str(scratch), "runsc": shutil.which("runsc")},
        "state": "state",
        "data": "data",
        "workers": 1,
        "poll_seconds": 1,
    }
    (folder / "runner.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


def _secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def _private(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _public(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
