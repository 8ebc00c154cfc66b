"""The workers: each waits at the bot for one job, does it, and asks again.

A worker takes work only while the sandbox's proof holds. Stopping (`stop`) lets every job that was
begun end and be reported; a worker that waits at the bot ends with that poll, so that no job is handed
to a runner that is gone.
"""

from __future__ import annotations

import threading

import structlog

from policy.refusal import Refused
from policy.runner_protocol import Job, Poll
from runner import jobs
from runner.bot_client import BotRefused, BotUnavailable
from runner.equipment import Equipment
from runner.sandbox.interface import Proof

_log = structlog.get_logger(__name__)

_PAUSES_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""How long a worker waits before it asks a bot again that was away, by how often it was away."""

_LONGEST_JOIN_SECONDS = 0.5


class WorkerFailed(Exception):  # noqa: N818  A state of the runner.
    """A worker ended by a fault of this program; its next start answers for what it was doing."""


class WorkLoop:
    """The workers of one runner."""

    def __init__(self, equipment: Equipment, *, stop: threading.Event) -> None:
        """Takes the event that ends the workers; they set it themselves when they must not go on."""
        self._equipment = equipment
        self._stop = stop
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self._fatal: Exception | None = None

    def run(self) -> None:
        """Works until `stop` is set and every job that was begun has ended.

        Raises:
            WentBack: the bot contradicts its audit chain; this runner does not work for it.
            OSError, Refused: the disk refuses what must be on it, or holds what can't be read.
            WorkerFailed: a fault of this program.
        """
        names = [f"worker {number}" for number in range(1, self._equipment.settings.workers + 1)]
        workers = [threading.Thread(target=self._serve, name=name) for name in names]
        for worker in workers:
            worker.start()
        for worker in workers:
            # Never without an end: a signal that comes just before the wait would not interrupt it, and
            # its handler runs only when this thread, the main one, goes on.
            while worker.is_alive():
                worker.join(timeout=_LONGEST_JOIN_SECONDS)
        if self._fatal is not None:
            raise self._fatal

    def run_once(self) -> bool:
        """Asks once for work and does it; whether there was any.

        Raises:
            BotUnavailable, BotRefused: no work could be asked for.
            WentBack, OSError: as `run`.
        """
        proof = self._equipment.readiness.current()
        return isinstance(proof, Proof) and self._once(proof)

    def _serve(self) -> None:
        away = 0
        while not self._stop.is_set():
            proof = self._equipment.readiness.current()
            try:
                if isinstance(proof, Proof):
                    self._once(proof)
                    away = 0
                    continue
                if away == 0:
                    _log.error("takes no work", why=proof.what, remedy=proof.remedy)
            except (BotUnavailable, BotRefused) as error:
                if away == 0:
                    _log.warning("no work can be asked for", why=str(error))
            except (Refused, OSError) as error:
                # Going on would mean working for a bot (`WentBack`), or on a disk, not to be relied on.
                self._end(error)
                return
            except Exception:  # noqa: BLE001  The outermost loop: a dead worker must not look alive.
                _log.exception("a worker failed")
                self._end(WorkerFailed("a worker failed; the log says why"))
                return
            self._stop.wait(_PAUSES_SECONDS[min(away, len(_PAUSES_SECONDS) - 1)])
            away += 1

    def _end(self, fatal: Exception) -> None:
        self._fatal = fatal
        self._stop.set()

    def _once(self, proof: Proof) -> bool:
        settings = self._equipment.settings
        asked = self._equipment.chain.remembered
        with self._lock:
            running = tuple(sorted(self._running))
        job = self._equipment.bot.poll(
            Poll(
                runner=settings.name,
                pool=settings.pool,
                policy_sha256=self._equipment.policy.sha256,
                sandbox=proof.home,
                kernel=proof.kernel,
                proved_at=proof.proved_at,
                running=running,
                remembered=asked,
                wait_seconds=settings.poll_seconds,
            )
        )
        if job is None:
            return False
        self._track(job, begins=True)
        try:
            jobs.work(self._equipment, job, asked=asked)
        finally:
            self._track(job, begins=False)
        return True

    def _track(self, job: Job, *, begins: bool) -> None:
        with self._lock:
            if begins:
                self._running.add(job.id)
            else:
                self._running.discard(job.id)
