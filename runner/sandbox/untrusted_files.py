"""Reading files that hostile code wrote: no link is followed, nothing but a plain file is opened.

Every component of the path is opened by its parent's descriptor with `O_NOFOLLOW`, so that a folder
swapped for a link can't lead out; a pipe, socket or device is refused before a byte is read; and a file
that grows while it is read is cut off.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class NotAPlainFile(Exception):  # noqa: N818  It says what was found, and the caller decides.
    """The path does not lead to a plain file within the limit, without links. Holds the reason."""


def parts_of(path: str) -> tuple[str, ...]:
    """The components of a relative path.

    Raises:
        ValueError: for an empty or absolute path, `.`, `..`, an empty component or a NUL.
    """
    parts = tuple(path.split("/"))
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"{path!r} is not a plain relative path")
    return parts


def read(folder: Path, path: str, *, max_bytes: int) -> bytes:
    """Reads a plain file below a folder that hostile code wrote.

    Args:
        folder: the folder; it and its parents are ours.
        path: relative, slashes between components.
        max_bytes: a larger file is refused, not cut.

    Raises:
        NotAPlainFile: when it is missing, a link, behind a link, not a regular file, has a second name
            (a hard link), or is larger.
        ValueError: for a path that is not plain and relative.
    """
    *parents, name = parts_of(path)
    current = os.open(folder, _FOLDER)
    try:
        for parent in parents:
            following = os.open(parent, _FOLDER, dir_fd=current)
            os.close(current)
            current = following
        descriptor = os.open(name, _FILE, dir_fd=current)
    except OSError as error:
        raise NotAPlainFile(f"{path}: {error.strerror}") from None
    finally:
        os.close(current)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotAPlainFile(f"{path}: not a regular file")
        if found.st_nlink > 1:
            raise NotAPlainFile(f"{path}: it has another name")
        if found.st_size > max_bytes:
            raise NotAPlainFile(f"{path}: {found.st_size} bytes, more than {max_bytes}")
        return _read_all(descriptor, path, max_bytes)
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, path: str, max_bytes: int) -> bytes:
    content = bytearray()
    while part := os.read(descriptor, min(max_bytes + 1 - len(content), 1 << 20)):
        content += part
        if len(content) > max_bytes:
            raise NotAPlainFile(f"{path}: more than {max_bytes} bytes")
    return bytes(content)


def size_of(folder: Path) -> int:
    """Bytes that a folder takes, as allocated; what vanishes meanwhile is left out."""
    total = 0
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    total += found.st_blocks * 512
                    if stat.S_ISDIR(found.st_mode):
                        pending.append(Path(entry.path))
        except OSError:
            continue
    return total
