"""A folder in memory that can't grow beyond its size: a tmpfs of its own, where this user may mount.

See mount(2), tmpfs(5). Through `ctypes`, because starting `mount` costs more than the mount does.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_NOSUID, _NODEV = 0x2, 0x4
_DETACH = 0x2
_TMPFS_MAGIC = 0x01021994
_FILES = 65536

_libc = ctypes.CDLL(None, use_errno=True)


class _Statfs(ctypes.Structure):
    # Only the first field is read; the rest is room enough for every Linux architecture.
    _fields_ = (("type", ctypes.c_long), ("rest", ctypes.c_byte * 512))


def mount(folder: Path, *, size_bytes: int) -> None:
    """Mounts a tmpfs of this size over an empty folder.

    Raises:
        OSError: when the kernel refuses, as it does to users without CAP_SYS_ADMIN.
    """
    options = f"size={max(size_bytes, 4096)},nr_inodes={_FILES},mode=0700".encode()
    if _libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", _NOSUID | _NODEV, options) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(folder))


def unmount(folder: Path) -> None:
    """Takes the mount away, if there is one; who still has a file open keeps only that."""
    if folder.is_mount():
        _libc.umount2(os.fsencode(folder), _DETACH)


def is_in_memory(folder: Path) -> bool:
    """Whether a folder stands on a tmpfs."""
    answer = _Statfs()
    return bool(_libc.statfs(os.fsencode(folder), ctypes.byref(answer)) == 0 and answer.type == _TMPFS_MAGIC)


def may_mount(folder: Path) -> bool:
    """Whether this user may mount below `folder`: tried, not guessed."""
    trial = folder / f".mount-trial-{os.getpid()}"
    try:
        trial.mkdir(exist_ok=True)
        mount(trial, size_bytes=4096)
    except OSError:
        return False
    else:
        unmount(trial)
        return True
    finally:
        trial.rmdir()
