"""Rounds: over and over, at once when woken, and never ended by what goes wrong in one."""

from __future__ import annotations

import logging
import threading

import pytest

import evidence
from bot.rounds import Round
from policy.refusal import Code, refuse

TROUBLE: list[Exception] = [
    refuse(Code.GITHUB_UNAVAILABLE, "GitHub: it is down", rule="A rule.", remedy="A remedy."),
    evidence.Unavailable("a page is missing"),
    ValueError("a mistake"),
]


def test_it_goes_on_after_every_kind_of_trouble(caplog: pytest.LogCaptureFixture) -> None:
    left, done = TROUBLE[:], threading.Event()

    def work() -> None:
        if left:
            raise left.pop(0)
        done.set()

    caplog.set_level(logging.WARNING)
    rounds = Round("reconciler", work, seconds=0.01)
    rounds.start()
    assert done.wait(10)
    rounds.stop(5)
    assert "GitHub: it is down" in caplog.text
    assert "a page is missing" in caplog.text
    assert "reconciler failed and will be tried again" in caplog.text


def test_it_comes_at_once_when_it_is_woken() -> None:
    came = threading.Semaphore(0)
    rounds = Round("outbox", came.release, seconds=60)
    rounds.start()
    assert came.acquire(timeout=10)
    rounds.wake()
    assert came.acquire(timeout=10)
    rounds.stop(5)
    rounds.wake()
    assert not came.acquire(timeout=0.05)


def test_stopping_waits_for_the_round_that_is_under_way() -> None:
    entered, leave, left = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        entered.set()
        leave.wait(10)
        left.set()

    rounds = Round("reconciler", work, seconds=60)
    rounds.start()
    assert entered.wait(10)
    threading.Timer(0.05, leave.set).start()
    rounds.stop(10)
    assert left.is_set()
