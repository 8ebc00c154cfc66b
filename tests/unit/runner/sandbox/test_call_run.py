"""The sandbox of the next step boots while one step runs, and nothing of that step happens before."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from runner.sandbox.interface import Ended, StateMount
from runner.sandbox.runsc import RunscSandbox
from tests.sandboxes import call, run, shell, step, text


def test_a_step_sees_its_folder_as_the_step_before_left_it(sandbox: RunscSandbox) -> None:
    swap = "sleep 1; mv /work/module /work/old && mkdir /work/module && echo new >/work/module/file"
    outcome = run(
        sandbox,
        call(shell(swap), step("cat", "file", cwd="/work/module"), files={"module/file": b"old\n"}),
    )
    assert outcome.succeeded, outcome.reason
    assert text(outcome) == "new\n"


def test_a_step_whose_folder_is_gone_does_not_run(sandbox: RunscSandbox) -> None:
    outcome = run(
        sandbox,
        call(shell("rm -r /work/module"), step("pwd", cwd="/work/module"), files={"module/file": b""}),
    )
    assert not outcome.succeeded
    assert len(outcome.steps) == 2
    assert outcome.steps[1].exit_code not in (0, None)


def test_a_step_after_a_failed_one_never_runs_and_leaves_nothing(
    sandbox: RunscSandbox, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    state = StateMount(folder=tmp_path, writable=True)
    outcome = run(sandbox, call(step("cat", "/none"), shell("echo ran >/state/ran"), state=state))
    assert len(outcome.steps) == 1
    assert not (tmp_path / "ran").exists()
    assert sandbox.alive() == frozenset()
    assert sandbox.runsc.containers() == ()


def test_cancelling_one_step_ends_the_one_that_waits(sandbox: RunscSandbox, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    cancelled = threading.Event()
    timer = threading.Timer(1.0, cancelled.set)
    timer.start()
    state = StateMount(folder=tmp_path, writable=True)
    outcome = sandbox.run(
        call(step("sleep", "20"), shell("echo ran >/state/ran"), state=state),
        started=lambda kernel: None,
        cancelled=cancelled,
    )
    timer.join()
    assert outcome.ended is Ended.CANCELLED
    assert not (tmp_path / "ran").exists()
    assert sandbox.alive() == frozenset()
    assert sandbox.runsc.containers() == ()


def test_a_waiting_step_ends_when_the_one_before_could_not_be_recorded(sandbox: RunscSandbox) -> None:
    def refuse(kernel: str) -> None:
        raise RuntimeError("the audit trail can't be written")

    with pytest.raises(RuntimeError, match="audit trail"):
        sandbox.run(call(step("pwd"), step("pwd")), started=refuse, cancelled=threading.Event())
    assert sandbox.alive() == frozenset()
    assert sandbox.runsc.containers() == ()
