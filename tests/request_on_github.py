"""One request at the simulator of GitHub: an organisation, its owners, the App's pull request."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evidence import GitHubReader
from evidence.app_client import AppClients
from github_simulator.seeding import App, Installation, Repository
from github_simulator.simulator import Simulator
from policy import manifest as manifests
from policy import request_files
from policy.approval import CommitEvidence, Requirement
from policy.facts import Facts
from policy.manifest import Base, Manifest, Requester
from policy.manifest import Repository as ManifestRepository
from tests.approval_facts import BODY, RENDERING, SOURCE, a_manifest, a_requirement, source_of

CODEOWNERS = "# who decides\n/terraform/web/ @acme/platform\n/terraform/db/ @bob\n"
FILES = {
    ".github/CODEOWNERS": CODEOWNERS,
    "README.md": "# infra\n",
    "terraform/web/main.tf": "# as it was\n",
    "terraform/db/main.tf": "# db\n",
}
PEOPLE = ("alice", "bob", "carol", "agent-owner", "mallory")
PERMISSIONS = {
    "contents": "write",
    "pull_requests": "write",
    "checks": "write",
    "members": "read",
    "metadata": "read",
}


@dataclass(slots=True, kw_only=True)
class Forge:
    """A running simulator with the organisation acme, its repository infra and both Apps."""

    github: Simulator
    repository: Repository
    bot: App
    bot_installation: Installation
    bot_clients: AppClients
    runner_clients: AppClients
    opened: int = 0

    def reader(self) -> GitHubReader:
        """A reader as the runner has it: with an App that can only read."""
        return GitHubReader(
            self.runner_clients.client(),
            repository="acme/infra",
            app_id=self.bot.id,
            app_user_id=self.bot.bot.id,
        )

    def as_bot(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One call by the bot's App on the repository."""
        requester = self.bot_clients.client().requester
        return requester.requestJsonAndCheck(
            method, f"/repos/acme/infra{path}", input=dict(body) if body is not None else None
        )[1]

    def id(self, login: str) -> int:
        """A person's number."""
        return self.github.world.account(login).id

    def tip(self, branch: str = "main") -> str:
        """The commit of a branch."""
        sha = self.github.world.resolve(self.github.world.repository(self.repository), branch)
        if sha is None:
            raise KeyError(branch)
        return sha

    def push(self, branch: str, files: Mapping[str, bytes | str | None], **how: Any) -> str:
        """Somebody's commit on a branch."""
        return self.github.world.push(self.repository, branch, files, **{"author": "bob", **how})

    def review(self, number: int, login: str, event: str = "APPROVE", commit: str | None = None) -> int:
        """Somebody's review; returns its number."""
        body = {"event": event, "body": "because"} | ({"commit_id": commit} if commit else {})
        answer = self.github.as_user(login).post(f"/repos/acme/infra/pulls/{number}/reviews", json=body)
        answer.raise_for_status()
        return int(answer.json()["id"])

    def edit(self, number: int, login: str, **changes: Any) -> None:
        """Somebody edits the pull request."""
        self.github.as_user(login).patch(f"/repos/acme/infra/pulls/{number}", json=changes).raise_for_status()

    def open_request(
        self, files: Mapping[str, bytes] = SOURCE, *, also: Mapping[str, bytes] | None = None, **changes: Any
    ) -> Opened:
        """The App opens a request that changes these source files; `also` changes more than it should."""
        base = self.tip()
        self.opened += 1
        plain = a_manifest(
            id=f"og-{self.opened:026d}",
            base=Base(ref="main", sha=base),
            repository=ManifestRepository(id=self.repository.id, name="acme/infra"),
            requester=Requester(agent="editor", person_id=self.id("agent-owner"), login="agent-owner"),
            source=source_of(files),
        )
        plain = replace(plain, **changes)
        own = request_files.paths(plain)
        committed = {
            **files,
            own.manifest: manifests.encode(plain),
            own.rendering: RENDERING,
            **(also or {}),
        }
        entries = [
            {"path": path, "mode": "100644", "type": "blob", "sha": self._blob(content)}
            for path, content in committed.items()
        ]
        tree = self.as_bot("POST", "/git/trees", {"base_tree": base, "tree": entries})["sha"]
        commit = self.as_bot("POST", "/git/commits", {"message": "Ask", "tree": tree, "parents": [base]})
        head = commit["sha"]
        self.as_bot("POST", "/git/refs", {"ref": f"refs/heads/ownergate/{plain.id}", "sha": head})
        pull = self.as_bot(
            "POST",
            "/pulls",
            {"title": "Replace web", "head": f"ownergate/{plain.id}", "base": "main", "body": BODY},
        )
        return Opened(forge=self, number=pull["number"], manifest=plain, head=head, source=dict(files))

    def _blob(self, content: bytes) -> str:
        body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
        return str(self.as_bot("POST", "/git/blobs", body)["sha"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A request that the App opened."""

    forge: Forge
    number: int
    manifest: Manifest
    head: str
    source: Mapping[str, bytes]

    def facts(self, witnessed: Mapping[int, str] | None = None) -> Facts:
        """What a reader reads now."""
        return self.forge.reader().collect(self.number, manifest=self.manifest, witnessed=witnessed or {})

    def requirement(self, **changes: Any) -> Requirement:
        """What the runner requires."""
        runner = a_requirement(
            self.manifest,
            source=self.source,
            head_sha=self.head,
            barred=frozenset({self.manifest.requester.person_id}),
            app_user_id=self.forge.bot.bot.id,
            body=None,
            commit_evidence=CommitEvidence.ONLY_COMMIT,
        )
        return replace(runner, **changes)
