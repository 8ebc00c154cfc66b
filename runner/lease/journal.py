"""The lease journal: what was asked for, what was given, on the disk before it can be used.

Crash reasoning, in the order of a lease's life:

1. login: the login itself gives nothing; it ends with its time to live.
2. `intend`: the login's accessor is on the disk. A crash from here on leaves at most one lease, and it
   hangs on that login: revoking the accessor revokes it.
3. the engine issues the lease.
4. `record`: the lease's id is on the disk. Only now is the credential handed out.
5. revoked, and seen to be powerless: `forget`.

Nothing here is secret: an accessor and a lease id can only be used to revoke, and only by a login that
may. Certificates are public.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from policy import record
from policy.record import Moment
from policy.refusal import Code, Refused, refuse
from runner import durable_files

_FILE = re.compile(r"[0-9a-f]{32}\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One lease, from the intention to its seen death.

    Attributes:
        id: the entry's own.
        call_id: the sandbox call that it is for.
        mount, role: of the secrets engine.
        accessor: of the login.
        intended_at: when it was asked for.
        ends_at: when it is dead whatever happens: the login's end, or the certificate's.
        lease_id: the engine's id; null between `intend` and `record`.
        certificate, issuer: PEM, to ask whether it is dead; null likewise.
    """

    __pydantic_config__ = record.STRICT

    id: str
    call_id: str
    mount: str
    role: str
    accessor: str
    intended_at: Moment
    ends_at: Moment
    lease_id: str | None
    certificate: str | None
    issuer: str | None


class LeaseJournal:
    """The journal's folder. One runner process writes it; entries are files, each replaced at once."""

    def __init__(self, folder: Path) -> None:
        durable_files.private_folder(folder)
        self._folder = folder

    def intend(
        self, *, call_id: str, mount: str, role: str, accessor: str, now: datetime, ends_at: datetime
    ) -> Entry:
        """Writes down that a lease is about to be asked for.

        Raises:
            Refused: `lease_not_recorded`; then it must not be asked for.
        """
        entry = Entry(
            id=secrets.token_hex(16),
            call_id=call_id,
            mount=mount,
            role=role,
            accessor=accessor,
            intended_at=now.replace(microsecond=0),
            ends_at=ends_at.replace(microsecond=0),
            lease_id=None,
            certificate=None,
            issuer=None,
        )
        try:
            durable_files.replace(self._path(entry), record.encode(entry))
        except OSError as error:
            raise self._unwritten(error) from None
        return entry

    def record(
        self, entry: Entry, *, lease_id: str, certificate: str, issuer: str, ends_at: datetime
    ) -> Entry:
        """Writes down which lease it was.

        Raises:
            Refused: `lease_not_recorded`; then the lease must be revoked and not handed out.
        """
        known = replace(
            entry,
            lease_id=lease_id,
            certificate=certificate,
            issuer=issuer,
            ends_at=ends_at.replace(microsecond=0),
        )
        try:
            durable_files.replace(self._path(entry), record.encode(known))
        except OSError as error:
            raise self._unwritten(error) from None
        return known

    def forget(self, entry: Entry) -> None:
        """Takes a lease off the journal: it is dead, or there never was one."""
        durable_files.remove(self._path(entry))

    def entries(self) -> tuple[Entry, ...]:
        """What is open, oldest first.

        Raises:
            Refused: `lease_not_recorded`, for a file that can't be read: then nobody knows what lives.
        """
        found: list[Entry] = []
        for path in self._folder.iterdir():
            if not _FILE.fullmatch(path.name):
                continue
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            found.append(
                record.read(
                    Entry, data, what=f"the lease journal's {path.name}", code=Code.LEASE_NOT_RECORDED
                )
            )
        return tuple(sorted(found, key=lambda entry: (entry.intended_at, entry.id)))

    def find(self, lease_id: str) -> Entry | None:
        """The open entry of a lease."""
        return next((entry for entry in self.entries() if entry.lease_id == lease_id), None)

    def find_by_id(self, entry_id: str) -> Entry | None:
        """The entry of that id, while it is open."""
        return next((entry for entry in self.entries() if entry.id == entry_id), None)

    def _path(self, entry: Entry) -> Path:
        return self._folder / f"{entry.id}.json"

    def _unwritten(self, error: OSError) -> Refused:
        return refuse(
            Code.LEASE_NOT_RECORDED,
            f"a lease: the journal in {self._folder} can't be written ({error.strerror})",
            rule="A credential is handed out only when what revokes it is on the disk.",
            remedy=f"Make room in {self._folder} and see that the runner may write there.",
        )
