"""One step from start to confirmed end: starts `runsc`, reads its output, keeps the deadline, kills.

A step is booted, and then run or abandoned. Booted, its sandbox is up and its first process waits for the
word to start the tool; that may be while the step before it still runs, because nothing of the step has
happened yet.

Order of an end by force: SIGTERM to the tool, its grace, then the whole sandbox is killed: by `runsc`,
then process by process. Only when every host process of it is seen to be gone is the step over.
"""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runner.sandbox import first_process, processes
from runner.sandbox.first_process import KernelReport
from runner.sandbox.interface import Ended, StillRunning
from runner.sandbox.limits.interface import Hold
from runner.sandbox.output_cap import OutputCap
from runner.sandbox.output_pipe import OutputPipe
from runner.sandbox.runsc_program import RunscProgram

START_SECONDS = 30.0
"""How long a sandbox may take to report its kernel."""

_LOOK_SECONDS = 0.05
_LIMITS_SECONDS = 0.1
_KILL_SECONDS = 2.0
_GONE_SECONDS = 10.0
_OUTER_SECONDS = 60

# The shell writes down which process it is, joins the control groups, and becomes `timeout`, which
# becomes the parent of `runsc`. `timeout` ends a sandbox whose runner is gone and can't keep the deadline.
_JOIN = (
    'IFS= read -r line <"/proc/$$/stat" && printf "%s\\n" "$line" >"$1" && shift'
    ' && while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done'
    ' && shift && exec "$@"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """What is needed to run one step.

    Attributes:
        runsc: the program.
        call_id: of the call, for errors.
        container: the sandbox's name, unique.
        bundle: folder of the OCI bundle.
        process_file: where the first host process writes who it is.
        log: file for the sandbox program's own log.
        hold: what holds it to its limits.
        watch: looks at limits that the hold doesn't keep; a sentence when one is exceeded.
        grace_seconds: from SIGTERM to the kill.
        seconds_left: from the tool's start to SIGTERM, at most; for the time that `timeout` is given.
        is_sandbox_kernel: whether a reported kernel is the one that must be there.
    """

    runsc: RunscProgram
    call_id: str
    container: str
    bundle: Path
    process_file: Path
    log: Path
    hold: Hold
    watch: Callable[[], str | None]
    grace_seconds: int
    seconds_left: float
    is_sandbox_kernel: Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnd:
    """How a step ended; all its processes are gone. `tool_seconds` counts from the tool's start."""

    ended: Ended
    exit_code: int | None
    kernel: str
    reason: str
    tool_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Booted:
    """A step whose sandbox starts or waits. It must be run or abandoned."""

    step: StepRun
    process: subprocess.Popen[bytes]
    output: OutputPipe


def boot(step: StepRun) -> Booted:
    """Starts a step's sandbox, whose tool then waits for `run`."""
    seconds = int(2 * START_SECONDS + max(step.seconds_left, 0) + 2 * step.grace_seconds + _OUTER_SECONDS)
    argv = [
        *("/bin/sh", "-c", _JOIN, "join", str(step.process_file), *map(str, step.hold.entry()), "--"),
        *("timeout", "--signal=KILL", str(seconds)),
        *step.runsc.run_command(step.container, bundle=step.bundle, log=step.log),
    ]
    # gVisor writes to host files at offsets of its own, so output goes through a pipe, never a file.
    # A session of its own keeps the terminal's Ctrl-C from ending a tool without its grace.
    with OutputPipe() as output:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=output.stdout,
            stderr=output.stderr,
            bufsize=0,
            start_new_session=True,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/"},
        )
    return Booted(step=step, process=process, output=output)


def run(
    booted: Booted,
    cap: OutputCap,
    *,
    seconds_left: float,
    started: Callable[[str], None],
    cancelled: threading.Event,
) -> StepEnd:
    """Runs a booted step to its confirmed end. What `started` raises is raised again, after that end.

    Args:
        booted: the step.
        cap: takes the output.
        seconds_left: from the tool's start to SIGTERM.
        started: gets the kernel when the sandbox is up, before its tool starts.
        cancelled: when set, the tool is asked to stop.

    Raises:
        StillRunning: when processes are left after all that could be done.
    """
    return _Supervision(booted, cap, seconds_left, started, cancelled).run()


def abandon(booted: Booted) -> None:
    """Ends a booted step whose tool never starts, and confirms that nothing is left of it.

    Raises:
        StillRunning: as `run`.
    """
    nothing, never = OutputCap(0), threading.Event()
    _Supervision(booted, nothing, 0.0, lambda kernel: None, never).abandon()


class _Supervision:
    """The state of one step while it runs."""

    def __init__(
        self,
        booted: Booted,
        cap: OutputCap,
        seconds_left: float,
        started: Callable[[str], None],
        cancelled: threading.Event,
    ) -> None:
        self._step = booted.step
        self._process = booted.process
        self._output = booted.output
        self._cap = cap
        self._seconds_left = seconds_left
        self._started = started
        self._cancelled = cancelled
        self._report = KernelReport()
        self._seen: frozenset[processes.Process] = frozenset()
        self._asked_at = time.monotonic()
        self._tool_at: float | None = None
        self._kill_at: float | None = None
        self._looked_at = 0.0
        self._ended = Ended.EXITED
        self._reason = ""

    def run(self) -> StepEnd:
        try:
            self._watch(self._process)
        finally:
            # Whatever happened above, nothing of the sandbox outlives this line.
            exit_code = self._finish(self._process)
        return self._end(exit_code)

    def abandon(self) -> None:
        """Its first process ends by itself when it hears nothing more."""
        self._ended = Ended.CANCELLED
        self._seen = processes.family(self._process.pid)
        self._finish(self._process)

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Reads until the last writer of the output is gone or the kill is due."""
        poller = select.poll()
        poller.register(self._output, select.POLLIN | select.POLLHUP)
        while True:
            if poller.poll(_LOOK_SECONDS * 1000):
                data = self._output.read()
                if not data:
                    return
                self._take(process, data)
            if self._due(process):
                return

    def _take(self, process: subprocess.Popen[bytes], data: bytes) -> None:
        reported = self._report.kernel is not None
        output = self._report.feed(data)
        if self._report.kernel is not None and not reported:
            self._let_go(process, self._report.kernel)
        self._cap.feed(output)

    def _let_go(self, process: subprocess.Popen[bytes], kernel: str) -> None:
        """The sandbox is up and its tool waits: looks at the kernel, then lets it start."""
        if not self._step.is_sandbox_kernel(kernel):
            self._fail(f"the sandbox's kernel is not gVisor's: {kernel[:200]}")
            return
        self._started(kernel)
        self._step.hold.tool_starts()
        self._tool_at = time.monotonic()
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(first_process.GO)
                process.stdin.close()
        # Looked at now, while the tool starts, because it costs a moment.
        self._seen = processes.family(process.pid)

    def _due(self, process: subprocess.Popen[bytes]) -> bool:
        """Looks at clock, cancellation and limits; True when the sandbox is to be killed now."""
        now = time.monotonic()
        if self._failed():
            return True
        if self._kill_at is not None:
            return now >= self._kill_at
        if self._cancelled.is_set():
            return self._terminate(Ended.CANCELLED, "it was cancelled", now)
        if self._tool_at is None:
            if now - self._asked_at > START_SECONDS or self._report.overlong:
                self._fail(
                    f"the sandbox did not start within {START_SECONDS:.0f} seconds: {self._report.before}"
                )
            return self._failed()
        if now - self._tool_at >= self._seconds_left:
            return self._terminate(Ended.DEADLINE, "its time was up", now)
        if now - self._looked_at >= _LIMITS_SECONDS:
            self._looked_at = now
            exceeded = self._step.hold.exceeded(process.pid) or self._step.watch()
            if exceeded:
                self._fail(exceeded)
        return self._failed()

    def _terminate(self, ended: Ended, reason: str, now: float) -> bool:
        self._ended, self._reason = ended, reason
        if self._tool_at is None:
            return True
        self._step.runsc.signal(self._step.container, "TERM")
        self._kill_at = now + self._step.grace_seconds
        return False

    def _fail(self, reason: str) -> None:
        self._ended, self._reason = Ended.SANDBOX_FAILED, reason

    def _finish(self, process: subprocess.Popen[bytes]) -> int | None:
        """Makes sure that everything is gone; the exit code when the tool ended by itself."""
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        exit_code: int | None
        try:
            # At the end of the output the program needs a moment; a sandbox that is to be killed gets none.
            exit_code = process.wait(timeout=_KILL_SECONDS if self._ended_by_itself() else 0)
        except subprocess.TimeoutExpired:
            exit_code = None
            self._kill(process)
        self._confirm_gone(process)
        self._drain()
        self._output.close()
        return exit_code

    def _failed(self) -> bool:
        return self._ended is Ended.SANDBOX_FAILED

    def _ended_by_itself(self) -> bool:
        if self._failed():
            return False
        return self._kill_at is None or time.monotonic() < self._kill_at

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        self._seen |= processes.family(process.pid)
        self._step.runsc.signal(self._step.container, "KILL")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_KILL_SECONDS)
            return
        for member in self._seen | processes.family(process.pid):
            member.kill()
        self._step.runsc.delete(self._step.container)

    def _confirm_gone(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + _GONE_SECONDS
        try:
            process.wait(timeout=_GONE_SECONDS)
        except subprocess.TimeoutExpired:
            raise StillRunning(self._step.call_id, f"process {process.pid} does not end") from None
        while True:
            left = {member.pid for member in self._seen if member.runs()} | self._step.hold.remaining()
            if not left:
                return
            if time.monotonic() > until:
                raise StillRunning(self._step.call_id, f"processes {sorted(left)} do not end")
            for pid in left:
                member = processes.identify(pid)
                if member is not None and time.monotonic() > until - _GONE_SECONDS + _KILL_SECONDS:
                    member.kill()
            time.sleep(0.002)

    def _drain(self) -> None:
        """Takes what is still in the pipe; all writers are gone, so this ends."""
        while data := self._output.read():
            if self._report.kernel is not None:
                self._cap.feed(data)

    def _end(self, exit_code: int | None) -> StepEnd:
        exceeded = self._step.hold.exceeded(0) if exit_code != 0 else None
        if self._ended is Ended.EXITED:
            if self._report.kernel is None:
                words = self._report.before or _logged_failure(self._step.log)
                self._fail(f"the sandbox did not start: {words}")
            elif exceeded:
                self._fail(exceeded)
            elif exit_code is None:
                self._fail("the sandbox did not end after its tool did")
            elif exit_code == 128 and (words := _logged_failure(self._step.log)):
                self._fail(f"the sandbox failed: {words}")
        now = time.monotonic()
        return StepEnd(
            ended=self._ended,
            exit_code=None if self._ended is Ended.SANDBOX_FAILED else exit_code,
            kernel=self._report.kernel or "",
            reason=self._reason,
            tool_seconds=0.0 if self._tool_at is None else now - self._tool_at,
        )


def _logged_failure(log: Path) -> str:
    """The last error in the sandbox program's own log, which no tool can write; empty without one."""
    found = ""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        with contextlib.suppress(ValueError, AttributeError):
            entry = json.loads(line)
            if entry.get("level") in ("error", "fatal", "panic"):
                found = str(entry.get("msg", ""))[:1000]
    return found
