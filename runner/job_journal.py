"""Jobs in work, one file each: what a runner that was killed owes an answer for.

A file is written before a job begins and removed when its result is delivered or kept. An execution's
file is on the disk before its grant is claimed, and carries the grant's id before that is spent, so
after a crash "was anything done?" has an answer: the grant is spent, or it is not.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from policy import record
from policy.record import Digest, Moment
from policy.refusal import Code
from policy.runner_protocol import JobKind
from runner import durable_files


@dataclass(frozen=True, slots=True, kw_only=True)
class JobInWork:
    """One job that was begun.

    Attributes:
        grant_id: the claimed grant; None before the claim and for reads and plans.
        digest: the digest that the grant is for; None likewise.
    """

    __pydantic_config__ = record.STRICT

    job_id: str
    request_id: str
    kind: JobKind
    tool: str
    grant_id: Digest | None
    digest: Digest | None
    begun_at: Moment


class JobJournal:
    """The folder of jobs in work."""

    def __init__(self, folder: Path) -> None:
        durable_files.private_folder(folder)
        self._folder = folder

    def write(self, job: JobInWork) -> None:
        """Records a job as it now stands; for an execution, durably.

        Raises:
            OSError: when the disk refuses; then the job may not go on.
        """
        path = self._path(job.job_id)
        if job.kind is JobKind.EXECUTE:
            durable_files.replace(path, record.encode(job))
        else:
            # A read or a plan changes nothing, so it need not survive a power failure, only a kill.
            path.touch(mode=durable_files.PRIVATE_FILE)
            path.write_bytes(record.encode(job))

    def remove(self, job_id: str) -> None:
        """Forgets a job that has been answered for."""
        self._path(job_id).unlink(missing_ok=True)

    def find(self, job_id: str) -> JobInWork | None:
        """The record of one job, None when there is none.

        Raises:
            Refused: `journal_invalid`.
        """
        path = self._path(job_id)
        try:
            return _read(path)
        except FileNotFoundError:
            return None

    def left_over(self) -> tuple[JobInWork, ...]:
        """The jobs that an earlier process of this runner did not finish, oldest first.

        A file that a kill left unfinished is a read's or a plan's, which owes nothing.

        Raises:
            Refused: `journal_invalid`, for a file with other content: it may be an execution's.
        """
        found = (_read(path) for path in self._folder.glob("*.json"))
        return tuple(
            sorted((job for job in found if job is not None), key=lambda job: (job.begun_at, job.job_id))
        )

    def _path(self, job_id: str) -> Path:
        # The id is the bot's word, so it does not become a path.
        return self._folder / f"{hashlib.sha256(job_id.encode()).hexdigest()}.json"


def _read(path: Path) -> JobInWork | None:
    data = path.read_bytes()
    if not data:
        return None
    return record.read(JobInWork, data, what=f"the job's record {path}", code=Code.JOURNAL_INVALID)
