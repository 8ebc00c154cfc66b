"""The runner's memory of the bot's audit chain: the tip that it saw last, on its own disk.

A bot (or whoever holds its database) that rewrites or restores its history has to show this runner
either a chain that is shorter than the remembered tip or another event at its place. Both are refused
until the runner's own operator accepts the restore: `ownergate runner --accept-audit-restore`. The same
tip stands in the runner's signed receipts, so the two together pin the history from outside the bot.
"""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path

from policy import record
from policy.receipt import AuditTip
from policy.refusal import Code, Refused, refuse
from runner import durable_files

_FILE = "audit_tip.json"


class WentBack(Refused):
    """The bot's chain no longer holds what this runner saw of it. Code `audit_went_back`."""


class ChainWatch:
    """The remembered tip. Safe for several threads of one process; one process a folder."""

    def __init__(self, folder: Path) -> None:
        """Reads what was remembered.

        Raises:
            Refused: `audit_invalid`, when the memory itself can't be read: then nothing is believed.
        """
        durable_files.private_folder(folder)
        self._path = folder / _FILE
        self._lock = threading.Lock()
        self._tip = _load(self._path)
        self._saved = self._tip

    @property
    def remembered(self) -> AuditTip | None:
        """The newest tip that was seen; None before the first."""
        with self._lock:
            return self._tip

    def check_poll(self, asked: AuditTip | None, now: AuditTip, at_asked: AuditTip | None) -> None:
        """Compares a job's view of the chain with what the poll remembered, then remembers the tip.

        Args:
            asked: the tip that the poll carried.
            now: the chain's tip as the bot says.
            at_asked: the chain's event at `asked`'s sequence, None when the chain has none.

        Raises:
            WentBack: when they contradict each other.
        """
        if asked is not None:
            if now.sequence < asked.sequence or at_asked is None:
                raise _went_back(f"ends at {now.sequence}; this runner remembers event {asked.sequence}")
            _check_same(asked, at_asked)
        self.see(now)
        self.save()

    def see(self, tip: AuditTip) -> None:
        """Takes note of a newer tip (an answer of the bot's), in memory; `save` makes it durable.

        Answers may overtake each other between threads, so an older tip is no contradiction here; two
        hashes for one sequence are.

        Raises:
            WentBack: when the chain has another event at a sequence that is remembered.
        """
        with self._lock:
            if self._tip is not None and tip.sequence == self._tip.sequence:
                _check_same(self._tip, tip)
            elif self._tip is None or tip.sequence > self._tip.sequence:
                self._tip = tip

    def save(self) -> None:
        """Puts the newest tip on the disk.

        Raises:
            OSError: when the disk refuses; nothing may be done that depends on the memory.
        """
        with self._lock:
            if self._tip is not None and self._tip != self._saved:
                durable_files.replace(self._path, record.encode(self._tip))
                self._saved = self._tip


def accept_restore(folder: Path, *, now: datetime) -> AuditTip | None:
    """Lets go of the remembered tip, at the word of the runner's operator; the next one seen counts.

    What was remembered stays beside it as evidence, in a file that carries the time.

    Returns:
        What was remembered; None when there was nothing.
    """
    path = folder / _FILE
    if not path.exists():
        return None
    tip = _load(path)
    path.rename(path.with_name(f"audit_tip.let_go.{now:%Y%m%dT%H%M%SZ}.json"))
    durable_files.sync_folder(folder)
    return tip


def _load(path: Path) -> AuditTip | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return record.read(AuditTip, data, what=f"the remembered audit tip in {path}", code=Code.AUDIT_INVALID)


def _check_same(remembered: AuditTip, shown: AuditTip) -> None:
    if remembered != shown:
        raise _went_back(f"shows another event at {remembered.sequence} than this runner saw there")


def _went_back(how: str) -> WentBack:
    return WentBack(
        refuse(
            Code.AUDIT_WENT_BACK,
            f"the bot's audit chain {how}",
            rule="A runner works only for a bot whose history holds all that the runner has seen of it.",
            remedy=(
                "If the bot's database was restored on purpose, the runner's operator accepts it with: "
                "ownergate runner --accept-audit-restore. Otherwise find out who changed it."
            ),
        ).refusal
    )
