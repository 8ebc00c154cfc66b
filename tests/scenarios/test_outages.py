"""A part that is away, sealed, missing or different: what is told, and that nothing is done half."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo import processes
from demo.people import wait_for
from demo.stage_files import changed
from runner.lease.vault_calls import VaultCalls
from runner.secret_bytes import SecretBytes
from tests.scenarios.product import Product, call

BEGAN = "sandbox.started"


def reached(ownergate: Product, request_id: str, kind: str) -> None:
    """Waits until a request's trail holds an event of that kind."""
    wait_for(lambda: kind in ownergate.kinds(request_id), f"{kind} of {request_id}", seconds=60)


def begin(ownergate: Product, tool: str) -> str:
    """Starts a read call and doesn't wait for it."""
    with ownergate.rest(ownergate.running.stage.agent_token_file) as http:
        return str(http.post("/api/v1/requests", json=call(tool, {})).raise_for_status().json()["id"])


@contextmanager
def sealed(ownergate: Product) -> Iterator[None]:
    ownergate.running.openbao.seal()
    try:
        yield
    finally:
        ownergate.running.openbao.unseal()


def test_openbao_down_at_issue(ownergate: Product) -> None:
    with ownergate.to_openbao.cut():
        answer = ownergate.agent.call("sandbox_report")
        if not answer.data["final"]:
            answer = ownergate.agent.wait(answer.data["id"])
    assert answer.data["state"] == "refused"
    assert answer.data["refusal"]["code"] == "vault_unreachable"
    assert BEGAN not in ownergate.kinds(answer.data["id"])
    assert ownergate.agent.call("sandbox_report").data["state"] == "succeeded"


def test_openbao_sealed(ownergate: Product) -> None:
    with sealed(ownergate):
        answer = ownergate.agent.call("sandbox_report")
        if not answer.data["final"]:
            answer = ownergate.agent.wait(answer.data["id"])
    assert answer.data["state"] == "refused"
    assert answer.data["refusal"]["code"] == "vault_sealed"
    assert ownergate.agent.call("sandbox_report").data["state"] == "succeeded"


def test_openbao_down_at_revoke_withholds_the_output(ownergate: Product) -> None:
    request_id = begin(ownergate, "patient")
    reached(ownergate, request_id, BEGAN)
    with ownergate.to_openbao.cut():
        answer = ownergate.agent.wait(request_id)
    assert answer.data["result"] is None or answer.data["result"]["output"] == ""
    assert "withheld" in answer.text
    # With OpenBao back, the sweeper ends the lease.
    assert_no_leases(ownergate, "patient")


def assert_no_leases(ownergate: Product, role: str) -> None:
    """Waits until OpenBao knows no lease of a role."""
    bao = ownergate.running.openbao
    calls = VaultCalls(bao.address)
    client = calls.client(SecretBytes(bao.root_token.encode()))

    def none() -> bool:
        listed = client.list(f"sys/leases/lookup/pki/issue/{role}")
        return listed is None or not listed["data"]["keys"]

    wait_for(none, f"the end of the leases of {role}", seconds=90)


def test_a_runner_that_can_not_read_github_claims_nothing(ownergate: Product) -> None:
    asked = ownergate.ask()
    with ownergate.to_github.cut():
        ownergate.people["alice"].approve(asked.number, asked.head)
        ownergate.agent.wait(asked.id, "granted")
        wait_for(
            lambda: "could not begin" in ownergate.agent.check(asked.id).text, "the runner's word", seconds=60
        )
        kinds = ownergate.kinds(asked.id)
        assert "grant.claimed" not in kinds
        assert "credential.requested" not in kinds[kinds.index("grant.issued") :]
    assert ownergate.agent.wait(asked.id, "succeeded").data["state"] == "succeeded"


def test_github_away_for_the_bot_delays_and_never_approves(ownergate: Product) -> None:
    asked = ownergate.ask()
    ownergate.running.github.faults.fail(502, times=10**6, path="/repos/*", method="GET")
    try:
        with_token = ownergate.github("alice")
        review = {"event": "APPROVE", "commit_id": asked.head}
        # The people's own calls meet the same fault before they are carried out only for GET.
        with_token.post(ownergate.path(f"/pulls/{asked.number}/reviews"), json=review).raise_for_status()
        time.sleep(3)
        assert ownergate.agent.check(asked.id).data["state"] == "pending"
    finally:
        ownergate.running.github.faults.clear()
    ownergate.agent.wait(asked.id, "succeeded")


@contextmanager
def another_runner(ownergate: Product, name: str, **changes: Any) -> Iterator[Path]:
    """The settings of another runner, with a data folder of its own, some of them changed."""
    places = ownergate.running.places
    usual = yaml.safe_load(places.runner_config.read_text())
    own = {"name": name, "data": f"data-{name}", "sandbox": {"scratch": str(places.scratch / name)}}
    path = places.runner / f"{name}.yaml"
    path.write_text(yaml.safe_dump(changed(changed(usual, own), changes)))
    try:
        yield path
    finally:
        path.unlink()
        shutil.rmtree(places.runner / f"data-{name}", ignore_errors=True)


def does_not_start(*command: str, environment: dict[str, str] | None = None) -> str:
    """Runs a command that must fail, and returns what it said."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=environment or dict(os.environ)
    )
    assert done.returncode != 0, done.stdout
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("runsc", "said"),
    [("/no/such/runsc", "/no/such/runsc"), ("/bin/true", "gVisor")],
    ids=["missing", "not gVisor"],
)
def test_without_gvisor_no_runner_starts(ownergate: Product, runsc: str, said: str) -> None:
    with another_runner(ownergate, "without-gvisor", sandbox={"runsc": runsc}) as path:
        assert said in does_not_start(processes.OWNERGATE, "runner", "--config", str(path))


def test_without_terraform_no_image_is_built(ownergate: Product, tmp_path: Path) -> None:
    declaration = ownergate.running.places.data.parent / "no-terraform.yaml"
    text = (Path(__file__).parents[2] / "images/tools/host.yaml").read_text()
    declaration.write_text(text.replace("  terraform: >-", "  terraform-of-nobody: >-", 1))
    said = does_not_start(
        *(processes.OWNERGATE, "image", "build", str(declaration), "--images", str(tmp_path / "images"))
    )
    assert "terraform-of-nobody" in said
    assert "apt-get install -y terraform" in said, "the command that installs it"


def test_a_runner_with_another_policy_gets_no_work(ownergate: Product, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(ownergate.running.policy.read_text().replace("grant: 30m", "grant: 29m", 1))
    with another_runner(ownergate, "another-policy", policy=str(other)) as path:
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(
                [processes.OWNERGATE, "runner", "--config", str(path)],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            status = wait_for(
                lambda: (now := ownergate.agent.call("sandbox_status")).text.count("ANOTHER POLICY") and now,
                "the other runner",
                seconds=60,
            )
            assert "another-policy" in status.text
            assert ownergate.agent.call("sandbox_report").data["state"] == "succeeded"
        finally:
            processes.kill_group(process.pid)
            process.wait()


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def empty(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text("")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (empty("webhook-secret"), "the webhook secret"),
        (without("grant-key.pem"), "the grant key"),
    ],
    ids=["empty webhook secret", "no signing key"],
)
def test_the_bot_does_not_start_without(
    ownergate: Product, tmp_path: Path, harm: Callable[[Path], object], said: str
) -> None:
    folder = tmp_path / "bot"
    shutil.copytree(ownergate.running.places.bot, folder, ignore=shutil.ignore_patterns("data"))
    shutil.copy(ownergate.running.policy, folder / "policy.yaml")
    config = yaml.safe_load((folder / "bot.yaml").read_text())
    (folder / "bot.yaml").write_text(yaml.safe_dump(config | {"policy": "policy.yaml"}))
    harm(folder)
    heard = does_not_start(processes.OWNERGATE, "bot", "run", "--config", str(folder / "bot.yaml"))
    assert said in heard
