"""What the machine must have: git, Terraform and gVisor's `runsc`; the last is installed for root.

`python -m demo.requirements` says what is missing and the exact command that brings it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that must be there, why, and how it gets there."""

    name: str
    why: str
    install: tuple[str, ...] | None
    advice: str


PROGRAMS = (
    Program(
        name="git",
        why="the simulator of GitHub keeps a real repository",
        install=("apt-get", "install", "--yes", "git"),
        advice="apt-get install git",
    ),
    Program(
        name="terraform",
        why="plans and applies are real",
        install=None,
        advice="see https://developer.hashicorp.com/terraform/install (1.11 or newer)",
    ),
    Program(
        name="runsc",
        why="every tool runs in a gVisor sandbox",
        install=("apt-get", "install", "--yes", "runsc"),
        advice="apt-get install runsc",
    ),
)


def missing() -> list[Program]:
    """The programs that are not on the PATH."""
    return [program for program in PROGRAMS if shutil.which(program.name) is None]


def install(program: Program) -> bool:
    """Installs one program from the distribution's packages, as root only; whether it is there now."""
    if program.install is None or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    print(f"Installing {program.name} from the distribution's packages ...", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (("apt-get", "update"), program.install):
        subprocess.run(command, env=environment, check=False, capture_output=True)
    return shutil.which(program.name) is not None


def main() -> int:
    """Installs what it may, says what remains; 0 when nothing is missing."""
    left = [program for program in missing() if not install(program)]
    for program in left:
        prefix = "sudo " if program.install and os.geteuid() != 0 else ""
        print(
            f"{program.name} is missing ({program.why}). Type: {prefix}{program.advice}",
            file=sys.stderr,
        )
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
