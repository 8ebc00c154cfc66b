"""The floor of all that runs in a sandbox: the same commands in bare `runsc run`, and nothing around them.

Same image folder, mounts, user and flags as `runner.sandbox` uses, and a control group beside those of the
sandboxes, so that a busy machine gives both the same share of its processors. Left out is all that is
ours: the lease, the first process that reports the kernel, the limits on the tool, and the bot.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from benchmarks.run import CannotMeasure
from demo.stage import Stage
from policy import policy_file
from policy.tools import Tool
from runner import calls, settings
from runner.sandbox import oci_bundle
from runner.sandbox.image_folder import ImageFolder
from runner.sandbox.interface import SandboxCall
from runner.sandbox.limits import control_groups
from runner.sandbox.runsc import TOOL_USER
from runner.sandbox.runsc_program import RunscProgram

_JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1"; shift; done; shift; exec "$@"'
"""A shell of the host joins the groups and becomes `runsc`: about a millisecond."""


class BareRunsc:
    """The steps of one call, each a `runsc run` of its own, one after the other."""

    def __init__(
        self, program: RunscProgram, bundles: Sequence[Path], log: Path, groups: Sequence[Path]
    ) -> None:
        """Takes the program, one bundle a step, a file for its log, and the groups that it joins."""
        self._program = program
        self._bundles = bundles
        self._log = log
        self._groups = groups

    def run(self) -> float:
        """Runs every step to its end; milliseconds."""
        began = time.perf_counter()
        for bundle in self._bundles:
            done = subprocess.run(
                self._command(bundle), stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
            if done.returncode:
                raise CannotMeasure(f"A bare runsc failed: {(done.stdout + done.stderr).decode()[:500]}")
        return (time.perf_counter() - began) * 1000

    def start(self) -> float:
        """Milliseconds from the start of the first step's `runsc` to the first byte that its tool prints."""
        began = time.perf_counter()
        with subprocess.Popen(
            self._command(self._bundles[0]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as process:
            if process.stdout is None or not process.stdout.read(1):
                raise CannotMeasure("A bare runsc printed nothing.")
            seconds = time.perf_counter() - began
            process.stdout.read()
        return seconds * 1000

    def _command(self, bundle: Path) -> tuple[str, ...]:
        command = self._program.run_command(f"bare-{uuid.uuid4().hex}", bundle=bundle, log=self._log)
        return ("/bin/sh", "-c", _JOIN, "join", *map(str, self._groups), "--", *command)


@contextlib.contextmanager
def of_tool(stage: Stage, name: str) -> Iterator[BareRunsc]:
    """The bare steps of a read-only tool of the runner's policy that takes no arguments and no source."""
    runner = settings.load(Path(stage.runner_config))
    tool = policy_file.load(runner.policy.read_bytes()).tools[name]
    image = ImageFolder(runner.sandbox.images / tool.image)
    with tempfile.TemporaryDirectory(prefix="ownergate-bench-", dir="/dev/shm") as folder:
        memory = Path(folder)
        work, credential = memory / "work", memory / "credential"
        for each in (work, credential, memory / "runsc"):
            each.mkdir()
        # The size of a certificate as the lease brings it; the tool only reads the bytes.
        (credential / "certificate.pem").write_bytes(b"x" * 1100)
        call = _call(tool, image.sha256)
        program = RunscProgram(runner.sandbox.runsc, state=memory / "runsc", rootless=os.geteuid() != 0)
        bundles = []
        for number, step in enumerate(call.steps):
            config = oci_bundle.config(
                oci_bundle.Bundle(
                    step=step,
                    root=image.root,
                    image_environment=image.environment,
                    user=0 if program.rootless else TOOL_USER,
                    work=work,
                    state=None,
                    state_writable=False,
                    credential=credential if step.credential else None,
                    limits=call.limits,
                )
            )
            # The tool itself is the first process; there is nothing that waits for a word from us.
            cast("dict[str, Any]", config)["process"]["args"] = list(step.argv)
            bundle = memory / f"bundle.{number}"
            bundle.mkdir()
            (bundle / "config.json").write_text(json.dumps(config), encoding="utf-8")
            bundles.append(bundle)
        with _group(tool) as files:
            yield BareRunsc(program, bundles, memory / "log", files)


@contextlib.contextmanager
def _group(tool: Tool) -> Iterator[tuple[Path, ...]]:
    """A group like a sandbox's before its tool starts; nothing where no groups can be made."""
    groups = control_groups.usable()
    if groups is None:
        yield ()
        return
    group = groups.hold(f"bare-{uuid.uuid4().hex}", tool.limits)
    try:
        yield group.entry()
    finally:
        group.release()


def _call(tool: Tool, image_sha256: str) -> SandboxCall:
    what = calls.execution(tool, {}, source=None, image_sha256=image_sha256)
    return calls.sandbox_call(tool, "bare", what, files={}, take_out=(), state=None)
