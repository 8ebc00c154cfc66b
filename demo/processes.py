"""Child processes of the demo: started with a log file, waited for, ended together."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

STOP_SECONDS = 15.0

OWNERGATE = str(Path(sys.executable).with_name("ownergate"))
"""The command line of this virtual environment."""


class DidNotStart(Exception):  # noqa: N818  It says what did not come up.
    """A part of the demo did not come up; the text holds the end of its log."""


class Children:
    """The processes that the stage has started, newest last."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        logs.mkdir(parents=True, exist_ok=True)
        self._running: list[tuple[str, subprocess.Popen[bytes]]] = []

    def start(
        self, name: str, command: Sequence[str], *, ready: Callable[[], bool], seconds: float = 40.0
    ) -> None:
        """Starts a process and returns when `ready` says so.

        Raises:
            DidNotStart: when it ends before, or isn't ready in time.
        """
        log = self._logs / f"{name}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        self._running.append((name, process))
        until = time.monotonic() + seconds
        while not ready():
            if process.poll() is not None or time.monotonic() > until:
                end = log.read_text("utf-8", "replace")[-3000:]
                raise DidNotStart(f"{name} did not start. The end of its log ({log}):\n{end}")
            time.sleep(0.05)

    def end(self) -> None:
        """Ends all of them, the newest first: SIGTERM, then SIGKILL for what doesn't listen."""
        while self._running:
            _, process = self._running.pop()
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    kill_group(process.pid)
                    process.wait()


def kill_group(pid: int) -> None:
    """Kills a process and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def run(*command: str) -> str:
    """Runs a command to its end and returns what it printed.

    Raises:
        DidNotStart: when it fails, with what it said.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DidNotStart(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout
