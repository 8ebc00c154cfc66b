"""The OCI bundle of one step: what `runsc` is told, as a pure function.

Fields are those of the OCI runtime specification 1.0.2, config.md and config-linux.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from policy.canonical import Json
from runner.sandbox import first_process
from runner.sandbox.interface import CREDENTIAL, STATE, WORK, Limits, StepCall

FIXED_ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108  The sandbox's own /tmp, not the host's.
    "TMPDIR": "/tmp",  # noqa: S108
    "LANG": "C.UTF-8",
}
"""Every step has these; a call may set all but PATH anew."""

_OPEN_FILES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Everything that one step's sandbox is made of. Paths are the host's.

    Attributes:
        step: the program.
        root: the image's root folder.
        image_environment: the image's own variables.
        user: user and group id inside.
        work: the work folder.
        state: the state folder, or None; `state_writable` says how it is mounted.
        credential: folder of the lease's files, or None in steps that don't get it.
        limits: what holds inside.
    """

    step: StepCall
    root: Path
    image_environment: Mapping[str, str]
    user: int
    work: Path
    state: Path | None
    state_writable: bool
    credential: Path | None
    limits: Limits


def config(bundle: Bundle) -> Json:
    """The content of `config.json`."""
    environment = {**FIXED_ENVIRONMENT, **bundle.image_environment, **bundle.step.environment}
    argv: list[Json] = list(first_process.command(bundle.step.argv, cwd=bundle.step.cwd))
    variables: list[Json] = [f"{name}={value}" for name, value in sorted(environment.items())]
    return {
        "ociVersion": "1.0.2",
        "hostname": "sandbox",
        "root": {"path": str(bundle.root), "readonly": True},
        "process": {
            "terminal": False,
            "user": {"uid": bundle.user, "gid": bundle.user},
            "args": argv,
            "env": variables,
            # The first process goes to the step's folder when it is told to start.
            "cwd": "/",
            "noNewPrivileges": True,
            # Every set is empty: not even a program with a set-user-id bit could gain one.
            "capabilities": {
                name: [] for name in ("bounding", "effective", "inheritable", "permitted", "ambient")
            },
            "rlimits": _resource_limits(bundle.limits),
        },
        "mounts": _mounts(bundle),
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "network")],
        },
    }


def _resource_limits(limits: Limits) -> list[Json]:
    values = {
        "RLIMIT_NPROC": limits.processes,
        "RLIMIT_NOFILE": _OPEN_FILES,
        "RLIMIT_FSIZE": max(limits.work_bytes, limits.memory_bytes),
        "RLIMIT_CORE": 0,
    }
    return [{"type": name, "soft": value, "hard": value} for name, value in values.items()]


def _mounts(bundle: Bundle) -> list[Json]:
    mounts: list[Json] = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
        {
            "destination": "/tmp",  # noqa: S108
            "type": "tmpfs",
            "source": "tmpfs",
            "options": ["nosuid", "nodev", "mode=1777", f"size={bundle.limits.work_bytes}"],
        },
        _bind(bundle.work, WORK, writable=True),
    ]
    if bundle.state is not None:
        mounts.append(_bind(bundle.state, STATE, writable=bundle.state_writable))
    if bundle.credential is not None:
        mounts.append(_bind(bundle.credential, CREDENTIAL, writable=False))
    return mounts


def _bind(source: Path, destination: str, *, writable: bool) -> Json:
    access = "rw" if writable else "ro"
    return {
        "destination": destination,
        "type": "bind",
        "source": str(source),
        "options": ["bind", "nosuid", "nodev", access],
    }
