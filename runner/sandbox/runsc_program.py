"""The `runsc` program: how it is called, found, asked and told to end a sandbox."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from policy.refusal import Code, Refused, refuse

INSTALL = "sudo apt-get update && sudo apt-get install -y runsc"
"""The command for Debian 12 and Ubuntu 24.04, whose own packages carry `runsc`."""

_COMMAND_SECONDS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One sandbox that `runsc` knows."""

    id: str
    status: str
    pid: int


def find() -> Path:
    """The `runsc` on the PATH.

    Raises:
        Refused: `program_missing`, with the command that installs it.
    """
    found = shutil.which("runsc")
    if found is None:
        raise _missing("runsc is not on the PATH of this machine")
    return Path(found).resolve()


class RunscProgram:
    """One `runsc` with its folder of running sandboxes."""

    def __init__(self, path: Path, *, state: Path, rootless: bool) -> None:
        """Takes the program and the folder where it keeps what runs.

        Raises:
            Refused: `program_missing`, when the path is not an executable file.
        """
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise _missing(f"there is no program at {path}")
        self.path = path
        self.state = state
        self.rootless = rootless

    def run_command(self, container: str, *, bundle: Path, log: Path) -> tuple[str, ...]:
        """The argv that runs a bundle to its end.

        Flags are chosen, not inherited: no network at all; the root read by this sandbox alone, so it
        may be cached (`exclusive`), everything else shared, so that what a killed tool wrote is on the
        host (`shared`); no overlay, which newer versions would put into the image's own folder.
        """
        return (
            *self._base(),
            "--network=none",
            "--ignore-cgroups",
            "--overlay2=none",
            "--file-access=exclusive",
            "--file-access-mounts=shared",
            f"--log={log}",
            "--log-format=json",
            "run",
            f"--bundle={bundle}",
            container,
        )

    def version(self) -> str:
        """What the program says of itself.

        Raises:
            Refused: `sandbox_not_isolated`, when it isn't runsc.
        """
        answer = self._ask("--version")
        first = answer.stdout.partition("\n")[0]
        if answer.returncode != 0 or not first.startswith("runsc version"):
            raise refuse(
                Code.SANDBOX_NOT_ISOLATED,
                f"the program {self.path}: it does not say that it is runsc",
                rule="Tools run only under gVisor's runsc.",
                remedy=f"Run: {INSTALL}",
            )
        return first

    def containers(self) -> tuple[Container, ...]:
        """The sandboxes that it knows; empty when it has none.

        Raises:
            Refused: `sandbox_not_isolated`, when it does not answer.
        """
        answer = self._ask(*self._base(), "list", "--format=json", program=False)
        try:
            listed = json.loads(answer.stdout or "null") or []
            return tuple(
                Container(id=str(entry["id"]), status=str(entry["status"]), pid=int(entry["pid"]))
                for entry in listed
            )
        except (ValueError, KeyError, TypeError):
            raise refuse(
                Code.SANDBOX_NOT_ISOLATED,
                f"the list of sandboxes of {self.path}: {answer.stderr.strip()[:200]}",
                rule="The runner must be able to see what still runs.",
                remedy="Look at the runner's scratch folder; one runsc may not read another version's files.",
            ) from None

    def signal(self, container: str, name: str) -> None:
        """Sends a signal to the tool of a sandbox; one that is gone is fine."""
        self._ask(*self._base(), "kill", container, name, program=False)

    def delete(self, container: str) -> None:
        """Kills and removes a sandbox; one that is gone is fine."""
        self._ask(*self._base(), "delete", "--force", container, program=False)

    def _base(self) -> tuple[str, ...]:
        rootless = ("--rootless",) if self.rootless else ()
        return (str(self.path), f"--root={self.state}", *rootless)

    def _ask(self, *arguments: str, program: bool = True) -> subprocess.CompletedProcess[str]:
        argv: Sequence[str] = (str(self.path), *arguments) if program else arguments
        with contextlib.suppress(subprocess.TimeoutExpired, OSError):
            return subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_COMMAND_SECONDS,
                check=False,
            )
        return subprocess.CompletedProcess(argv, -1, "", "it did not answer")


def _missing(what: str) -> Refused:
    return refuse(
        Code.PROGRAM_MISSING,
        f"the sandbox program runsc: {what}",
        rule="Every tool runs under gVisor; without it nothing runs.",
        remedy=f"Run: {INSTALL}",
    )
