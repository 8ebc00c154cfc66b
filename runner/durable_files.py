"""Files that are on the disk when the call returns: written, fsynced, and their folder fsynced too.

A new name is durable only once its folder is; both the spent grants and the lease journal stand on
this. See fsync(2): "Calling fsync() does not necessarily ensure that the entry in the directory
containing the file has also reached disk."
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def private_folder(folder: Path) -> None:
    """Makes a folder (and its parents) that only this user may enter, if it isn't there yet."""
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)


def create_exclusive(path: Path, data: bytes) -> None:
    """Creates a file that must not exist yet, durably.

    The name is taken by the kernel for exactly one caller. When writing fails afterwards the name stays
    taken: what was half done counts as done.

    Raises:
        FileExistsError: when the name is taken.
        OSError: when the disk refuses; the name may be taken all the same.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def replace(path: Path, data: bytes) -> None:
    """Puts new content in a file's place at once: a reader sees the old or the new, never a part.

    Raises:
        OSError: when the disk refuses; the old content is then still there.
    """
    fresh = path.with_name(f".{path.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def remove(path: Path) -> None:
    """Removes a file durably; one that is gone already is fine."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
