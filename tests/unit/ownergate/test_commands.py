"""The commands that read and decide nothing: policy, audit, keys, image, bot tokens."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from bot import audit_export
from bot.audit_export import Trail
from ownergate.cli import ownergate
from policy import audit, receipt, record, signing
from policy.audit import Event, Kind
from runner import key_files
from tests.unit.policy.examples import NOW, REQUEST_ID, a_receipt

ROOT = Path(__file__).resolve().parents[3]
POLICY = str(ROOT / "policy" / "policy.yaml")
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(ownergate, list(arguments))


def chain(count: int) -> list[Event]:
    events: list[Event] = []
    for index in range(count):
        last = events[-1] if events else None
        events.append(
            audit.link(
                kind=list(Kind)[index],
                request_id=REQUEST_ID,
                at=NOW,
                data={"lease_id": f"pki/issue/x/{index}"},
                tip=last.tip if last else None,
                previous_of_request=last.hash if last else None,
            )
        )
    return events


def exported(tmp_path: Path, events: list[Event]) -> str:
    path = tmp_path / "trail.jsonl"
    path.write_bytes(b"".join(record.encode(event) + b"\n" for event in events))
    return str(path)


def test_the_repositorys_own_policy_is_valid() -> None:
    done = run("policy", "check", "--policy", POLICY, "--json")
    assert done.exit_code == 0
    assert "terraform_apply" in json.loads(done.output)["tools"]


def test_every_mistake_of_a_policy_is_shown_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(Path(POLICY).read_text().replace("required: 1", "required: 0").replace("tier:", "teir:"))
    done = run("policy", "check", "--policy", str(path))
    assert done.exit_code == 1
    assert f"{path}:" in done.output
    assert "tier" in done.output
    mistakes = json.loads(run("policy", "check", "--policy", str(path), "--json").output)["mistakes"]
    assert len(mistakes) > 1
    assert all(mistake["line"] for mistake in mistakes)


def test_a_call_is_explained_for_people_and_for_scripts() -> None:
    call = ("policy", "explain", "--policy", POLICY, "terraform_apply", "module=demo", "--plan", "replaces=2")
    assert "2 owners when plan.replaces > 1" in run(*call).output
    assert json.loads(run(*call, "--json").output)["approval"]["for_plan"]["required"] == 2


def test_expectations_about_a_policy_are_tested(tmp_path: Path) -> None:
    path = tmp_path / "expectations.yaml"
    path.write_text(
        "- {tool: terraform_apply, arguments: {module: demo}, plan: {replaces: 1}, approvals: 1}\n"
        "- {tool: terraform_apply, arguments: {module: ../x}, refused: arguments_invalid}\n"
        "- {tool: sandbox_report, approvals: 0}\n"
    )
    done = run("policy", "test", "--policy", POLICY, str(path))
    assert (done.exit_code, "3 passed, 0 failed" in done.output) == (0, True)
    path.write_text(
        "- {tool: terraform_apply, arguments: {module: demo}, plan: {deletes: 1}, approvals: 1}\n"
    )
    done = run("policy", "test", "--policy", POLICY, str(path))
    assert (done.exit_code, "2 approvals, expected 1" in done.output) == (1, True)


def test_a_trail_that_holds_is_said_to_hold(tmp_path: Path) -> None:
    done = run("audit", "verify", "--export", exported(tmp_path, chain(5)), "--json")
    assert done.exit_code == 0
    assert json.loads(done.output)["holds"] is True


@pytest.mark.parametrize("cut", [slice(1, None), slice(0, 0)])
def test_a_trail_with_a_gap_or_nothing_in_it_does_not_hold(tmp_path: Path, cut: slice) -> None:
    done = run("audit", "verify", "--export", exported(tmp_path, chain(5)[cut]), "--json")
    assert done.exit_code == 1
    assert json.loads(done.output)["faults"]


def comment(tmp_path: Path, events: list[Event], signed: str | None) -> str:
    trail = Trail(request_id=REQUEST_ID, events=tuple(events), tip=events[-1].tip, receipt=signed, omitted=0)
    path = tmp_path / "comment.md"
    path.write_text(f"### Done\n\n{audit_export.block(trail)}\n")
    return str(path)


def keys(tmp_path: Path, key: Ed25519PrivateKey = KEY) -> str:
    path = tmp_path / "keys.pem"
    path.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return str(path)


def test_one_request_is_verified_from_its_pull_request_alone(tmp_path: Path) -> None:
    signed = receipt.sign(a_receipt(), KEY)
    page = comment(tmp_path, chain(4), signed)
    done = run("audit", "verify", "--pull-request", page, "--receipt-keys", keys(tmp_path))
    assert done.exit_code == 0
    assert "succeeded on runner-1, signed" in done.output


def test_a_receipt_by_another_key_is_refused(tmp_path: Path) -> None:
    page = comment(tmp_path, chain(4), receipt.sign(a_receipt(), KEY))
    other = keys(tmp_path, Ed25519PrivateKey.generate())
    assert run("audit", "verify", "--pull-request", page, "--receipt-keys", other).exit_code != 0


def test_a_chain_that_contradicts_the_pull_request_is_noticed(tmp_path: Path) -> None:
    page = comment(tmp_path, chain(4), None)
    cut = exported(tmp_path, chain(3))
    done = run("audit", "verify", "--pull-request", page, "--export", cut)
    assert done.exit_code == 1
    assert "the attested tip is not in the chain" in done.output


def test_events_are_shown_as_lines_and_as_json(tmp_path: Path) -> None:
    path = exported(tmp_path, chain(3))
    assert "lease_id=pki/issue/x/1" in run("audit", "show", "--export", path).output
    lines = run("audit", "show", "--export", path, "--json", REQUEST_ID).output.splitlines()
    assert [audit.parse(line).sequence for line in lines] == [1, 2, 3]
    assert run("audit", "show", "--export", path, "og-" + "z" * 26).exit_code != 0


def test_keys_are_private_usable_and_never_overwritten(tmp_path: Path) -> None:
    private, public = tmp_path / "key.pem", tmp_path / "keys.pem"
    made = run("keys", "signing", "--private", str(private), "--public", str(public))
    assert made.exit_code == 0
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    key = key_files.read_ed25519_private_key(private, what="the key")
    assert signing.key_id(key.public_key()) in made.output
    again = run("keys", "signing", "--private", str(private), "--public", str(public))
    assert again.exit_code == 1
    assert "exists already" in again.output
    assert run("keys", "sealing", str(tmp_path / "sealing.key")).exit_code == 0
    assert len((tmp_path / "sealing.key").read_bytes()) == 32


def test_no_private_key_is_ever_printed(tmp_path: Path) -> None:
    private = tmp_path / "key.pem"
    made = run("keys", "signing", "--private", str(private), "--public", str(tmp_path / "keys.pem"))
    assert private.read_text().splitlines()[1] not in made.output
