"""A runner that is killed leaves sandboxes that the next one sees and ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from runner.sandbox import runsc_program
from runner.sandbox.runsc import RunscSandbox
from tests.sandboxes import call, run, scratch_folder, step, text

RUNNER = """
import sys, threading
from pathlib import Path
from tests import sandboxes
from runner.sandbox.runsc import RunscSandbox
images, scratch, runsc = map(Path, sys.argv[1:4])
home = RunscSandbox(images=images, scratch=scratch, runsc=runsc)
steps = [sandboxes.shell("trap '' TERM HUP PIPE; while :; do sleep 1; done")]
report = lambda kernel: print(kernel, flush=True)
home.run(sandboxes.call(*steps, call_id="orphan"), started=report, cancelled=threading.Event())
"""

ROOT = Path(__file__).parents[4]


def test_what_a_finished_call_left_is_cleared_at_the_next_start(images: Path) -> None:
    with scratch_folder() as scratch:
        (scratch / "left-over/credential").mkdir(mode=0o700, parents=True)
        scratch.chmod(0o700)
        (scratch / "left-over/credential/key.pem").write_text("secret", encoding="utf-8")
        sandbox = RunscSandbox(images=images, scratch=scratch, runsc=runsc_program.find())
        assert [path.name for path in scratch.iterdir()] == [".runsc"]
        assert sandbox.alive() == frozenset()


def test_a_killed_runners_sandbox_is_alive_until_it_is_destroyed(images: Path) -> None:
    runsc = runsc_program.find()
    with scratch_folder() as scratch:
        runner = subprocess.Popen(
            [sys.executable, "-c", RUNNER, images, scratch, runsc], stdout=subprocess.PIPE, cwd=ROOT
        )
        assert runner.stdout is not None
        assert b"4.4.0" in runner.stdout.readline()
        time.sleep(0.2)
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        runner.stdout.close()

        sandbox = RunscSandbox(images=images, scratch=scratch, runsc=runsc)
        assert sandbox.alive() == {"orphan"}
        # Another call is not disturbed, and does not disturb.
        assert text(run(sandbox, call(step("printf", "other")))) == "other"
        assert sandbox.alive() == {"orphan"}
        sandbox.destroy("orphan")
        assert sandbox.alive() == frozenset()
        assert [path.name for path in scratch.iterdir()] == [".runsc"]
        sandbox.destroy("orphan")
