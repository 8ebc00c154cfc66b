"""What a crash leaves behind is revoked when its sandbox is gone, and never before."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from policy.refusal import Refused
from runner.lease import ocsp, sweeping
from runner.lease.journal import Entry
from runner.lease.sweeping import Swept, sweep
from tests import leases
from tests.leases import World, read_lease


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with leases.world(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture
def world(shared: World, tmp_path: Path) -> World:
    return dataclasses.replace(shared, folder=tmp_path)


def swept(world: World, *alive: str) -> Swept:
    journal = world.journal()
    return sweep(world.broker(journal), journal, alive=lambda: alive, now=datetime.now(UTC))


def standing(world: World, entry: Entry) -> ocsp.Standing:
    assert entry.certificate is not None
    assert entry.issuer is not None
    certificate, issuer = (
        x509.load_pem_x509_certificate(pem.encode()) for pem in (entry.certificate, entry.issuer)
    )
    return ocsp.standing(world.calls, entry.mount, certificate, issuer)


CRASH = """
import os, sys
from pathlib import Path
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from runner.lease import vault_calls
from runner.lease.identity import RunnerIdentity
from runner.lease.journal import LeaseJournal
from runner.lease.openbao import OpenBaoLeases
from tests import leases

address, folder, point = sys.argv[1:4]
key = load_pem_private_key(sys.stdin.buffer.read(), None)
journal = LeaseJournal(Path(folder))
calls = vault_calls.VaultCalls(address)
broker = OpenBaoLeases(
    calls, identity=RunnerIdentity(key, issuer=leases.RUNNER_ISSUER, pool=leases.POOL), journal=journal
)

def stop():
    os.kill(os.getpid(), 9)

if point == "before issue":
    intend = journal.intend
    journal.intend = lambda **named: (intend(**named), stop())
elif point == "after issue":
    # The engine has answered; nothing of the answer was written down.
    journal.record = lambda *named, **more: stop()
lease = leases.read_lease(broker, call_id="crashed", record=lambda lease_id: point == "recorded" and stop())
if point == "in use":
    stop()
broker.revoke(lease.lease_id)
stop()
"""


def crash(world: World, point: str) -> None:
    key = world.runner_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    done = subprocess.run(
        [sys.executable, "-c", CRASH, world.server.address, str(world.folder / "leases"), point],
        input=key,
        cwd=Path(__file__).parents[4],
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def live_leases(world: World, role: str) -> list[str]:
    answer = world.operator.list(f"sys/leases/lookup/pki/issue/{role}")
    return list(answer["data"]["keys"]) if answer else []


@pytest.mark.parametrize("point", ["before issue", "after issue", "recorded", "in use", "revoked"])
def test_killed_at_any_point_nothing_stays_alive(world: World, point: str) -> None:
    before = live_leases(world, "show")
    crash(world, point)
    (entry,) = world.journal().entries()
    assert (entry.lease_id is None) is (point in ("before issue", "after issue"))
    assert len(live_leases(world, "show")) - len(before) == (0 if point in ("before issue", "revoked") else 1)

    kept = swept(world, "crashed")
    assert [k.why for k in kept.kept] == ["its sandbox still runs"]
    assert kept.ended == ()
    if entry.lease_id is not None and point != "revoked":
        assert standing(world, entry) is ocsp.Standing.GOOD

    done = swept(world)
    assert [ended.id for ended in done.ended] == [entry.id]
    assert done.kept == ()
    assert world.journal().entries() == ()
    assert live_leases(world, "show") == before
    if entry.lease_id is not None:
        assert standing(world, entry) is ocsp.Standing.REVOKED


def test_what_this_process_uses_is_left_alone(world: World) -> None:
    journal = world.journal()
    broker = world.broker(journal)
    lease = read_lease(broker)
    found = sweep(broker, journal, alive=frozenset, now=datetime.now(UTC))
    assert [kept.why for kept in found.kept] == ["this runner is using it"]
    broker.revoke(lease.lease_id)
    assert len(sweep(broker, journal, alive=frozenset, now=datetime.now(UTC)).ended) == 1


def test_the_living_are_asked_for_after_the_journal_was_read(world: World) -> None:
    journal = world.journal()
    read_lease(world.broker(journal), call_id="first")

    def alive() -> list[str]:
        read_lease(world.broker(journal), call_id="second")
        return ["first"]

    found = sweep(world.broker(journal), journal, alive=alive, now=datetime.now(UTC))
    assert found.ended == ()
    assert {entry.call_id for entry in journal.entries()} == {"first", "second"}
    assert len(swept(world).ended) == 2


def test_a_lease_that_is_over_is_forgotten_without_the_engine(world: World) -> None:
    journal = world.journal()
    read_lease(world.broker(journal))
    later = datetime.now(UTC) + timedelta(hours=1)
    offline = dataclasses.replace(world, server=NoServer())
    found = sweep(offline.broker(journal), journal, alive=frozenset, now=later)
    assert len(found.ended) == 1
    assert journal.entries() == ()
    world.operator.write_data("sys/leases/revoke-force/pki/issue/show", data={})


def test_with_the_engine_down_leases_stay(world: World) -> None:
    journal = world.journal()
    read_lease(world.broker(journal))
    offline = dataclasses.replace(world, server=NoServer())
    found = sweep(offline.broker(journal), journal, alive=frozenset, now=datetime.now(UTC))
    assert found.ended == ()
    assert "can't be reached" in found.kept[0].why
    assert len(swept(world).ended) == 1


def test_a_journal_that_cannot_be_read_stops_the_sweep(world: World) -> None:
    journal = world.journal()
    (world.folder / "leases" / f"{'0' * 32}.json").write_text("{", encoding="utf-8")
    with pytest.raises(Refused):
        sweep(world.broker(journal), journal, alive=frozenset, now=datetime.now(UTC))


def test_without_the_right_to_end_logins_an_intention_waits_for_its_own_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash(world, "before issue")
    journal = world.journal()
    broker = world.broker(journal)

    def forbidden(entry: Entry) -> None:
        world.calls.write(world.calls.client(), "auth/token/revoke-accessor", {"accessor": entry.accessor})

    monkeypatch.setattr(broker, "end_login_of", forbidden)
    found = sweeping.sweep(broker, journal, alive=frozenset, now=datetime.now(UTC))
    assert len(found.kept) == 1
    later = datetime.now(UTC) + timedelta(hours=1)
    assert len(sweeping.sweep(broker, journal, alive=frozenset, now=later).ended) == 1


@dataclasses.dataclass
class NoServer:
    """An address where nothing listens."""

    address: str = "http://127.0.0.1:9"
