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
        log = self.log(name)
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

    def process(self, name: str) -> subprocess.Popen[bytes]:
        """The newest process of that name.

        Raises:
            KeyError: when none runs.
        """
        for known, process in reversed(self._running):
            if known == name:
                return process
        raise KeyError(name)

    def log(self, name: str) -> Path:
        """Where its log is."""
        return self._logs / f"{name}.log"

    def kill(self, name: str) -> None:
        """Kills a process and its children at once, as a crash would."""
        process = self._take(name)
        kill_group(process.pid)
        process.wait()

    def stop(self, name: str) -> None:
        """Ends a process: SIGTERM, then SIGKILL when it doesn't listen."""
        _stop(self._take(name))

    def end(self) -> None:
        """Ends all of them, the newest first."""
        while self._running:
            _stop(self._running.pop()[1])

    def _take(self, name: str) -> subprocess.Popen[bytes]:
        process = self.process(name)
        self._running.remove((name, process))
        return process


def _stop(process: subprocess.Popen[bytes]) -> None:
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
