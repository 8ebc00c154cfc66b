"""What a sandbox is asked, what it answers, and the protocol that every home implements.

Homes: `runner.sandbox.runsc` on this host; a Kubernetes Job implements the same protocol.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from policy import tools
from policy.refusal import Code, Refusal, Refused
from runner.secret_bytes import SecretBytes

Limits = tools.Limits

WORK = "/work"
"""The work folder as the tool sees it."""

STATE = "/state"
"""The state folder as the tool sees it."""

CREDENTIAL = "/run/credential"
"""The lease's files as the tool sees them, in steps that name the credential."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCall:
    """One program to run.

    Attributes:
        argv: the program and its arguments; no shell reads them.
        cwd: absolute folder inside the sandbox.
        environment: variables beside the image's own and the fixed PATH, HOME, TMPDIR and LANG.
        credential: whether the lease's files are there while it runs.
    """

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    credential: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMount:
    """A folder of the host that appears at `STATE`; hostile code may have written what is in it."""

    folder: Path
    writable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOut:
    """A file that the tool leaves for us: `path` below the work folder, at most `max_bytes`."""

    path: str
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCall:
    """One call: its steps share a work folder, and each is a sandbox of its own.

    Attributes:
        id: unique, letters, digits, `_` and `-`, at most 64.
        image: name of the image.
        steps: in order; the first that fails ends the call.
        limits: for all steps together where time and output are concerned.
        files: content of the work folder by path below it; regular files with mode 0644.
        take_out: files read when the steps are over; one that is missing or not a plain file is left
            out of the outcome.
        state: the folder at `STATE`, or None.
        credential: the lease's files by name, or None. Steps that do not ask never see them.
    """

    id: str
    image: str
    steps: tuple[StepCall, ...]
    limits: Limits
    files: Mapping[str, bytes]
    take_out: tuple[TakeOut, ...]
    state: StateMount | None
    credential: Mapping[str, SecretBytes] | None


class Ended(StrEnum):
    """How a call ended."""

    EXITED = "exited"
    """The steps ran to their own end; the last one's exit code says how."""
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    SANDBOX_FAILED = "sandbox_failed"
    """The sandbox did not start, was not gVisor's, crashed, or a limit ended it: `reason` says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """One step that was started.

    Attributes:
        argv: as called.
        exit_code: the tool's, 128 + n when signal n ended it; None when the sandbox was killed or
            failed.
        output: standard output and error in the order written, without what was cut.
        cut_bytes: how many bytes are missing from `output`.
        cut_at: where in `output` they are missing; its length when nothing is.
        started_at, ended_at: when the sandbox was asked for and when it was gone.
    """

    argv: tuple[str, ...]
    exit_code: int | None
    output: bytes
    cut_bytes: int
    cut_at: int
    started_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOutcome:
    """How a call ended. When there is one, no process of the call is left.

    Attributes:
        ended: the kind of end.
        steps: those that were started, in order.
        taken_out: the files asked for that were there, by path.
        kernel: the kernel that the first step reported before its tool started; empty when none did.
        image_sha256: digest of the image that was used.
        reason: a sentence when `ended` is not `EXITED`; empty otherwise.
    """

    ended: Ended
    steps: tuple[StepOutcome, ...]
    taken_out: Mapping[str, bytes]
    kernel: str
    image_sha256: str
    reason: str

    @property
    def succeeded(self) -> bool:
        """Whether every step ran and exited with 0."""
        return self.ended is Ended.EXITED and all(step.exit_code == 0 for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One thing that was tried to prove isolation, and what was seen."""

    name: str
    seen: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What `check` proved.

    Attributes:
        home: for example `runsc`, `runsc (rootless)`.
        kernel: the kernel that a sandbox reported.
        version: the sandbox program's own version.
        trials: each thing tried; all hold, else there is no proof.
        enforcement: for each limit, what enforces it here, in words.
        proved_at: when.
    """

    home: str
    kernel: str
    version: str
    trials: tuple[Trial, ...]
    enforcement: Mapping[str, str]
    proved_at: datetime


class NotIsolated(Refused):
    """No sandbox here can be believed; the runner takes no work. Code `sandbox_not_isolated`."""


class StillRunning(Refused):
    """Processes of a call could not be confirmed gone: its lease must not be taken for dead.

    Code `sandbox_still_running`.
    """

    def __init__(self, call_id: str, what: str) -> None:
        super().__init__(
            Refusal(
                code=Code.SANDBOX_STILL_RUNNING,
                what=f"the end of the call {call_id}: {what}",
                rule="A call is over only when all its processes are seen to be gone.",
                remedy="Look at the processes named on the runner's host and end them.",
            )
        )
        self.call_id = call_id


class Sandbox(Protocol):
    """A home for calls. Methods may be used from several threads."""

    def check(self) -> Proof:
        """Tries to break out in the ways that matter, and returns what was seen.

        Raises:
            NotIsolated: when anything does not hold.
            Refused: `program_missing`, `image_invalid`: what to install or build is named.
        """
        ...

    def image_sha256(self, image: str) -> str:
        """The digest of an image as it is now.

        Raises:
            Refused: `image_invalid`, `image_changed`.
        """
        ...

    def run(
        self, call: SandboxCall, *, started: Callable[[str], None], cancelled: threading.Event
    ) -> SandboxOutcome:
        """Runs the steps in order and returns when all their processes are gone.

        Args:
            call: what to run.
            started: called once with the kernel, when the first step reports it, before its tool runs
                on; what it raises ends the call and is raised again.
            cancelled: when set, the running tool gets SIGTERM and its grace.

        Raises:
            Refused: `sandbox_call_invalid`, `image_invalid`, `image_changed`: nothing was started.
            StillRunning: when the end can't be confirmed.
        """
        ...

    def alive(self) -> frozenset[str]:
        """Ids of the calls of which a process may still run, whoever started them."""
        ...

    def destroy(self, call_id: str) -> None:
        """Kills what is left of a call, confirms that it is gone and removes its folders.

        Raises:
            StillRunning: when it can't be confirmed gone.
        """
        ...
