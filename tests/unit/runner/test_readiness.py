"""Work is taken only on a proof, and only on a fresh one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from policy.refusal import Code, Refusal
from runner.readiness import STALE_AFTER, Readiness
from runner.sandbox.interface import NotIsolated, Proof
from tests.unit.runner.examples import NOW

PERIOD = 600


class Tried:
    """A sandbox of which only the proof is asked for."""

    def __init__(self, *answers: Proof | NotIsolated) -> None:
        self.answers = list(answers)

    def check(self) -> Proof:
        answer = self.answers.pop(0)
        if isinstance(answer, NotIsolated):
            raise answer
        return answer


def a_proof(at: datetime = NOW) -> Proof:
    return Proof(home="runsc", kernel="4.4.0", version="1", trials=(), enforcement={}, proved_at=at)


def not_isolated() -> NotIsolated:
    why = Refusal(code=Code.SANDBOX_NOT_ISOLATED, what="it reached the network", rule="No.", remedy="Look.")
    return NotIsolated(why)


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


def readiness(*answers: Proof | NotIsolated) -> tuple[Readiness, Clock]:
    clock = Clock()
    sandbox: Any = Tried(*answers)
    return Readiness(sandbox, period_seconds=PERIOD, now=clock), clock


def test_nothing_is_proved_before_the_first_proof() -> None:
    ready, _ = readiness()
    assert isinstance(ready.current(), Refusal)


def test_a_proof_counts_until_a_later_one_fails_and_again_after_one_holds() -> None:
    ready, _ = readiness(a_proof(), not_isolated(), a_proof())
    assert ready.prove() == ready.current() == a_proof()
    failed = ready.prove()
    assert isinstance(failed, Refusal)
    assert failed.what == "it reached the network"
    assert ready.current() == failed
    ready.prove()
    assert ready.current() == a_proof()


def test_an_old_proof_is_none() -> None:
    ready, clock = readiness(a_proof())
    ready.prove()
    clock.now = NOW + timedelta(seconds=STALE_AFTER * PERIOD)
    assert isinstance(ready.current(), Proof)
    clock.now += timedelta(seconds=1)
    stale = ready.current()
    assert isinstance(stale, Refusal)
    assert "too long ago" in stale.what
