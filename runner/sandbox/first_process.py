"""The first process of every step: reports its kernel, waits for one word, becomes the tool.

A few fixed words of shell, run from the read-only image before anything untrusted runs in that sandbox.
It prints the kernel behind a mark and waits on its standard input; the runner reads the mark, decides
whether this is gVisor, and only then lets it go on. `exec "$@"` hands the tool's argv over as it is; no
shell ever parses it. What the tool prints later can look like the mark, but only the first one counts.

A sandbox may wait like this while the step before it still runs. So nothing below the work, state and
credential folders is looked at before the word, the step's own folder included: it is entered after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from runner.sandbox.image_folder import PROGRAMS

GO = b"go\n"
"""What the runner writes when the tool may start."""

LONGEST_REPORT = 64 * 1024
"""Bytes before the mark: words of the sandbox program itself. More than that is a failure."""

_MARK = b"\x1eownergate kernel "
_SCRIPT = (
    "IFS= read -r ownergate_kernel </proc/version"
    " && printf '\\036ownergate kernel %s\\n' \"$ownergate_kernel\""
    " && unset ownergate_kernel"
    " && read -r ownergate_word"
    ' && [ "$ownergate_word" = go ]'
    " && unset ownergate_word"
    ' && cd -- "$1" && shift && unset OLDPWD'
    ' && exec "$@" </dev/null'
)

_GVISOR = re.compile(r"Linux version 4\.4\.0 #1 SMP Sun Jan 10 15:06:54 PST 2016")
"""What gVisor's `/proc/version` says, in every release: the version that it claims to be compatible
with, a fixed build date and no compiler (gVisor, pkg/sentry/kernel and fsimpl/proc)."""


def command(argv: Sequence[str], *, cwd: str) -> tuple[str, ...]:
    """The argv of the first process for a tool's argv and the absolute folder that it starts in."""
    return (f"/{PROGRAMS}/sh", "-c", _SCRIPT, "step", cwd, *argv)


def is_gvisor(kernel: str) -> bool:
    """Whether a reported kernel is gVisor's."""
    return _GVISOR.fullmatch(kernel) is not None


class KernelReport:
    """Reads a step's stream up to the mark and hands on what follows it."""

    def __init__(self) -> None:
        self.kernel: str | None = None
        self._before = bytearray()

    @property
    def before(self) -> str:
        """What came before the mark: the sandbox program's own words, for a failure's reason."""
        return " ".join(self._before.decode("utf-8", errors="replace").split())[:2000]

    @property
    def overlong(self) -> bool:
        """Whether too much came without a mark."""
        return self.kernel is None and len(self._before) > LONGEST_REPORT

    def feed(self, data: bytes) -> bytes:
        """Takes the next part of the stream; returns the tool's output in it."""
        if self.kernel is not None:
            return data
        self._before += data
        start = self._before.find(_MARK)
        end = self._before.find(b"\n", start) if start >= 0 else -1
        if end < 0:
            return b""
        self.kernel = self._before[start + len(_MARK) : end].decode("ascii", errors="replace").strip()
        rest = bytes(self._before[end + 1 :])
        del self._before[start:]
        return rest
