"""One run of benchmarks: where progress goes, and the product that they share, started at first need."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from demo import stage
from demo.stage import Stage

START_SECONDS = 180.0
"""How long the stage may take to come up; it applies Terraform once and proves the sandbox."""

END_SECONDS = 40.0


class CannotMeasure(Exception):  # noqa: N818  A state of this machine.
    """Something that a benchmark needs is not there; the text says what."""


class Run:
    """Shared by all benchmarks of one run."""

    def __init__(self, resources: contextlib.ExitStack, say: Callable[[str], None]) -> None:
        """Takes what ends everything that was started, and who prints a line of progress."""
        self._resources = resources
        self._stage: Stage | None = None
        self.say = say

    def stage(self) -> Stage:
        """The whole product on this machine: simulator of GitHub, OpenBao, bot, runner (`demo.stage`).

        Raises:
            CannotMeasure: when it does not come up.
        """
        if self._stage is None:
            self.say("starting the product (simulator of GitHub, OpenBao, bot, runner) ...")
            self._stage = self._resources.enter_context(_running())
        return self._stage

    def folder(self) -> Path:
        """A new empty folder that goes at the end of the run."""
        return Path(self._resources.enter_context(tempfile.TemporaryDirectory(prefix="ownergate-bench-")))


@contextlib.contextmanager
def started(say: Callable[[str], None]) -> Iterator[Run]:
    """A run; everything that it started is ended with it."""
    with contextlib.ExitStack() as resources:
        yield Run(resources, say)


@contextlib.contextmanager
def _running() -> Iterator[Stage]:
    with tempfile.TemporaryDirectory(prefix="ownergate-bench-") as folder, contextlib.ExitStack() as ending:
        data = Path(folder, "stage")
        log = Path(folder, "stage.log")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "demo.stage", "--data", str(data)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        ending.callback(_end, process)
        over = threading.Event()
        for _ in range(int(START_SECONDS / 0.1)):
            if (built := stage.load(data)) is not None:
                break
            if process.poll() is not None:
                raise CannotMeasure(f"The product did not start:\n{log.read_text('utf-8', 'replace')}")
            over.wait(0.1)
        else:
            raise CannotMeasure(f"The product did not start within {START_SECONDS:.0f} seconds.")
        yield built


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
