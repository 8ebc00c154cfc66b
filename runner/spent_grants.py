"""Grants that were spent here: one file a grant id, created once, on the disk before anything is done.

The kernel's exclusive create picks one winner among all processes of this host, and the file outlives
the bot's database: a database that is restored or fails over revives nothing. A file is kept well past
its grant's expiry, because until then the grant itself would still be believed.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

from policy import canonical, timestamps
from policy.refusal import Code, Refused, refuse
from runner import durable_files

KEPT_PAST_EXPIRY = timedelta(days=30)
"""How long a spent grant is remembered after it expired: more than any clock is ever wrong."""

_GRANT_ID = re.compile(r"[0-9a-f]{64}")


class SpentGrants:
    """The folder of spent grants. Safe for any number of processes and threads at once."""

    def __init__(self, folder: Path) -> None:
        durable_files.private_folder(folder)
        self._folder = folder

    def spend(self, grant_id: str, *, digest: str, expires_at: datetime, now: datetime) -> None:
        """Spends a grant: returns for exactly one caller, ever.

        When this returns the fact is on the disk. When it raises, nothing may be executed, whatever the
        reason was.

        Raises:
            Refused: `grant_spent` when it was spent before; `grant_not_recorded` when the disk could
                not take it, after which it counts as spent.
        """
        body = {
            "grant_id": grant_id,
            "digest": digest,
            "expires_at": timestamps.format_timestamp(expires_at),
            "spent_at": timestamps.format_timestamp(now),
        }
        try:
            durable_files.create_exclusive(self._path(grant_id), canonical.encode(dict(body)))
        except FileExistsError:
            raise spent_before(grant_id) from None
        except OSError as error:
            raise refuse(
                Code.GRANT_NOT_RECORDED,
                f"the grant {grant_id[:16]}…",
                rule=f"A grant is recorded before it is used, and the disk refused ({error.strerror}).",
                remedy=f"Make room in {self._folder}, then make a new request.",
            ) from None

    def is_spent(self, grant_id: str) -> bool:
        """Whether the grant was spent here. Only `spend` decides; this is for a look before."""
        return self._path(grant_id).exists()

    def sweep(self, now: datetime) -> int:
        """Forgets grants that expired more than `KEPT_PAST_EXPIRY` ago; returns how many.

        A file that can't be read is kept. When any file was written later than `now`, the clock has
        moved back and nothing is forgotten.
        """
        expired: list[Path] = []
        for path in self._folder.iterdir():
            if not _GRANT_ID.fullmatch(path.name):
                continue
            times = _times(path)
            if times is None:
                continue
            expires_at, spent_at = times
            if spent_at > now:
                return 0
            if expires_at + KEPT_PAST_EXPIRY < now:
                expired.append(path)
        for path in expired:
            durable_files.remove(path)
        return len(expired)

    def _path(self, grant_id: str) -> Path:
        if not _GRANT_ID.fullmatch(grant_id):
            raise refuse(
                Code.GRANT_INVALID,
                "a grant without a proper id",
                rule="A grant's id is 64 lower-case hexadecimal digits.",
                remedy="Use the grant as the bot signed it.",
            )
        return self._folder / grant_id


def spent_before(grant_id: str) -> Refused:
    """The refusal of a grant that was spent on this runner."""
    return refuse(
        Code.GRANT_SPENT,
        f"the grant {grant_id[:16]}…",
        rule="A grant is good for one execution; this one was spent on this runner before.",
        remedy="Make a new request and have it approved.",
    )


def _times(path: Path) -> tuple[datetime, datetime] | None:
    try:
        body = canonical.parse(path.read_bytes(), what="a spent grant")
        if not isinstance(body, dict):
            return None
        return (
            timestamps.parse_timestamp(str(body["expires_at"])),
            timestamps.parse_timestamp(str(body["spent_at"])),
        )
    except (OSError, Refused, KeyError, ValueError):
        return None
