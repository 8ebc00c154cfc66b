"""Memory watched by the runner, for hosts where it may make no control groups.

gVisor keeps the memory of everything inside in one anonymous file (`memfd_create`) of its own kernel
process. What that file has allocated, what the sandbox's processes use themselves, and the work folder
are added up several times a second; whoever is beyond the limit is killed. A program that allocates
faster than it is looked at gets further than the limit for that moment.
"""

from __future__ import annotations

import re
from pathlib import Path

from runner.sandbox import processes, untrusted_files
from runner.sandbox.interface import Limits

_ANONYMOUS = re.compile(r"^RssAnon:\s+(\d+) kB$", re.MULTILINE)


class MemoryWatch:
    """Watches one sandbox, a `Hold`. CPU is not limited by it, nor are the host's own threads."""

    def __init__(self, limits: Limits, work: Path) -> None:
        self._limits = limits
        self._work = work

    def entry(self) -> tuple[Path, ...]:
        """See `Hold`; there is nothing to join."""
        return ()

    def tool_starts(self) -> None:
        """See `Hold`; nothing to do."""

    def exceeded(self, root_process: int) -> str | None:
        """See `Hold`."""
        if committed_bytes(root_process) + untrusted_files.size_of(self._work) > self._limits.memory_bytes:
            return f"it used more than {self._limits.memory_bytes} bytes of memory"
        return None

    def remaining(self) -> frozenset[int]:
        """See `Hold`; a watch can't tell."""
        return frozenset()

    def release(self) -> None:
        """See `Hold`; nothing to do."""


def committed_bytes(root_process: int) -> int:
    """Memory of a process and all its descendants: private pages and memory files, each counted once."""
    total = 0
    files: dict[tuple[int, int], int] = {}
    for process in processes.descendants(root_process) | {root_process}:
        folder = Path("/proc") / str(process)
        try:
            anonymous = _ANONYMOUS.search((folder / "status").read_text(encoding="ascii", errors="replace"))
            total += int(anonymous[1]) * 1024 if anonymous else 0
            for descriptor in (folder / "fd").iterdir():
                if str(descriptor.readlink()).startswith("/memfd:"):
                    found = descriptor.stat()
                    files[found.st_dev, found.st_ino] = found.st_blocks * 512
        except OSError:
            continue
    return total + sum(files.values())
