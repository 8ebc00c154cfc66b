"""Programs of this host and the shared libraries that they load.

`ldd` runs the dynamic loader on the program (ld.so(8)), so only programs that the operator named and
that stand on the runner's own PATH are asked.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from policy.refusal import Code, Refused, refuse

_LIBRARY = re.compile(r"^\s*(?:\S+ => )?(?P<path>/\S+) \(0x[0-9a-f]+\)$")
_MISSING = re.compile(r"^\s*(?P<name>\S+) => not found$")
_STATIC = ("not a dynamic executable", "statically linked")


def find(name: str, *, install: str, path: str | None = None) -> Path:
    """The program of that name on the PATH, links resolved.

    Args:
        name: the program.
        install: the command that installs it, for the error.
        path: a PATH other than this process's.

    Raises:
        Refused: `program_missing`, with that command; `image_invalid` for a script.
    """
    found = shutil.which(name, path=path)
    if found is None:
        raise refuse(
            Code.PROGRAM_MISSING,
            f"the program {name}: it is not on the PATH of this machine",
            rule="The sandbox runs only programs that are in its image, and they come from this machine.",
            remedy=f"Run: {install}",
        )
    program = Path(found).resolve()
    with program.open("rb") as file:
        start = file.read(4)
    if start != b"\x7fELF":
        raise refuse(
            Code.IMAGE_INVALID,
            f"the program {name}: {program} is a script or a wrapper, not a program",
            rule="An image holds programs with their libraries; a wrapper would look for more than that.",
            remedy=f"Put the real program on the PATH. Run: {install}",
        )
    return program


def libraries(program: Path) -> tuple[Path, ...]:
    """The files that the dynamic loader maps for a program, by the names it uses; none when static.

    Raises:
        Refused: `image_invalid`, when one is not found or `ldd` fails.
    """
    try:
        # Only PATH is passed: the loader's own variables (LD_PRELOAD and its like) would change the answer.
        listed = subprocess.run(
            ["ldd", program],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        raise _no(program, "ldd could not be run") from None
    if any(phrase in listed.stdout + listed.stderr for phrase in _STATIC):
        return ()
    if listed.returncode != 0:
        raise _no(program, f"ldd failed: {listed.stderr.strip()[:200]}")
    missing = [match["name"] for line in listed.stdout.splitlines() if (match := _MISSING.match(line))]
    if missing:
        raise _no(program, f"its libraries {', '.join(missing)} are not on this machine")
    return tuple(
        Path(match["path"]) for line in listed.stdout.splitlines() if (match := _LIBRARY.match(line))
    )


def _no(program: Path, why: str) -> Refused:
    return refuse(
        Code.IMAGE_INVALID,
        f"the program {program}: {why}",
        rule="A program goes into an image only with all its libraries.",
        remedy="Reinstall the program's package.",
    )
