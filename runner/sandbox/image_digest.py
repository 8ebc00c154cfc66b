"""The digest of a root folder, and a cheap way to see that nothing in it was touched since.

The digest is the SHA-256 of the canonical JSON of a sorted list: a file is `{path, mode, sha256}`, a
link `{path, mode, link}`, a folder `{path, mode}`. Times, owners and inodes don't count, so the same
content has the same digest on every machine.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from policy import canonical
from policy.canonical import Json
from policy.refusal import Code, refuse

Fingerprint: TypeAlias = "tuple[tuple[str, int, int, int, int, int], ...]"
"""For each path: mode, inode, size, modification and change time in nanoseconds. Any write moves the
change time, which no program can set back."""


def digest(root: Path) -> str:
    """Reads everything below `root` and returns its digest.

    Raises:
        Refused: `image_invalid`, for anything but files, folders and links.
    """
    entries: dict[str, Json] = {}
    for path, found in _walk(root):
        entry: dict[str, Json] = {"path": path, "mode": f"{stat.S_IMODE(found.st_mode):04o}"}
        if stat.S_ISREG(found.st_mode):
            with (root / path).open("rb") as file:
                entry["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
        elif stat.S_ISLNK(found.st_mode):
            entry["link"] = str((root / path).readlink())
        elif not stat.S_ISDIR(found.st_mode):
            raise refuse(
                Code.IMAGE_INVALID,
                f"the image folder {root}: {path} is a device, pipe or socket",
                rule="An image holds files, folders and links only.",
                remedy="Build the image again.",
            )
        entries[path] = entry
    return canonical.sha256([entry for _, entry in sorted(entries.items())])


def fingerprint(root: Path) -> Fingerprint:
    """What `stat` says about everything below `root`; about a millisecond for a hundred files."""
    return tuple(
        (path, found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        for path, found in _walk(root)
    )


def _walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every path below `root`, relative, in the order of its bytes within each folder."""
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(root / folder) as entries:
            children = sorted(entries, key=lambda entry: entry.name)
        for entry in children:
            path = f"{folder}/{entry.name}" if folder else entry.name
            yield path, entry.stat(follow_symlinks=False)
        pending += [
            f"{folder}/{entry.name}" if folder else entry.name
            for entry in reversed(children)
            if entry.is_dir(follow_symlinks=False)
        ]
