"""Control groups, version 1 and 2: memory, CPU and processes held by the kernel.

The runner makes the group, and the sandbox's first process joins it before it becomes `runsc`, so the
kernel's account of who is in the group is also the proof that nothing is left. `runsc` itself is told
to ignore control groups: one owner is enough.

Files and units: Documentation/admin-guide/cgroup-v1 (memory.rst, pids.rst),
Documentation/scheduler/sched-bwc.rst and Documentation/admin-guide/cgroup-v2.rst of the Linux kernel.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.sandbox.interface import Limits

FOLDER = "ownergate"
"""Name of the group that holds all groups of runners, below the runner's own."""

_CPU_PERIOD_MICROSECONDS = 100_000
_HOST_THREADS_PER_PROCESS = 8
_HOST_THREADS_OF_SANDBOX = 512
_REMOVAL_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a version calls things."""

    number: int
    memory: tuple[tuple[str, str], ...]
    """Files of the memory controller and what is written; `{bytes}` is the limit."""
    cpu_file: str
    cpu_value: str
    weight: tuple[str, str]
    """File and value of the folder of all sandboxes. A busy CPU is shared between groups, and a group of
    several threads would get as little as one process beside it; the quota bounds it anyway."""
    events_file: str
    optional: frozenset[str]
    """Files that kernels may lack (no swap accounting)."""


V1 = Version(
    number=1,
    memory=(("memory.limit_in_bytes", "{bytes}"), ("memory.memsw.limit_in_bytes", "{bytes}")),
    cpu_file="cpu.cfs_quota_us",
    cpu_value="{quota}",
    weight=("cpu.shares", "2048"),
    events_file="memory.oom_control",
    optional=frozenset({"memory.memsw.limit_in_bytes"}),
)
V2 = Version(
    number=2,
    memory=(("memory.max", "{bytes}"), ("memory.swap.max", "0"), ("memory.oom.group", "1")),
    cpu_file="cpu.max",
    cpu_value="{quota} {period}",
    weight=("cpu.weight", "200"),
    events_file="memory.events",
    optional=frozenset({"memory.swap.max", "memory.oom.group"}),
)

_OOM_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


class ControlGroups:
    """The place where this runner may make groups."""

    def __init__(self, version: Version, parents: Mapping[str, Path]) -> None:
        """Takes the parent folder of each controller: `memory`, `cpu`, `pids`; the same one in version 2."""
        self.version = version
        self.parents = parents

    def hold(self, name: str, limits: Limits) -> ControlGroup:
        """Makes a group for one sandbox.

        Raises:
            OSError: when the kernel refuses.
        """
        group = ControlGroup(self.version, {c: parent / name for c, parent in self.parents.items()}, limits)
        group.make()
        return group

    def processes(self, prefix: str) -> frozenset[int]:
        """Processes in all groups whose name starts with `prefix`; also after a restart."""
        found: set[int] = set()
        for parent in set(self.parents.values()):
            for folder in parent.glob(f"{prefix}*"):
                found |= _processes(folder)
        return frozenset(found)

    def remove(self, prefix: str) -> None:
        """Removes the empty groups whose name starts with `prefix`."""
        for parent in set(self.parents.values()):
            for folder in parent.glob(f"{prefix}*"):
                with contextlib.suppress(OSError):
                    folder.rmdir()


class ControlGroup:
    """The group of one sandbox, a `Hold`."""

    def __init__(self, version: Version, folders: Mapping[str, Path], limits: Limits) -> None:
        self._version = version
        self._folders = folders
        self._limits = limits

    def make(self) -> None:
        """Makes the folders and sets memory and processes; CPU is set when the tool starts."""
        for folder in set(self._folders.values()):
            folder.mkdir(exist_ok=True)
        for name, value in self._version.memory:
            self._set("memory", name, value.format(bytes=self._limits.memory_bytes))
        # A process of the tool is several threads of the host. Too tight a number would break gVisor
        # itself, so this only stops a flood; the tool's own processes are limited inside.
        threads = self._limits.processes * _HOST_THREADS_PER_PROCESS + _HOST_THREADS_OF_SANDBOX
        self._set("pids", "pids.max", str(threads))

    def entry(self) -> tuple[Path, ...]:
        """See `Hold`."""
        return tuple(folder / "cgroup.procs" for folder in sorted(set(self._folders.values())))

    def tool_starts(self) -> None:
        """See `Hold`."""
        quota = max(1000, self._limits.cpu_millis * _CPU_PERIOD_MICROSECONDS // 1000)
        value = self._version.cpu_value.format(quota=quota, period=_CPU_PERIOD_MICROSECONDS)
        self._set("cpu", self._version.cpu_file, value)

    def exceeded(self, root_process: int) -> str | None:
        """See `Hold`; reads what the kernel counted."""
        events = (self._folders["memory"] / self._version.events_file).read_text(encoding="ascii")
        kills = _OOM_KILLS.search(events)
        if kills and int(kills[1]) > 0:
            return f"it used more than {self._limits.memory_bytes} bytes of memory"
        return None

    def remaining(self) -> frozenset[int]:
        """See `Hold`."""
        return frozenset().union(*(_processes(folder) for folder in set(self._folders.values())))

    def release(self) -> None:
        """See `Hold`. The kernel may count a dead process for a moment longer."""
        until = time.monotonic() + _REMOVAL_SECONDS
        for folder in set(self._folders.values()):
            while True:
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > until:
                        break
                    time.sleep(0.002)
                else:
                    break

    def _set(self, controller: str, name: str, value: str) -> None:
        try:
            (self._folders[controller] / name).write_text(value, encoding="ascii")
        except OSError:
            if name not in self._version.optional:
                raise


def usable(mounts: str | None = None, own: str | None = None) -> ControlGroups | None:
    """The place where groups can be made here, tried out; None when there is none.

    Args:
        mounts, own: contents of `/proc/self/mounts` and `/proc/self/cgroup`; read when not given.
    """
    mounted = _mounted(
        mounts if mounts is not None else Path("/proc/self/mounts").read_text(encoding="utf-8")
    )
    places = own if own is not None else Path("/proc/self/cgroup").read_text(encoding="utf-8")
    for candidate in (_version_1(mounted, places), _version_2(mounted, places)):
        if candidate is not None and _works(candidate):
            return candidate
    return None


def _version_1(mounted: Mapping[str, Path], own: str) -> ControlGroups | None:
    parents: dict[str, Path] = {}
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in {"memory", "cpu", "pids"} & set(controllers.split(",")):
            if controller in mounted:
                parents[controller] = mounted[controller] / path.lstrip("/") / FOLDER
    return ControlGroups(V1, parents) if len(parents) == 3 else None


def _version_2(mounted: Mapping[str, Path], own: str) -> ControlGroups | None:
    root = mounted.get("")
    path = next((line[3:] for line in own.splitlines() if line.startswith("0::")), None)
    if root is None or path is None:
        return None
    # A group with processes of its own can't hand controllers down (cgroup-v2.rst, "No Internal Process
    # Constraint"), so the sandboxes' group stands beside the runner's own, unless that is the root.
    own_folder = root / path.lstrip("/")
    beside = own_folder if path == "/" else own_folder.parent
    return ControlGroups(V2, dict.fromkeys(("memory", "cpu", "pids"), beside / FOLDER))


def _mounted(mounts: str) -> Mapping[str, Path]:
    """Mount point by controller of version 1; version 2's under the empty name."""
    found: dict[str, Path] = {}
    for line in mounts.splitlines():
        _, point, kind, options, *_ = line.split(" ")
        if kind == "cgroup2":
            found[""] = Path(point)
        elif kind == "cgroup":
            for controller in {"memory", "cpu", "pids"} & set(options.split(",")):
                found[controller] = Path(point)
    return found


def _works(groups: ControlGroups) -> bool:
    """Whether a group can be made, limited, joined and removed: tried, not guessed."""
    limits = Limits(
        cpu_millis=1000,
        memory_bytes=64 * 1024 * 1024,
        timeout_seconds=1,
        grace_seconds=1,
        output_bytes=1,
        work_bytes=1,
        processes=1,
    )
    try:
        for parent in set(groups.parents.values()):
            parent.mkdir(exist_ok=True)
            if groups.version.number == 2:
                _hand_down(parent.parent)
                _hand_down(parent)
        name, weight = groups.version.weight
        (groups.parents["cpu"] / name).write_text(weight, encoding="ascii")
        group = groups.hold(f"try-{os.getpid()}", limits)
    except OSError:
        return False
    try:
        group.tool_starts()
        group.exceeded(0)
        joining = 'for file in "$@"; do echo $$ >"$file" || exit 1; done'
        joined = subprocess.run(
            ["/bin/sh", "-c", joining, "join", *group.entry()], capture_output=True, check=False
        )
    except OSError:
        return False
    else:
        return joined.returncode == 0
    finally:
        group.release()


def _hand_down(folder: Path) -> None:
    (folder / "cgroup.subtree_control").write_text("+memory +cpu +pids", encoding="ascii")


def _processes(folder: Path) -> frozenset[int]:
    try:
        return frozenset(map(int, (folder / "cgroup.procs").read_text(encoding="ascii").split()))
    except OSError:
        return frozenset()
