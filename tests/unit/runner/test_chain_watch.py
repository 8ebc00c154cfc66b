"""The memory of the audit chain: only forward, whatever the bot says, across restarts."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from policy.receipt import AuditTip
from policy.refusal import Code, Refused
from runner import chain_watch


def tip(sequence: int, letter: str = "a") -> AuditTip:
    return AuditTip(sequence=sequence, hash=letter * 64)


def test_the_first_tip_is_remembered_across_a_restart(tmp_path: Path) -> None:
    watch = chain_watch.ChainWatch(tmp_path)
    assert watch.remembered is None
    watch.check_poll(None, tip(4), None)
    again = chain_watch.ChainWatch(tmp_path)
    assert again.remembered == tip(4)
    assert stat.S_IMODE((tmp_path / "audit_tip.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("now", "at_asked"),
    [
        pytest.param(tip(3), None, id="shorter"),
        pytest.param(tip(3), tip(4), id="shorter, but claims to hold it"),
        pytest.param(tip(9), None, id="longer, without it"),
        pytest.param(tip(9), tip(4, "b"), id="another event at its place"),
        pytest.param(tip(9), tip(5), id="an event of another place"),
        pytest.param(tip(4, "b"), tip(4, "b"), id="rewritten at the tip"),
    ],
)
def test_a_chain_that_lost_what_was_seen_is_refused(
    tmp_path: Path, now: AuditTip, at_asked: AuditTip | None
) -> None:
    watch = chain_watch.ChainWatch(tmp_path)
    watch.check_poll(None, tip(4), None)
    with pytest.raises(chain_watch.WentBack) as refused:
        watch.check_poll(tip(4), now, at_asked)
    assert refused.value.refusal.code is Code.AUDIT_WENT_BACK
    assert "--accept-audit-restore" in refused.value.refusal.remedy
    assert watch.remembered == tip(4)


def test_growth_is_accepted(tmp_path: Path) -> None:
    watch = chain_watch.ChainWatch(tmp_path)
    watch.check_poll(None, tip(4), None)
    watch.check_poll(tip(4), tip(6, "c"), tip(4))
    assert watch.remembered == tip(6, "c")


def test_answers_may_overtake_each_other_but_not_contradict(tmp_path: Path) -> None:
    watch = chain_watch.ChainWatch(tmp_path)
    watch.see(tip(7))
    watch.see(tip(5))
    assert watch.remembered == tip(7)
    with pytest.raises(chain_watch.WentBack):
        watch.see(tip(7, "b"))


def test_the_operator_accepts_a_restore_and_the_evidence_stays(tmp_path: Path) -> None:
    watch = chain_watch.ChainWatch(tmp_path)
    watch.check_poll(None, tip(40), None)
    let_go = chain_watch.accept_restore(tmp_path, now=datetime(2026, 1, 31, 12, tzinfo=UTC))
    assert let_go == tip(40)
    assert (tmp_path / "audit_tip.let_go.20260131T120000Z.json").exists()
    chain_watch.ChainWatch(tmp_path).check_poll(None, tip(3, "d"), None)
    assert chain_watch.accept_restore(tmp_path / "none", now=datetime(2026, 1, 31, tzinfo=UTC)) is None


def test_a_broken_memory_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "audit_tip.json").write_text('{"sequence": 3')
    with pytest.raises(Refused):
        chain_watch.ChainWatch(tmp_path)
