"""Processes of the host, named so that a reused id is never taken for the old process.

A process is its id and its start time in clock ticks since boot, field 22 of `/proc/<pid>/stat`
(proc_pid_stat(5)).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of this host since its boot."""

    pid: int
    started_ticks: int

    def runs(self) -> bool:
        """Whether it is still there, and not a zombie."""
        return identify(self.pid) == self

    def kill(self) -> None:
        """Sends SIGKILL to exactly this process; one that is gone is fine."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            descriptor = os.pidfd_open(self.pid)
            try:
                # The descriptor now names one process for good; is it still the one that was meant?
                if self.runs():
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)


def parse_stat(line: str) -> Process | None:
    """Reads one line of `/proc/<pid>/stat`; None for a zombie or a dead process, or another text."""
    # The name stands in parentheses and may hold anything, so fields count from the last one.
    start, _, rest = line.rpartition(")")
    fields = rest.split()
    if len(fields) < 20 or fields[0] in ("Z", "X", "x"):
        return None
    return Process(pid=int(start.split(" ", 1)[0]), started_ticks=int(fields[19]))


def identify(pid: int) -> Process | None:
    """The process that has this id now; None when there is none or only a zombie."""
    try:
        return parse_stat(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def descendants(pid: int) -> frozenset[int]:
    """Ids of all processes below this one, as the kernel lists them at this moment."""
    found: set[int] = set()
    pending = [pid]
    while pending:
        parent = pending.pop()
        try:
            threads = list(Path(f"/proc/{parent}/task").iterdir())
        except OSError:
            continue
        for thread in threads:
            try:
                children = set(map(int, (thread / "children").read_text(encoding="ascii").split()))
            except OSError:
                continue
            pending += children - found
            found |= children
    return frozenset(found)


def family(pid: int) -> frozenset[Process]:
    """A process and all its descendants, identified."""
    return frozenset(
        process for member in descendants(pid) | {pid} if (process := identify(member)) is not None
    )


def wait_gone(family: Iterable[Process], *, seconds: float) -> frozenset[Process]:
    """Waits until all of them are gone; returns those that are not after that time."""
    until = time.monotonic() + seconds
    left = frozenset(process for process in family if process.runs())
    while left and time.monotonic() < until:
        time.sleep(0.002)
        left = frozenset(process for process in left if process.runs())
    return left
