"""The agent's server as an editor starts it: `ownergate mcp` over stdio, against the running bot."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from demo import processes
from policy import policy_file
from tests.scenarios.product import Product

OWN = {"check_request", "cancel_request", "list_requests", "sandbox_status"}


def test_an_editor_sees_the_policys_tools_and_four_of_ours(ownergate: Product) -> None:
    declared = set(policy_file.load(ownergate.running.policy.read_bytes()).tools)
    seen = ownergate.agent.tools()
    assert set(seen) == declared | OWN
    assert len(seen) == len(set(seen))
    assert not [name for name in seen if "approve" in name]


def test_its_own_tools_tell_how_things_stand(ownergate: Product) -> None:
    asked = ownergate.ask()
    listed = ownergate.agent.call("list_requests")
    assert asked.id in listed.text
    assert "isolation proved at" in ownergate.agent.call("sandbox_status").text
    cancelled = ownergate.agent.call("cancel_request", request_id=asked.id)
    assert cancelled.data["state"] == "cancelled"
    assert cancelled.data["next_action"] == "none"


def test_it_does_not_start_with_a_token_that_others_can_read(ownergate: Product, tmp_path: Path) -> None:
    stage = ownergate.running.stage
    open_to_all = tmp_path / "token"
    open_to_all.write_text(Path(stage.agent_token_file).read_text())
    open_to_all.chmod(0o644)
    done = subprocess.run(
        [processes.OWNERGATE, "mcp", "--bot-url", stage.bot_url, "--token-file", str(open_to_all)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert open_to_all.read_text().strip() not in done.stderr
