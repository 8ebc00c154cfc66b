"""Real sandboxes for tests: the image of this repository, built once, and calls in a few words.

`home` skips the test, with the reason, on a machine without runsc or Terraform.
"""

from __future__ import annotations

import os
import shutil
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.sandbox import image_declaration, image_folder
from runner.sandbox.interface import Limits, SandboxCall, SandboxOutcome, StateMount, StepCall, TakeOut
from runner.sandbox.runsc import RunscSandbox
from runner.secret_bytes import SecretBytes

MIB = 1024 * 1024
DECLARATION = Path(__file__).resolve().parent.parent / "images/tools/host.yaml"

LIMITS = Limits(
    cpu_millis=2000,
    memory_bytes=512 * MIB,
    timeout_seconds=30,
    grace_seconds=2,
    output_bytes=64 * 1024,
    work_bytes=32 * MIB,
    processes=128,
)


def limits(**changed: int) -> Limits:
    """The usual limits with some of them changed."""
    values = {name: getattr(LIMITS, name) for name in Limits.__dataclass_fields__}
    return Limits(**{**values, **changed})


def build_images(folder: Path) -> Path:
    """Builds the repository's image below `folder`; skips the test where its programs are missing."""
    for program in ("runsc", "terraform"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not on this machine")
    image_folder.build(image_declaration.load(DECLARATION), folder)
    return folder


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private folder on a tmpfs, taken away afterwards."""
    folder = Path("/dev/shm") / f"ownergate-test-{os.getpid()}-{uuid.uuid4().hex[:8]}"  # noqa: S108
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def home(images: Path, *, control_groups_allowed: bool = True) -> Iterator[RunscSandbox]:
    """The one-machine sandbox with a scratch folder of its own."""
    runsc = shutil.which("runsc")
    if runsc is None:
        pytest.skip("runsc is not on this machine")
    with scratch_folder() as scratch:
        yield RunscSandbox(
            images=images,
            scratch=scratch,
            runsc=Path(runsc),
            control_groups_allowed=control_groups_allowed,
        )


def step(*argv: str, credential: bool = False, cwd: str = "/work", **environment: str) -> StepCall:
    """One program."""
    return StepCall(argv=argv, cwd=cwd, environment=environment, credential=credential)


def shell(script: str, *, credential: bool = False) -> StepCall:
    """One shell script."""
    return step("bash", "-c", script, credential=credential)


def call(
    *steps: StepCall,
    files: Mapping[str, bytes] | None = None,
    take_out: tuple[TakeOut, ...] = (),
    state: StateMount | None = None,
    credential: Mapping[str, SecretBytes] | None = None,
    bounds: Limits = LIMITS,
    call_id: str | None = None,
) -> SandboxCall:
    """One call with an id of its own."""
    return SandboxCall(
        id=call_id or f"test-{uuid.uuid4().hex}",
        image="tools",
        steps=steps,
        limits=bounds,
        files=files or {},
        take_out=take_out,
        state=state,
        credential=credential,
    )


def run(sandbox: RunscSandbox, what: SandboxCall) -> SandboxOutcome:
    """Runs a call that nobody cancels."""
    return sandbox.run(what, started=lambda kernel: None, cancelled=threading.Event())


def text(outcome: SandboxOutcome) -> str:
    """All output as text."""
    return "".join(step.output.decode("utf-8", errors="replace") for step in outcome.steps)
