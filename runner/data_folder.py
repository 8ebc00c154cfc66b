"""The runner's data folder: what is where in it, and the lock that lets one process use it at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner import durable_files


class InUse(Exception):  # noqa: N818  A state of the folder.
    """Another process uses the data folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFolder:
    """The parts of a data folder.

    Attributes:
        audit: the remembered audit tip.
        jobs: jobs in work.
        results: results that the bot does not have yet.
        leases: the lease journal.
        spent: ids of spent grants.
        rescued: sealed states.
    """

    root: Path

    @property
    def audit(self) -> Path:
        return self.root / "audit"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def leases(self) -> Path:
        return self.root / "leases"

    @property
    def spent(self) -> Path:
        return self.root / "spent"

    @property
    def rescued(self) -> Path:
        return self.root / "rescued"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process; the kernel lets go of it when the process ends.

        Raises:
            InUse: another process holds it.
        """
        durable_files.private_folder(self.root)
        descriptor = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InUse(f"{self.root} is used by another runner process") from None
            yield
        finally:
            os.close(descriptor)
