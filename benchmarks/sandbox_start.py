"""How long our sandbox takes for `cat /proc/version`, against bare runsc with the same image, in one run.

`python -m benchmarks.sandbox_start [calls]`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from runner.sandbox import image_declaration, image_folder, runsc_program
from runner.sandbox.interface import Limits, SandboxCall, StepCall
from runner.sandbox.limits import control_groups
from runner.sandbox.runsc import RunscSandbox

ROOT = Path(__file__).resolve().parent.parent
LIMITS = Limits(
    cpu_millis=1000,
    memory_bytes=512 << 20,
    timeout_seconds=60,
    grace_seconds=5,
    output_bytes=65536,
    work_bytes=64 << 20,
    processes=128,
)
BARE = {
    "ociVersion": "1.0.2",
    "process": {
        "user": {"uid": 65534, "gid": 65534},
        "args": ["/usr/bin/cat", "/proc/version"],
        "env": ["PATH=/usr/bin"],
        "cwd": "/",
    },
    "root": {"path": "", "readonly": True},
    "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
    "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "network")]},
}


def _share_like_a_sandbox() -> None:
    """Moves this process beside the sandboxes' groups: bare runsc gets the same share of a busy CPU."""
    groups = control_groups.usable()
    if groups is not None:
        place = groups.parents["cpu"] / "bench"
        place.mkdir(exist_ok=True)
        (place / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def measure(calls: int) -> dict[str, float]:
    """Milliseconds of bare runsc and of our sandbox, medians of calls that alternate."""
    runsc = runsc_program.find()
    name = f"ownergate-bench-{uuid.uuid4().hex[:8]}"
    with (
        tempfile.TemporaryDirectory() as images,
        tempfile.TemporaryDirectory(dir="/dev/shm", prefix=name) as memory,
    ):
        image = image_folder.build(image_declaration.load(ROOT / "images/tools/host.yaml"), Path(images))
        bundle = Path(memory, "bundle")
        bundle.mkdir()
        (bundle / "config.json").write_text(
            json.dumps({**BARE, "root": {"path": str(image.root), "readonly": True}}), encoding="utf-8"
        )
        _share_like_a_sandbox()
        sandbox = RunscSandbox(images=Path(images), scratch=Path(memory, "scratch"), runsc=runsc)

        def bare() -> None:
            command = [str(runsc), f"--root={memory}/state", "--network=none", "--ignore-cgroups"]
            command += ["run", f"--bundle={bundle}", f"bare-{uuid.uuid4().hex}"]
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)

        def ours() -> None:
            step = StepCall(argv=("cat", "/proc/version"), cwd="/work", environment={}, credential=False)
            call = SandboxCall(
                id=f"bench-{uuid.uuid4().hex}",
                image="tools",
                steps=(step,),
                limits=LIMITS,
                files={},
                take_out=(),
                state=None,
                credential=None,
            )
            outcome = sandbox.run(call, started=lambda kernel: None, cancelled=threading.Event())
            if not outcome.succeeded:
                raise RuntimeError(outcome.reason)

        times: dict[str, list[float]] = {"bare": [], "ours": []}
        actions: dict[str, Callable[[], None]] = {"bare": bare, "ours": ours}
        for number in range(calls + 2):
            for kind, action in actions.items():
                began = time.perf_counter()
                action()
                if number >= 2:
                    times[kind].append((time.perf_counter() - began) * 1000)
    return {kind: statistics.median(values) for kind, values in times.items()}


def main() -> None:
    """Prints one line."""
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    ratio = found["ours"] / found["bare"]
    print(f"sandbox start: bare runsc {found['bare']:.0f} ms, ours {found['ours']:.0f} ms, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
