"""Leases from a real OpenBao: taken, used, revoked, seen dead; and every way that can fail."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from policy.refusal import Code, Refused
from runner.lease import ocsp
from runner.lease.interface import NotRevoked, RunnerLogin, StillPowerful
from runner.lease.openbao import OpenBaoLeases
from tests import leases
from tests.leases import World, grant_login, read_lease, write_lease


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with leases.world(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture
def world(shared: World, tmp_path: Path) -> World:
    return dataclasses.replace(shared, folder=tmp_path)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[World]:
    """A world that the test may break."""
    with leases.world(tmp_path) as made:
        yield made


def test_a_lease_lives_and_dies(world: World) -> None:
    journal = world.journal()
    broker = world.broker(journal)
    recorded: list[str] = []
    lease = read_lease(broker, record=recorded.append)
    assert recorded == [lease.lease_id]
    assert lease.lease_id.startswith("pki/issue/show/")
    assert set(lease.files) == {"certificate.pem", "key.pem", "ca.pem"}
    assert 590 <= (lease.expires_at - lease.issued_at).total_seconds() <= 600
    certificate = x509.load_pem_x509_certificate(lease.files["certificate.pem"].reveal())
    issuer = x509.load_pem_x509_certificate(lease.files["ca.pem"].reveal())
    assert leases.READ_NAME in certificate.subject.rfc4514_string()
    assert leases.READ_NAME in lease.scope
    assert ocsp.standing(world.calls, "pki", certificate, issuer) is ocsp.Standing.GOOD
    (entry,) = journal.entries()
    assert (entry.lease_id, entry.call_id) == (lease.lease_id, "call-1")

    broker.revoke(lease.lease_id)
    assert broker.powerless(lease, timeout_seconds=5) < 5
    assert ocsp.standing(world.calls, "pki", certificate, issuer) is ocsp.Standing.REVOKED
    assert journal.entries() == ()


def test_nothing_shows_the_key(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    broker = world.broker()
    lease = read_lease(broker)
    (secret,) = lease.secrets
    body = secret.reveal().decode().splitlines()[1]
    print(lease, repr(lease), f"{lease}", broker._in_use, list(lease.files.values()))
    shown = capsys.readouterr().out
    stored = "".join(path.read_text() for path in world.folder.rglob("*") if path.is_file())
    assert body not in shown
    assert body not in stored
    assert "s." not in shown.replace("seconds.", "")
    broker.revoke(lease.lease_id)


def test_the_login_is_spent_afterwards(world: World) -> None:
    broker = world.broker()
    lease = read_lease(broker)
    (session,) = broker._in_use.values()
    broker.revoke(lease.lease_id)
    with pytest.raises(Refused) as refused:
        world.calls.write(session.client, "auth/token/revoke-self", {})
    assert refused.value.refusal.code is Code.VAULT_REFUSED


def test_revoking_twice_is_fine(world: World) -> None:
    broker = world.broker()
    lease = read_lease(broker)
    broker.revoke(lease.lease_id)
    broker.revoke(lease.lease_id)
    broker.powerless(lease.lease_id, timeout_seconds=5)


def test_another_process_can_revoke_what_is_in_the_journal(world: World) -> None:
    lease = read_lease(world.broker())
    other = world.broker()
    other.revoke(lease.lease_id)
    other.powerless(lease.lease_id, timeout_seconds=5)
    assert world.journal().entries() == ()


def test_a_lease_that_was_not_revoked_is_still_powerful(world: World) -> None:
    broker = world.broker()
    lease = read_lease(broker)
    with pytest.raises(StillPowerful, match="good") as refused:
        broker.powerless(lease, timeout_seconds=0.2)
    assert refused.value.lease_id == lease.lease_id
    assert world.journal().entries() != ()
    broker.revoke(lease.lease_id)


def test_a_lease_nobody_knows_is_not_called_dead(world: World) -> None:
    with pytest.raises(StillPowerful, match="journal"):
        world.broker().powerless("pki/issue/show/unknown", timeout_seconds=1)


def test_a_destructive_lease_needs_a_grant(world: World) -> None:
    broker = world.broker()
    lease = write_lease(broker, grant_login(world.grant()))
    broker.revoke(lease.lease_id)
    broker.powerless(lease, timeout_seconds=5)
    logins = [
        RunnerLogin(role="grant-apply"),
        RunnerLogin(role="read-show"),
        grant_login(world.grant(tool="show")),
        grant_login(world.grant(target="prod")),
        grant_login(world.grant(iss="ownergate:repository:2")),
        grant_login(world.grant(aud="else")),
        grant_login(world.grant(exp=1)),
        grant_login(dataclasses.replace(world, bot_key=world.runner_key).grant()),
        grant_login(world.identity.token()),
    ]
    for login in logins:
        with pytest.raises(Refused) as refused:
            write_lease(broker, login)
        assert refused.value.refusal.code is Code.VAULT_REFUSED
    assert world.journal().entries() == ()


def test_a_name_outside_the_role_is_refused_and_leaves_nothing(world: World) -> None:
    with pytest.raises(Refused) as refused:
        read_lease(world.broker(), common_name="apply.demo.ownergate.internal")
    assert refused.value.refusal.code is Code.VAULT_REFUSED
    assert world.journal().entries() == ()


def test_a_lease_shorter_than_the_call_is_refused_and_dead(world: World) -> None:
    with pytest.raises(Refused) as refused:
        read_lease(world.broker(), ttl_seconds=3600)
    assert refused.value.refusal.code is Code.LEASE_TOO_SHORT
    assert world.journal().entries() == ()


def test_parameters_that_would_not_be_enforced_are_refused(world: World) -> None:
    with pytest.raises(Refused, match="namespace"):
        read_lease(world.broker(), parameters={"namespace": "prod"})


def test_when_the_audit_refuses_the_lease_is_dead(world: World) -> None:
    def refuse(lease_id: str) -> None:
        raise RuntimeError(lease_id)

    journal = world.journal()
    broker = world.broker(journal)
    with pytest.raises(RuntimeError) as stopped:
        read_lease(broker, record=refuse)
    assert journal.entries() == ()
    with pytest.raises(StillPowerful):
        broker.powerless(str(stopped.value), timeout_seconds=0.1)


def test_a_journal_that_cannot_be_written_hands_nothing_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = world.journal()

    def full(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("runner.durable_files.replace", full)
    with pytest.raises(Refused, match="No space left") as refused:
        read_lease(world.broker(journal))
    assert refused.value.refusal.code is Code.LEASE_NOT_RECORDED


def test_a_role_without_lease_is_refused(own: World) -> None:
    role = next(write for write in leases.layout(own) if write.path == "pki/roles/show")
    own.calls.write(own.operator, role.path, {**role.payload, "generate_lease": False})
    with pytest.raises(Refused, match="nobody could revoke it") as refused:
        read_lease(own.broker())
    assert refused.value.refusal.code is Code.VAULT_ANSWER_INVALID


def test_down_at_issue(own: World) -> None:
    own.server.stop()
    with pytest.raises(Refused) as refused:
        read_lease(own.broker())
    assert refused.value.refusal.code is Code.VAULT_UNREACHABLE
    assert own.journal().entries() == ()


def test_sealed_at_issue(own: World) -> None:
    own.server.seal()
    with pytest.raises(Refused) as refused:
        read_lease(own.broker())
    assert refused.value.refusal.code is Code.VAULT_SEALED
    assert "unseal" in refused.value.refusal.remedy


def test_sealed_at_revoke_keeps_the_lease_in_the_journal(own: World) -> None:
    broker = own.broker()
    lease = read_lease(broker)
    own.server.seal()
    with pytest.raises(NotRevoked) as refused:
        broker.revoke(lease.lease_id)
    assert refused.value.cause is Code.VAULT_SEALED
    assert refused.value.refusal.code is Code.LEASE_NOT_REVOKED
    with pytest.raises(StillPowerful):
        broker.powerless(lease, timeout_seconds=0.1)
    assert [entry.lease_id for entry in own.journal().entries()] == [lease.lease_id]


def test_down_at_revoke_keeps_the_lease_in_the_journal(own: World) -> None:
    broker = own.broker()
    lease = read_lease(broker)
    own.server.stop()
    for _ in range(2):
        with pytest.raises(NotRevoked) as refused:
            broker.revoke(lease.lease_id)
        assert refused.value.cause is Code.VAULT_UNREACHABLE
        assert refused.value.lease_id == lease.lease_id
    assert [entry.lease_id for entry in own.journal().entries()] == [lease.lease_id]


def test_the_engine_wrote_down_who_did_what(own: World) -> None:
    broker: OpenBaoLeases = own.broker()
    lease = read_lease(broker)
    broker.revoke(lease.lease_id)
    lines = [json.loads(line) for line in own.server.audit_log.read_text(encoding="utf-8").splitlines()]
    paths = [line["request"]["path"] for line in lines if line["type"] == "request"]
    assert [p for p in paths if "show" in p or p.startswith(("auth/jwt-runner/login", "sys/leases"))][
        -3:
    ] == [
        "auth/jwt-runner/login",
        "pki/issue/show",
        "sys/leases/revoke",
    ]
