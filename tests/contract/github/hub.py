"""The GitHub under test: who can call it, and where."""

import base64
import itertools
import ssl
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

import httpx2
import jwt

COUNTER = itertools.count(1)


@dataclass
class Hub:
    """A repository with three people and an App, in the simulator or at GitHub.

    ``author`` and ``reviewer`` can write, ``admin`` administers the repository and its organization,
    ``team`` is the slug of a team whose only member is the reviewer and which can write.
    """

    url: str
    owner: str
    repo: str
    team: str
    tokens: dict[str, str]
    logins: dict[str, str]
    app_id: str
    app_key: str
    real: bool
    now: float | None = None
    clients: dict[str | None, httpx2.Client] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"/repos/{self.owner}/{self.repo}"

    def client(self, token: str | None) -> httpx2.Client:
        headers = {
            "user-agent": "ownergate-conformance",
            "accept": "application/vnd.github+json",
            "x-github-api-version": "2022-11-28",
        }
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        if token not in self.clients:
            verify = True if self.real else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self.clients[token] = httpx2.Client(
                base_url=self.url, headers=headers, timeout=30, trust_env=self.real, verify=verify
            )
        return self.clients[token]

    def person(self, role: str) -> httpx2.Client:
        return self.client(self.tokens[role])

    def jwt(self, **changes: Any) -> str:
        now = int(time.time())
        claims = {"iss": self.app_id, "iat": now - 30, "exp": now + 300} | changes
        return jwt.encode(claims, self.app_key, algorithm="RS256")

    def installation_id(self) -> int:
        found = self.client(self.jwt()).get(f"{self.path}/installation")
        found.raise_for_status()
        number: int = found.json()["id"]
        return number

    def bot(self, **asked: Any) -> httpx2.Client:
        path = f"/app/installations/{self.installation_id()}/access_tokens"
        made = self.client(self.jwt()).post(path, json=asked)
        made.raise_for_status()
        return self.client(made.json()["token"])

    def main(self) -> str:
        found = self.person("admin").get(f"{self.path}/git/ref/heads/main").json()
        sha: str = found["object"]["sha"]
        return sha

    def branch(self, role: str = "author", start: str | None = None) -> str:
        """A new branch with one new file on it; returns its name."""
        name = f"probe/{next(COUNTER)}-{uuid.uuid4().hex[:8]}"
        asked = {"ref": f"refs/heads/{name}", "sha": start or self.main()}
        self.person(role).post(f"{self.path}/git/refs", json=asked).raise_for_status()
        self.commit(name, f"{name.replace('/', '-')}.txt", "new\n", role=role)
        return name

    def commit(self, branch: str, path: str, text: str, role: str = "author") -> str:
        """Put a new file on a branch; returns the commit's SHA."""
        content = base64.b64encode(text.encode()).decode()
        asked = {"message": f"Add {path}", "content": content, "branch": branch}
        made = self.person(role).put(f"{self.path}/contents/{path}", json=asked)
        made.raise_for_status()
        sha: str = made.json()["commit"]["sha"]
        return sha

    def pull(self, branch: str | None = None, **more: Any) -> dict[str, Any]:
        """A new pull request of the author."""
        asked = {"title": "Probe", "head": branch or self.branch(), "base": "main", "body": "A probe."} | more
        made = self.person("author").post(f"{self.path}/pulls", json=asked)
        assert made.status_code == 201, made.text
        found: dict[str, Any] = made.json()
        return found

    def settled(self, path: str, wanted: str, role: str = "admin") -> dict[str, Any]:
        """Read until a field is not null, as GitHub computes some later."""
        for _ in range(30):
            found: dict[str, Any] = self.person(role).get(path).json()
            if found.get(wanted) is not None:
                return found
            time.sleep(1 if self.real else 0.01)
        raise AssertionError(f"{path} never had {wanted}")
