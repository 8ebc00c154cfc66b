"""The file that keeps the audit chain's tip apart from the database: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from policy import record
from policy.receipt import AuditTip
from policy.refusal import Code

LARGEST = 1024
"""Bytes of the file at most."""


class AuditTipFile:
    """One tip in one file, replaced in one move and synced with its folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> AuditTip | None:
        """What was stored last; None when there is no file.

        Raises:
            Refused: `audit_invalid` when the file holds something else.
            OSError: when it can't be read.
        """
        try:
            with self.path.open("rb") as file:
                data = file.read(LARGEST)
        except FileNotFoundError:
            return None
        return record.read(AuditTip, data, what=f"the file {self.path}", code=Code.AUDIT_INVALID)

    def write(self, tip: AuditTip) -> None:
        """Stores a tip; when this returns it survives a crash of the machine.

        Raises:
            OSError: when it can't be stored; the earlier tip stays.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(record.encode(tip) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
