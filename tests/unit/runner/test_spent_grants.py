"""A grant is spent once: among threads, processes, crashes, full disks and clocks that move."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from policy.refusal import Code, Refused
from runner.spent_grants import KEPT_PAST_EXPIRY, SpentGrants

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
EXPIRES = NOW + timedelta(minutes=30)


def grant(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def spend(spent: SpentGrants, number: int, *, now: datetime = NOW) -> None:
    spent.spend(grant(number), digest="0" * 64, expires_at=now + timedelta(minutes=30), now=now)


def test_is_spent_once(tmp_path: Path) -> None:
    spent = SpentGrants(tmp_path / "spent")
    assert not spent.is_spent(grant(1))
    spend(spent, 1)
    assert spent.is_spent(grant(1))
    for again in (spent, SpentGrants(tmp_path / "spent")):
        with pytest.raises(Refused) as refused:
            spend(again, 1)
        assert refused.value.refusal.code is Code.GRANT_SPENT
    spend(spent, 2)


RACER = """
import hashlib, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from policy.refusal import Refused
from runner.spent_grants import SpentGrants
spent = SpentGrants(Path(sys.argv[1]))
now = datetime.now(UTC)
print("ready", flush=True)
sys.stdin.readline()
won = []
for number in range(1000):
    try:
        spent.spend(hashlib.sha256(str(number).encode()).hexdigest(), digest="0" * 64,
                    expires_at=now + timedelta(minutes=30), now=now)
        won.append(number)
    except Refused:
        pass
print(*won)
"""


def test_of_sixteen_processes_one_wins_each_of_a_thousand(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, tmp_path / "spent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        for _ in range(16)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    wins: list[int] = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    for racer in racers:
        output, _ = racer.communicate()
        wins += map(int, output.split())
    assert sorted(wins) == list(range(1000))


def test_a_name_that_was_taken_before_a_crash_is_spent(tmp_path: Path) -> None:
    spent = SpentGrants(tmp_path)
    (tmp_path / grant(1)).touch()
    with pytest.raises(Refused) as refused:
        spend(spent, 1)
    assert refused.value.refusal.code is Code.GRANT_SPENT
    assert spent.sweep(NOW + timedelta(days=10_000)) == 0
    assert spent.is_spent(grant(1))


def test_a_disk_that_refuses_means_not_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = SpentGrants(tmp_path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(Refused, match="No space left") as refused:
        spend(spent, 1)
    assert refused.value.refusal.code is Code.GRANT_NOT_RECORDED
    monkeypatch.undo()
    with pytest.raises(Refused) as refused:
        spend(spent, 1)
    assert refused.value.refusal.code is Code.GRANT_SPENT


@pytest.mark.parametrize("bad", ["", "../x", "A" * 64, "0" * 63, "0" * 65, "0" * 63 + "\n"])
def test_an_id_that_is_not_one_is_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(Refused) as refused:
        SpentGrants(tmp_path).spend(bad, digest="0" * 64, expires_at=EXPIRES, now=NOW)
    assert refused.value.refusal.code is Code.GRANT_INVALID
    assert list(tmp_path.iterdir()) == []


def test_sweeps_only_what_expired_long_ago(tmp_path: Path) -> None:
    spent = SpentGrants(tmp_path)
    spend(spent, 1)
    spend(spent, 2, now=NOW + timedelta(days=20))
    assert spent.sweep(EXPIRES + KEPT_PAST_EXPIRY) == 0
    assert spent.sweep(EXPIRES + KEPT_PAST_EXPIRY + timedelta(seconds=1)) == 1
    assert not spent.is_spent(grant(1))
    assert spent.is_spent(grant(2))


def test_a_clock_that_went_back_forgets_nothing(tmp_path: Path) -> None:
    spent = SpentGrants(tmp_path)
    spend(spent, 1)
    spend(spent, 2, now=NOW + timedelta(days=400))
    assert spent.sweep(NOW + timedelta(days=300)) == 0
    assert spent.is_spent(grant(1))
