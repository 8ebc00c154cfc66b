"""One small organization on a running simulator, and a receiver of its webhooks."""

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from github_simulator import seeding, simulator

SECRET = "webhook secret"
PERMISSIONS = {
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "write",
    "members": "read",
    "administration": "read",
}
EVENTS = [
    "check_run",
    "create",
    "delete",
    "issue_comment",
    "issues",
    "membership",
    "pull_request",
    "pull_request_review",
    "push",
    "repository",
    "status",
    "team",
]
OWNERS = "* @acme/platform\n/docs/ @carol\n"


@dataclass
class Received:
    """One webhook as it arrived."""

    event: str
    headers: dict[str, str]
    payload: dict[str, Any]
    raw: bytes

    @property
    def name(self) -> str:
        action = self.payload.get("action")
        return f"{self.event}.{action}" if action else self.event


@dataclass
class Receiver:
    """Collects webhooks; ``status`` is what it answers."""

    url: str
    status: int = 202
    got: list[Received] = field(default_factory=list)

    def names(self) -> list[str]:
        return [one.name for one in self.got]

    def last(self, name: str) -> dict[str, Any]:
        return next(one.payload for one in reversed(self.got) if one.name == name)


@dataclass
class Acme:
    """The seeded organization: root administers, alice and bob write, carol owns docs, dave is a stranger."""

    github: simulator.Simulator
    repo: seeding.Repository
    app: seeding.App
    installation: seeding.Installation
    receiver: Receiver

    @property
    def world(self) -> Any:
        return self.github.world

    @property
    def path(self) -> str:
        return f"/repos/{self.repo.full_name}"

    def user(self, login: str) -> httpx2.Client:
        return self.github.as_user(login)

    def app_client(self) -> httpx2.Client:
        return self.github.with_token(self.jwt())

    def jwt(self, **changes: Any) -> str:
        import jwt

        now = int(self.github.clock.now().timestamp())
        claims = {"iss": str(self.app.id), "iat": now - 60, "exp": now + 300} | changes
        return jwt.encode(claims, self.app.private_key_pem, algorithm="RS256")

    def token(self, **asked: Any) -> str:
        answer = self.app_client().post(
            f"/app/installations/{self.installation.id}/access_tokens", json=asked
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["token"])

    def bot(self, **asked: Any) -> httpx2.Client:
        return self.github.with_token(self.token(**asked))

    def pull(self, branch: str = "feature", author: str = "alice", **files: str) -> dict[str, Any]:
        content = {name.replace("__", "/"): text for name, text in files.items()} or {
            f"{branch}.txt": "new\n"
        }
        self.world.push(self.repo, branch, content, author=author)
        asked = {"title": f"Change by {author}", "head": branch, "base": "main", "body": "Please."}
        answer = self.user(author).post(f"{self.path}/pulls", json=asked)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def review(self, number: int, login: str, event: str, body: str = "", **more: Any) -> httpx2.Response:
        asked = {"event": event, "body": body} | more
        return self.user(login).post(f"{self.path}/pulls/{number}/reviews", json=asked)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A webhook receiver on loopback that checks every signature."""
    found = Receiver(url="")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            digest = hmac.new(SECRET.encode(), raw, hashlib.sha256).hexdigest()
            signed = self.headers.get("X-Hub-Signature-256") == f"sha256={digest}"
            if signed:
                found.got.append(
                    Received(self.headers["X-GitHub-Event"], dict(self.headers), json.loads(raw), raw)
                )
            self.send_response(found.status if signed else 401)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def acme(tmp_path: Path, receiver: Receiver) -> Iterator[Acme]:
    """A strict simulator; the test fails on any violation of GitHub's description."""
    with simulator.running(data=tmp_path / "github") as github:
        world = github.world
        for login in ("root", "alice", "bob", "carol", "dave"):
            world.add_user(login)
        world.add_organization("acme", admins=["root"])
        world.add_team("acme", "platform", members=["bob"])
        files = {"CODEOWNERS": OWNERS, "README.md": "# infra\n", "docs/guide.md": "one\ntwo\nthree\n"}
        repo = world.add_repository("acme", "infra", files=files, private=True)
        for login in ("alice", "carol"):
            world.grant_access(repo, login, "push")
        world.grant_team_access(repo, "acme/platform", "push")
        app = world.add_app(
            "ownergate",
            permissions=PERMISSIONS,
            events=EVENTS,
            webhook_url=receiver.url,
            webhook_secret=SECRET,
            owner="acme",
        )
        installation = world.install(app, "acme", repositories=[repo])
        found = Acme(github, repo, app, installation, receiver)
        yield found
        github.wait_for_deliveries()
        assert github.violations == []
