"""The probes run against the simulator always, and against GitHub with ``GITHUB_E2E=1``.

``GITHUB_E2E_CONFIG`` then names a YAML file with url, owner, repo, team, tokens and logins (author,
reviewer, admin), app_id and app_key_file; docs/simulator.md tells how to prepare the organization.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from github_simulator import simulator
from tests.contract.github.hub import Hub

PERMISSIONS = {
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "write",
    "members": "read",
}
REAL = os.environ.get("GITHUB_E2E") == "1"


@pytest.fixture(autouse=True)
def _only_loopback(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the suite's guard: GitHub may be reached when it was asked for."""
    if not REAL:
        import socket

        connect = socket.socket.connect

        def guarded(self: socket.socket, address: Any) -> None:
            if self.family in {socket.AF_INET, socket.AF_INET6} and address[0] not in {"127.0.0.1", "::1"}:
                raise OSError(f"tests reach only this machine, not {address[0]}")
            connect(self, address)

        monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with simulator.running(data=tmp_path_factory.mktemp("github")) as github:
        world = github.world
        for login in ("admin", "author", "reviewer"):
            world.add_user(login)
        world.add_organization("acme", admins=["admin"])
        world.add_team("acme", "reviewers", members=["reviewer"])
        files = {"CODEOWNERS": "* @acme/reviewers\n", "README.md": "# probes\n"}
        repo = world.add_repository("acme", "probes", files=files, private=False)
        world.grant_access(repo, "author", "push")
        world.grant_team_access(repo, "acme/reviewers", "push")
        app = world.add_app("probe", permissions=PERMISSIONS, owner="acme")
        world.install(app, "acme", repositories=[repo])
        roles = ("admin", "author", "reviewer")
        hub = Hub(
            url=github.url,
            owner="acme",
            repo="probes",
            team="reviewers",
            tokens={role: world.token(role) for role in roles},
            logins={role: role for role in roles},
            app_id=str(app.id),
            app_key=app.private_key_pem,
            real=False,
        )
        with github.lenient():
            yield hub
        for client in hub.clients.values():
            client.close()
        assert github.violations == []


@pytest.fixture(scope="module")
def at_github() -> Iterator[Hub]:
    if not REAL:
        pytest.skip(
            "runs against a real organization with GITHUB_E2E=1 and GITHUB_E2E_CONFIG (docs/simulator.md)"
        )
    path = Path(os.environ["GITHUB_E2E_CONFIG"])
    declared = yaml.safe_load(path.read_text(encoding="utf-8"))
    key = (path.parent / declared.pop("app_key_file")).read_text(encoding="utf-8")
    hub = Hub(**{"url": "https://api.github.com"} | declared, app_key=key, real=True)
    yield hub
    for client in hub.clients.values():
        client.close()


@pytest.fixture(params=["simulator", "github"], scope="module")
def hub(request: pytest.FixtureRequest) -> Hub:
    """The GitHub under test."""
    found: Hub = request.getfixturevalue("simulated" if request.param == "simulator" else "at_github")
    return found
