"""The proof of isolation: it holds with the real runsc, and fails when something does not hold."""

from __future__ import annotations

import pytest

from runner.sandbox import canary, isolation
from runner.sandbox.interface import NotIsolated
from runner.sandbox.runsc import RunscSandbox


def test_every_trial_holds(sandbox: RunscSandbox) -> None:
    proof = sandbox.check()
    assert proof.kernel.startswith("Linux version 4.4.0")
    assert proof.version.startswith("runsc version")
    assert {trial.name for trial in proof.trials} >= {
        "kernel",
        "sandbox process",
        "no network",
        "read-only root and credential",
        "credential only where asked",
        "no capabilities",
        "deadline",
        "limit of memory",
        "limit of processes",
        "limit of the work folder",
    }
    assert all(trial.holds and trial.seen for trial in proof.trials)
    assert set(proof.enforcement) == {"memory", "cpu", "processes", "work", "time", "output"}
    assert sandbox.alive() == frozenset()


def test_a_canary_that_cannot_be_reached_is_no_closed_network(
    sandbox: RunscSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canary.Canary, "reach", lambda self, address: None)
    (trial,) = isolation._network(sandbox, "tools")
    assert not trial.holds
    assert "canary" in trial.seen


def test_the_trials_that_fail_are_named(sandbox: RunscSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(home: object, image: str) -> list[isolation.Trial]:
        return [isolation.Trial(name="no network", seen="reached-127.0.0.1", holds=False)]

    for name in ("_deadline", "_inside", "_outside", "_processes", "_memory", "_work"):
        monkeypatch.setattr(isolation, name, lambda home, image: [])
    monkeypatch.setattr(isolation, "_network", broken)
    with pytest.raises(NotIsolated, match=r"no network: reached-127\.0\.0\.1"):
        sandbox.check()
