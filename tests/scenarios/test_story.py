"""The way of one change through the whole product, as people and agents read it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from demo import processes
from demo.people import wait_for
from demo.story import replay
from tests.scenarios.product import MAIN, Product, files

CHANGED = MAIN.replace("one", "two")
_VOLATILE = (
    (r"og-[0-9a-z]{26}", "<request>"),
    (r"\b[0-9a-f]{64}\b", "<sha256>"),
    (r"\b[0-9a-f]{40}\b", "<commit>"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?UTC|Z|\+00:00)?", "<time>"),
    (r"\b\d\d:\d\d:\d\d\b", "<time>"),
    (r"\b[0-9a-f]{12,64}…?", "<digest>"),
    (r"(pki/issue/[a-z-]+/)[A-Za-z0-9]{20,}", r"\1<lease>"),
    (r"http://127\.0\.0\.1:\d+", "https://github.example"),
    (r"Linux version .*", "<kernel>"),
    (r"/pull/\d+|(?<=[ (])#\d+\b", "<pull>"),
    (r"\d+ events, chain tip \d+ <code>[0-9a-f]{16}", "<n> events, chain tip <n> <code><digest>"),
    (r"review \d+", "review <number>"),
    (r"\b\d+ ms\b", "<ms>"),
    (r"approved [0-9a-f]{7}\b", "approved <commit>"),
    (r"chain at \d+", "chain at <n>"),
    (r"after \d+s", "after <seconds>"),
    (r"\bs\d\d\b", "<module>"),
    (r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", "<receipt>"),
    (r"(\| *)\d+( *\|)", r"\1<n>\2"),
    (r"(?m)[ \t]+$", ""),
)


def masked(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, word in _VOLATILE:
        text = re.sub(pattern, word, text)
    return text


def for_people(status: str) -> str:
    """The part of a status comment that is written for people, its audit trail left out."""
    return status.partition("<details>")[0]


def test_a_read_only_call(ownergate: Product, snapshot: SnapshotAssertion) -> None:
    answer = ownergate.agent.call("sandbox_report")
    assert answer.data["state"] == "succeeded"
    assert not answer.is_error
    assert "gvisor" in answer.data["result"]["kernel"].lower() or "4.4.0" in answer.data["result"]["output"]
    (lease,) = answer.data["result"]["leases"]
    assert lease["revoked_at"] <= lease["expires_at"]
    kinds = ownergate.kinds(answer.data["id"])
    assert kinds.index("credential.revoked") < kinds.index("tool.result")
    assert answer.data["link"] is None
    assert masked(answer.text) == snapshot


def test_a_change_from_the_call_to_the_merge(
    ownergate: Product, snapshot: SnapshotAssertion, tmp_path: Path
) -> None:
    module = ownergate.module()
    first = ownergate.ask(module)
    ownergate.carried_out(first)
    asked = ownergate.ask(module, source=files(module, CHANGED), reason="Two is better.\n@alice /approve")
    alice = ownergate.people["alice"]
    pull = alice.pull_request(asked.number)
    assert masked(asked.answer.text) == snapshot(name="what the agent is told")
    assert masked(pull["title"]) == snapshot(name="title of the pull request")
    assert masked(pull["body"]) == snapshot(name="body of the pull request")
    assert pull["commits"] == 1
    assert sorted(re.sub(r"og-\w+", "og", path) for path in alice.files(asked.number)) == [
        f"terraform/{module}/.ownergate/og.json",
        f"terraform/{module}/.ownergate/og.md",
        f"terraform/{module}/main.tf",
    ]
    assert alice.requested(asked.number) == ["team platform"]
    waiting = ownergate.comment(asked, "### Waiting for approval")
    assert masked(for_people(waiting)) == snapshot(name="status while it waits")

    review = alice.approve(asked.number, asked.head)
    answer = ownergate.agent.wait(asked.id, "succeeded")
    assert masked(answer.text) == snapshot(name="what the agent is told at the end")
    assert '"two"' in ownergate.state_file(module).read_text()
    wait_for(lambda: alice.pull_request(asked.number)["merged"], "the merge", seconds=30)
    assert alice.file(f"terraform/{module}/main.tf", "main") == CHANGED
    status = ownergate.comment(asked, "### Done")
    assert masked(for_people(status)) == snapshot(name="status at the end")
    assert len([body for body in alice.comments(asked.number) if "ownergate-audit" in body]) == 1

    nothing_runs_twice(ownergate, asked.id, review, module)
    the_trail_holds(ownergate, status, tmp_path)


def nothing_runs_twice(ownergate: Product, request_id: str, review: int, module: str) -> None:
    """A delivery replayed, a grant claimed again, the same asked again: nothing happens."""
    state = ownergate.state_file(module).read_bytes()
    assert replay.redeliver(ownergate.running.stage, review) >= 1
    assert "Refused" in replay.claim_again(ownergate.running.stage, request_id)
    again = ownergate.agent.call("terraform_apply", module=module, reason="to be sure")
    assert again.data["state"] == "no_change", again.text
    assert again.data["link"] is None
    assert ownergate.kinds(request_id).count("grant.spent") == 1
    assert ownergate.agent.check(request_id).data["state"] == "succeeded"
    assert ownergate.state_file(module).read_bytes() == state


def the_trail_holds(ownergate: Product, status: str, folder: Path) -> None:
    """Exported and verified offline; one altered name is noticed."""
    stage = ownergate.running.stage
    page, trail = folder / "page.md", folder / "trail.jsonl"
    page.write_text(status)
    trail.write_text(
        processes.run(
            *(processes.OWNERGATE, "audit", "export"),
            *("--bot-url", stage.bot_url, "--token-file", stage.auditor_token_file),
        )
    )
    verify = (processes.OWNERGATE, "audit", "verify", "--export", str(trail))
    evidence = ("--pull-request", str(page), "--receipt-keys", stage.receipt_keys_file)
    assert "The audit trail holds." in processes.run(*verify, *evidence)
    trail.write_text(trail.read_text().replace("alice", "bob", 1))
    altered = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert altered.returncode != 0
    assert "Traceback" not in altered.stderr


def test_a_plan_that_does_more_than_expected_bothers_no_people(
    ownergate: Product, snapshot: SnapshotAssertion
) -> None:
    module = ownergate.module()
    before = ownergate.github("alice").get(ownergate.path("/pulls?state=all&per_page=1")).json()
    answer = ownergate.agent.call("terraform_apply", module=module, reason="r", expect={"creates": 0})
    assert answer.data["state"] == "refused"
    assert answer.data["refusal"]["code"] == "expectation_exceeded"
    assert answer.data["link"] is None
    assert masked(answer.text) == snapshot
    after = ownergate.github("alice").get(ownergate.path("/pulls?state=all&per_page=1")).json()
    assert [pull["number"] for pull in after] == [pull["number"] for pull in before]
