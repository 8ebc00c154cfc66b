"""A whole bot on a simulated GitHub: real settings and keys, real database, real HTTP on both sides.

Nothing is replaced but GitHub and the runner. Threads don't run: a test says when the inbox, the outbox
and the reconciler work, so that every order of things can be tried. `settle` lets all of them come to
rest.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from bot import request_store, service, settings
from bot.api import agents, operators, runners
from bot.audit_log import AuditLog
from bot.core import Core
from bot.inbox_worker import InboxWorker
from bot.parts import Limits
from bot.request_store import Request
from bot.service import Foundation
from bot.tokens import Role, Tokens
from github_simulator import simulator
from github_simulator.seeding import App, Repository
from github_simulator.simulator import Simulator
from policy import audit
from policy.audit import Event

ROOT = Path(__file__).resolve().parent.parent
POLICY = ROOT / "policy" / "policy.yaml"
SECRET = "the webhook secret of a living bot"

PEOPLE = ("alice", "carol", "bob", "dave", "mallory")
"""alice and carol own the modules; bob and dave have agents; mallory can write and owns nothing."""

CODEOWNERS = "/terraform/demo/ @alice @carol\n/terraform/settings/ @alice\n"
FILES = {
    ".github/CODEOWNERS": CODEOWNERS,
    "README.md": "# infra\n",
    "terraform/demo/main.tf": 'resource "terraform_data" "service" {\n  input = "as it was"\n}\n',
    "terraform/settings/main.tf": 'resource "terraform_data" "settings" {\n  input = "one"\n}\n',
    "terraform/nobody/main.tf": 'resource "terraform_data" "nobody" {\n  input = "owns this"\n}\n',
}
PERMISSIONS = {
    "contents": "write",
    "pull_requests": "write",
    "checks": "write",
    "members": "read",
    "metadata": "read",
}
EVENTS = ("pull_request", "pull_request_review", "issue_comment", "push", "membership", "team", "member")


@dataclass(slots=True)
class ShiftedClock:
    """The system's clock, moved forward by a test."""

    ahead: timedelta = timedelta()

    def now(self) -> datetime:
        """The moment."""
        return datetime.now(UTC) + self.ahead

    def move(self, **by: float) -> None:
        """Moves it; takes what `timedelta` takes."""
        self.ahead += timedelta(**by)


@dataclass(slots=True, kw_only=True)
class LivingBot:
    """One bot and its GitHub."""

    folder: Path
    github: Simulator
    repository: Repository
    app: App
    clock: ShiftedClock
    base: Foundation
    core: Core
    worker: InboxWorker
    url: str
    receipt_key: Ed25519PrivateKey
    tokens: dict[str, str] = field(default_factory=dict)
    clients: list[httpx2.Client] = field(default_factory=list)

    # --- Doors ------------------------------------------------------------------------------------

    def token(self, name: str, role: Role, login: str | None = None) -> str:
        """The token of one principal, made when it is first asked for."""
        if name not in self.tokens:
            person = self.github.world.account(login).id if login else None
            made = Tokens(self.base.database, self.clock).create(
                name=name, role=role, person_id=person, login=login
            )
            self.tokens[name] = made
        return self.tokens[name]

    def client(self, token: str) -> httpx2.Client:
        """An HTTP client with a token."""
        client = httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
            trust_env=False,
        )
        self.clients.append(client)
        return client

    def agent(self, login: str = "bob", name: str | None = None) -> Agent:
        """An agent that acts for a person."""
        name = name or f"editor of {login}"
        return Agent(self.client(self.token(name, Role.AGENT, login)))

    # --- Time and threads -------------------------------------------------------------------------

    def settle(self, *, seconds: float = 20) -> None:
        """Lets webhooks, inbox and outbox come to rest; what waits for a later time is made due."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.github.wait_for_deliveries()
            moved = self.worker.work_once() + self.core.run_outbox_once()
            with self.base.database.reading() as connection:
                waiting = self.base_outbox_waiting(connection)
            if moved == 0 and waiting == 0:
                return
            if moved == 0:
                self.clock.move(seconds=3)
        raise TimeoutError("the bot does not come to rest")

    @staticmethod
    def base_outbox_waiting(connection: Any) -> int:
        """How many effects wait."""
        from bot import outbox

        return outbox.waiting_count(connection)

    # --- GitHub -----------------------------------------------------------------------------------

    def review(
        self, number: int, login: str, event: str = "APPROVE", commit: str | None = None
    ) -> httpx2.Response:
        """Somebody's review."""
        body = {"event": event, "body": "because"} | ({"commit_id": commit} if commit else {})
        answer = self.github.as_user(login).post(f"/repos/acme/infra/pulls/{number}/reviews", json=body)
        answer.raise_for_status()
        return answer

    def get(self, path: str) -> Any:
        """What a person sees of the repository through the API."""
        answer = self.github.as_user("carol").get(f"/repos/acme/infra{path}")
        answer.raise_for_status()
        return answer.json()

    def status_comments(self, number: int) -> list[str]:
        """The bot's comments on a pull request."""
        return [
            comment["body"]
            for comment in self.get(f"/issues/{number}/comments")
            if comment["user"]["id"] == self.app.bot.id
        ]

    def push(self, branch: str, files: Mapping[str, bytes | str | None], author: str = "carol") -> str:
        """Somebody's commit on a branch."""
        return str(self.github.world.push(self.repository, branch, files, author=author))

    # --- Database ---------------------------------------------------------------------------------

    def request(self, request_id: str) -> Request:
        """A request as it stands in the database."""
        with self.base.database.reading() as connection:
            return request_store.need(connection, request_id)

    def events(self, request_id: str | None = None) -> list[Event]:
        """The audit trail, of one request or whole."""
        return [event for page in self.base.audit.pages(request_id) for event in page]

    def kinds(self, request_id: str) -> list[str]:
        """The kinds of a request's audit events, in order."""
        return [event.kind.value for event in self.events(request_id)]

    def check_chain(self) -> None:
        """The whole audit chain holds."""
        with self.base.database.reading() as connection:
            tip = self.base.audit.tip(connection)
        assert audit.verify(self.events(), tip=tip) == ()


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent at the bot's door."""

    client: httpx2.Client

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> httpx2.Response:
        """Calls a tool; the answer as it came."""
        body = {
            "tool": tool,
            "arguments": dict(arguments or {}),
            "agent": "editor",
            "reason": "because the user asked",
            "expect": None,
            "source": None,
            "idempotency_key": None,
            "wait_seconds": 0,
            **more,
        }
        return self.client.post("/api/v1/requests", json=body)

    def apply(self, module: str = "demo", text: str | None = "changed", **more: Any) -> dict[str, Any]:
        """Asks for an apply of a module, with an edit of it unless `text` is None."""
        if text is not None:
            content = f'resource "terraform_data" "service" {{\n  input = "{text}"\n}}\n'
            more.setdefault("source", {"files": {f"terraform/{module}/main.tf": content}})
        answer = self.call("terraform_apply", {"module": module}, **more)
        assert answer.status_code == 200, answer.text
        view: dict[str, Any] = answer.json()
        return view

    def view(self, request_id: str, **query: Any) -> dict[str, Any]:
        """One request."""
        answer = self.client.get(f"/api/v1/requests/{request_id}", params=query)
        assert answer.status_code == 200, answer.text
        view: dict[str, Any] = answer.json()
        return view

    def cancel(self, request_id: str) -> httpx2.Response:
        """Takes a request back."""
        return self.client.post(f"/api/v1/requests/{request_id}/cancel")


@contextmanager
def living(folder: Path, *, limits: Limits | None = None, policy: str | None = None) -> Iterator[LivingBot]:
    """A bot for one test."""
    with simulator.running(data=folder / "github") as github:
        world = github.world
        for login in PEOPLE:
            world.add_user(login)
        world.add_organization("acme", members=PEOPLE)
        repository = world.add_repository("acme", "infra", files=FILES)
        for login in PEOPLE:
            world.grant_access(repository, login, "push")
        app = world.add_app("ownergate", permissions=PERMISSIONS, owner="acme", events=EVENTS)
        installation = world.install(app, "acme", repositories=[repository])
        receipt_key = Ed25519PrivateKey.generate()
        chosen = _settings(folder, github, app, installation.id, receipt_key, policy)
        clock = ShiftedClock()
        base = service.lay(chosen, clock=clock)
        core = Core(
            database=base.database,
            audit=base.audit,
            policy=base.policy,
            github_app=base.github_app,
            identity=base.identity,
            clock=clock,
            notifier=base.notifier,
            settings=chosen,
            grant_key=base.grant_key,
            receipt_keys=base.receipt_keys,
            limits=limits,
        )
        whole = service.assemble(base, core, routers=(agents.router, runners.router, operators.router))
        inbox, worker = whole.threads[0], whole.threads[1]
        assert isinstance(worker, InboxWorker)
        inbox.start()
        with _serving(whole.application) as url:
            world.set_webhook(app, f"{url}/webhooks/github", SECRET)
            bot = LivingBot(
                folder=folder,
                github=github,
                repository=repository,
                app=app,
                clock=clock,
                base=base,
                core=core,
                worker=worker,
                url=url,
                receipt_key=receipt_key,
            )
            try:
                yield bot
                assert github.violations == []
            finally:
                world.set_webhook(app, None, None)
                for client in bot.clients:
                    client.close()
                inbox.stop(2)
                base.database.close()


def reopened_audit(bot: LivingBot) -> AuditLog:
    """The audit log as a freshly started bot opens it."""
    log = AuditLog(bot.base.database, bot.base.settings.audit_tip_file)
    log.open(at=bot.clock.now())
    return log


def _settings(
    folder: Path,
    github: Simulator,
    app: App,
    installation_id: int,
    receipt_key: Ed25519PrivateKey,
    policy: str | None,
) -> settings.BotSettings:
    home = folder / "bot"
    home.mkdir()
    grant_key = Ed25519PrivateKey.generate()
    _secret(home / "app.pem", app.private_key_pem.encode())
    _secret(home / "webhook", SECRET.encode())
    _secret(
        home / "grant.pem",
        grant_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
    (home / "receipts.pem").write_bytes(
        receipt_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    text = policy if policy is not None else POLICY.read_text()
    (home / "policy.yaml").write_text(text)
    (home / "bot.yaml").write_text(
        yaml.safe_dump(
            {
                "data": "./data",
                "policy": "./policy.yaml",
                "repository": "acme/infra",
                "github": {
                    "api_url": github.url,
                    "app_id": app.id,
                    "installation_id": installation_id,
                    "private_key_file": "./app.pem",
                    "webhook_secret_files": ["./webhook"],
                    "polling_seconds": 1,
                },
                "grant_key_file": "./grant.pem",
                "receipt_keys_file": "./receipts.pem",
            }
        )
    )
    (home / "data").mkdir()
    return settings.load(home / "bot.yaml")


def _secret(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)


@contextmanager
def _serving(application: Any) -> Iterator[str]:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    configuration = uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
        # A loaded machine may pause a test for longer than the usual five seconds.
        timeout_keep_alive=120,
    )
    server = uvicorn.Server(configuration)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until = time.monotonic() + 10
    while not server.started:
        if time.monotonic() > until:
            raise RuntimeError("the bot did not start to listen")
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()
