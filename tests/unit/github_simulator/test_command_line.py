"""A simulator in a process of its own: declared world, control API, clean end."""

import json
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import httpx2
import jwt
import pytest

from github_simulator import simulator
from github_simulator.declared_world import WorldError, seed

ROOT = Path(__file__).resolve().parents[3]
WORLD = """
users: [root, alice, bob]
organizations:
  acme: {admins: [root]}
teams:
  acme/platform: {members: [bob]}
repositories:
  acme/infra:
    files: {CODEOWNERS: "* @acme/platform\\n"}
    folder: module
    access: {alice: push}
    team_access: {acme/platform: push}
    protection: {main: {required_approving_reviews: 1}}
apps:
  ownergate:
    permissions: {contents: read}
    events: [push]
    webhook: {url: "http://127.0.0.1:1/hook", secret_file: secret}
    key_file: app.pem
    install: {acme: [acme/infra]}
"""


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    (tmp_path / "module" / "sub").mkdir(parents=True)
    (tmp_path / "module" / "sub" / "main.tf").write_text("x\n", encoding="utf-8")
    (tmp_path / "secret").write_text("s\n", encoding="utf-8")
    path = tmp_path / "world.yaml"
    path.write_text(WORLD, encoding="utf-8")
    return path


def test_a_process_serves_a_declared_world(declared: Path) -> None:
    command = [sys.executable, "-m", "github_simulator", "--world", str(declared)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with httpx2.Client(base_url=url, headers={"user-agent": "t"}, trust_env=False) as client:
            personas = {one["login"]: one["token"] for one in client.get("/_simulator/personas").json()}
            assert set(personas) == {"root", "alice", "bob"}
            token = {"authorization": f"token {personas['alice']}"}
            assert client.get("/repos/acme/infra/contents/sub/main.tf", headers=token).status_code == 200
            armed = client.post("/_simulator/faults/fail", content=json.dumps({"status": 503, "times": 1}))
            assert armed.json()["armed"] == ["fail_before * * x1"]
            assert [client.get("/user", headers=token).status_code for _ in range(2)] == [503, 200]
            assert client.post("/_simulator/faults/explode").status_code == 404
            assert client.post("/_simulator/faults/fail", content='{"colour": 1}').status_code == 422
            assert client.post("/_simulator/faults/clear").json() == {"armed": []}
            before = client.get("/_simulator/state").json()["now"]
            after = client.post("/_simulator/clock", content='{"advance": 7200}').json()["now"]
            assert after[:13] > before[:13]
            assert client.post("/_simulator/wait_for_deliveries").json() == {"waiting": 0}
            key = (declared.parent / "app.pem").read_text(encoding="utf-8")
            app_id = 400_001
            now = int(datetime.fromisoformat(after).timestamp())
            signed = jwt.encode({"iss": str(app_id), "iat": now, "exp": now + 60}, key, algorithm="RS256")
            assert (
                client.get("/app", headers={"authorization": f"Bearer {signed}"}).json()["slug"]
                == "ownergate"
            )
        assert (declared.parent / "app.pem").stat().st_mode & 0o777 == 0o600
        process.send_signal(signal.SIGTERM)
        _, complaints = process.communicate(timeout=15)
        assert (process.returncode, complaints) == (0, "")
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("usrs: [a]", "known: apps, organizations, repositories, teams, users"),
        ("repositories: {acme/x: {prvate: true}}", "known: access"),
        ("repositories: {nobody/x: {}}", "no account 'nobody'"),
        ("users: [a, a]", "the login a is taken"),
        ("users: [", "expected"),
    ],
)
def test_mistakes_in_the_file_are_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(text, encoding="utf-8")
    with simulator.running(data=tmp_path / "data") as github, pytest.raises(WorldError, match=told):
        seed(github.world, path)


def test_help_has_examples() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "github_simulator", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_simulator/personas" in done.stdout
