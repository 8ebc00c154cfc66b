"""Results that the bot has not taken yet: on the disk first, delivered until the bot has them.

An execution's result is kept before it is sent, so that neither a bot that is away nor a runner that is
killed turns a known outcome into an unknown one. The bot takes the same result twice as one.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path

from policy import record
from policy.refusal import Code
from policy.runner_protocol import JobEvent, JobResult
from runner import durable_files
from runner.bot_client import BotClient, BotRefused
from runner.chain_watch import ChainWatch


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResult:
    """One job's end: the events that are not known to have arrived, in order, then the result."""

    __pydantic_config__ = record.STRICT

    job_id: str
    events: tuple[JobEvent, ...]
    result: JobResult


@dataclass(frozen=True, slots=True, kw_only=True)
class NotTaken:
    """The bot answered and does not want it; `why` is its reason."""

    kept: KeptResult
    why: str


class KeptResults:
    """The folder of kept results."""

    def __init__(self, folder: Path) -> None:
        durable_files.private_folder(folder)
        self._folder = folder
        self._lock = threading.Lock()

    def keep(self, kept: KeptResult) -> None:
        """Puts a result on the disk.

        Raises:
            OSError: when the disk refuses.
        """
        durable_files.replace(self._path(kept.job_id), record.encode(kept))

    def holds(self, job_id: str) -> bool:
        """Whether a result of this job is kept."""
        return self._path(job_id).exists()

    def deliver(self, kept: KeptResult, bot: BotClient, chain: ChainWatch) -> NotTaken | None:
        """Sends a result, its events first, and lets go of it when the bot has it.

        One is delivered at a time, so that a job and the upkeep don't send the same result at once.

        Raises:
            BotUnavailable: when the bot is away; the result stays kept.
            WentBack: when the bot's answer contradicts the chain; the result stays kept.
        """
        with self._lock:
            return self._deliver(kept, bot, chain)

    def _deliver(self, kept: KeptResult, bot: BotClient, chain: ChainWatch) -> NotTaken | None:
        not_taken = None
        try:
            for event in kept.events:
                chain.see(bot.event(kept.job_id, event))
        except BotRefused as refused:
            # The job is over for the bot, so its events have no place any more; the result decides.
            not_taken = NotTaken(kept=kept, why=str(refused))
        try:
            chain.see(bot.result(kept.job_id, kept.result))
            not_taken = None
        except BotRefused as refused:
            not_taken = NotTaken(kept=kept, why=str(refused))
        if not_taken is None:
            durable_files.remove(self._path(kept.job_id))
        else:
            self._set_aside(kept.job_id)
        return not_taken

    def all(self) -> tuple[KeptResult, ...]:
        """Every result that waits.

        Raises:
            Refused: `journal_invalid`, for a file that was altered.
        """
        found: list[KeptResult] = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue  # Its job has just delivered it.
            what = f"the kept result {path}"
            found.append(record.read(KeptResult, data, what=what, code=Code.JOURNAL_INVALID))
        return tuple(found)

    def _set_aside(self, job_id: str) -> None:
        # What the bot does not take may still be the only trace of what was done, so it is not deleted.
        path = self._path(job_id)
        if path.exists():
            path.rename(path.with_suffix(".not_taken"))
            durable_files.sync_folder(self._folder)

    def _path(self, job_id: str) -> Path:
        return self._folder / f"{hashlib.sha256(job_id.encode()).hexdigest()}.json"
