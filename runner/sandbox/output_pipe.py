"""The one pipe that a tool's output comes through, with a file description of its own for each stream.

Standard output and standard error share the pipe, so that what is written first is read first. They
must not share the open file description: gVisor makes each stream that it takes over non-blocking, and
takes the next one's mode from what it finds. With one description the tool itself would then see a
non-blocking stream, and lose output with EAGAIN whenever the pipe is full.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

_LARGEST_READ = 1 << 18


class OutputPipe:
    """A pipe with two write ends. Use `with` around the start of the process that gets them."""

    def __init__(self) -> None:
        self._read, self.stdout = os.pipe2(os.O_CLOEXEC)
        # Opening the pipe anew, unlike dup(2), makes a second description (proc(5), /proc/pid/fd).
        self.stderr = os.open(f"/proc/self/fd/{self.stdout}", os.O_WRONLY | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the write ends here: the child holds its own. After an error the read end goes too."""
        os.close(self.stdout)
        os.close(self.stderr)
        if error is not None:
            self.close()

    def fileno(self) -> int:
        """The read end."""
        return self._read

    def read(self) -> bytes:
        """What has come; empty when every writer is gone."""
        return os.read(self._read, _LARGEST_READ)

    def close(self) -> None:
        """Closes the read end."""
        os.close(self._read)
