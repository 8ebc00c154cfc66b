"""The race for a grant, with real processes on one database file."""

from __future__ import annotations

from pathlib import Path

from benchmarks import claim


def test_of_many_processes_each_grant_has_one_winner(tmp_path: Path) -> None:
    outcome = claim.race(tmp_path, processes=6, grants_made=25)
    assert outcome.one_winner_each
    assert sorted(outcome.fences) == list(range(1, 26))
    assert claim.held_locks(tmp_path) == 25
