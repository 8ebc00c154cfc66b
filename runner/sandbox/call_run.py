"""One call: its steps in order, each in a sandbox of its own, over one work folder.

While one step runs the sandbox of the next already boots and then waits, so that a call of several steps
waits for one start and not for each. Nothing of a step happens before the step ahead of it has ended well.

Time and output are counted over all steps together. The credential's files are removed as soon as no
further step may see them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from runner.sandbox import first_process, oci_bundle, step_run
from runner.sandbox.call_folder import CallFolder
from runner.sandbox.image_folder import ImageFolder
from runner.sandbox.interface import Ended, SandboxCall, SandboxOutcome, StepOutcome
from runner.sandbox.limits.interface import Hold
from runner.sandbox.output_cap import OutputCap
from runner.sandbox.runsc_program import RunscProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where and how a call's steps run.

    Attributes:
        runsc: the program.
        user: user and group id of the tool inside.
        image: the image, and `image_sha256` its digest as verified for this call.
        folder: the call's folder, made.
        hold: makes what holds the sandbox of that name to its limits.
        watch: looks at limits that no hold keeps; a sentence when one is exceeded.
    """

    runsc: RunscProgram
    user: int
    image: ImageFolder
    image_sha256: str
    folder: CallFolder
    hold: Callable[[str], Hold]
    watch: Callable[[], str | None]


class CallRun:
    """One call while its steps run."""

    def __init__(self, placement: Placement, call: SandboxCall) -> None:
        self._place = placement
        self._folder = placement.folder
        self._call = call
        self._kernel = ""
        self._waiting: deque[step_run.Booted] = deque()
        self._booted_steps = 0

    def run(self, started: Callable[[str], None], cancelled: threading.Event) -> SandboxOutcome:
        """Runs the steps in order and takes the files out; `Sandbox.run` says what is raised."""
        try:
            outcomes, ended, reason = self._steps(started, cancelled)
        finally:
            self._abandon()
        self._folder.drop_credential()
        return SandboxOutcome(
            ended=ended,
            steps=outcomes,
            taken_out=self._folder.take_out(self._call.take_out),
            kernel=self._kernel,
            image_sha256=self._place.image_sha256,
            reason=reason,
        )

    def _steps(
        self, started: Callable[[str], None], cancelled: threading.Event
    ) -> tuple[tuple[StepOutcome, ...], Ended, str]:
        """Every step until one does not end well: what they did, how the last ended, and why."""
        outcomes: list[StepOutcome] = []
        seconds_left = float(self._call.limits.timeout_seconds)
        room = self._call.limits.output_bytes
        ended, reason = Ended.EXITED, ""
        for number in range(len(self._call.steps)):
            if self._call.credential is not None and not any(s.credential for s in self._call.steps[number:]):
                self._folder.drop_credential()
            if cancelled.is_set():
                return tuple(outcomes), Ended.CANCELLED, "it was cancelled"
            cap = OutputCap(room)
            began = datetime.now(UTC)
            end = self._step(number, seconds_left, cap, started, cancelled)
            outcomes.append(self._outcome(number, end, cap, began))
            seconds_left -= end.tool_seconds
            room -= len(outcomes[-1].output)
            ended, reason = end.ended, end.reason
            if ended is not Ended.EXITED or end.exit_code != 0:
                break
        return tuple(outcomes), ended, reason

    def _step(
        self,
        number: int,
        seconds_left: float,
        cap: OutputCap,
        started: Callable[[str], None],
        cancelled: threading.Event,
    ) -> step_run.StepEnd:
        for ahead in range(self._booted_steps, min(number + 2, len(self._call.steps))):
            self._boot(ahead, seconds_left)
        booted = self._waiting.popleft()
        try:
            return step_run.run(
                booted,
                cap,
                seconds_left=seconds_left,
                started=lambda kernel: self._report(kernel, started),
                cancelled=cancelled,
            )
        finally:
            booted.step.hold.release()

    def _boot(self, number: int, seconds_left: float) -> None:
        call, folder = self._call, self._folder
        container = f"{call.id}.{number}"
        bundle = folder.bundle(number, oci_bundle.config(self._bundle(number)))
        hold = self._place.hold(container)
        step = step_run.StepRun(
            runsc=self._place.runsc,
            call_id=call.id,
            container=container,
            bundle=bundle,
            process_file=folder.process_file(number),
            log=folder.path / f"log.{number}",
            hold=hold,
            watch=self._place.watch,
            grace_seconds=call.limits.grace_seconds,
            seconds_left=seconds_left,
            is_sandbox_kernel=first_process.is_gvisor,
        )
        try:
            self._waiting.append(step_run.boot(step))
        except BaseException:
            hold.release()
            raise
        self._booted_steps = number + 1

    def _abandon(self) -> None:
        """Ends the sandboxes of steps that are never run."""
        while self._waiting:
            booted = self._waiting.popleft()
            try:
                step_run.abandon(booted)
            finally:
                booted.step.hold.release()

    def _report(self, kernel: str, started: Callable[[str], None]) -> None:
        if not self._kernel:
            self._kernel = kernel
            started(kernel)

    def _bundle(self, number: int) -> oci_bundle.Bundle:
        call, step = self._call, self._call.steps[number]
        return oci_bundle.Bundle(
            step=step,
            root=self._place.image.root,
            image_environment=self._place.image.environment,
            user=self._place.user,
            work=self._folder.work,
            state=None if call.state is None else call.state.folder,
            state_writable=call.state is not None and call.state.writable,
            credential=self._folder.credential if step.credential else None,
            limits=call.limits,
        )

    def _outcome(self, number: int, end: step_run.StepEnd, cap: OutputCap, began: datetime) -> StepOutcome:
        return StepOutcome(
            argv=self._call.steps[number].argv,
            exit_code=end.exit_code,
            output=cap.kept,
            cut_bytes=cap.cut_bytes,
            cut_at=cap.cut_at,
            started_at=began,
            ended_at=datetime.now(UTC),
        )
