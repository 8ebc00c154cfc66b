"""The door of the package: starts a runner, keeps it going, stops it in order.

Start: settings → lock on the data folder → equipment → proof of the sandbox → the bot's audit chain
compared with what was remembered → what an earlier process left behind → work. SIGTERM and SIGINT let
begun jobs end; a runner that is killed answers for them at its next start.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import structlog

from policy.receipt import AuditTip
from policy.refusal import Refusal, Refused
from runner import assembly, chain_watch, recovery, settings
from runner.bot_client import BotRefused, BotUnavailable
from runner.data_folder import DataFolder, InUse
from runner.equipment import Equipment
from runner.upkeep import Upkeep
from runner.work_loop import WorkerFailed, WorkLoop

_log = structlog.get_logger(__name__)


class CannotRun(Exception):  # noqa: N818  It says why, for the person who started it.
    """The runner can't start, or must not go on. The text is for people."""


def run(settings_path: Path, *, stop: threading.Event | None = None) -> None:
    """Runs until `stop` is set, or until SIGTERM or SIGINT when this is the main thread.

    Raises:
        CannotRun: with what is wrong and what would make it right.
    """
    stop = stop or threading.Event()
    _log_to_stderr()
    with _explained(), _started(settings_path) as equipment, _stopped_by_signals(stop):
        _log.info("runner works", runner=equipment.settings.name, pool=equipment.settings.pool)
        upkeep = Upkeep(equipment, stop=stop)
        upkeep.start()
        try:
            WorkLoop(equipment, stop=stop).run()
        finally:
            stop.set()
            upkeep.join()
        _log.info("runner stopped", runner=equipment.settings.name)


def run_once(settings_path: Path) -> bool:
    """Starts, asks once for work, does it, and ends; whether there was any.

    Raises:
        CannotRun: as `run`, and when the bot can't be asked.
    """
    _log_to_stderr()
    with _explained(), _started(settings_path) as equipment:
        return WorkLoop(equipment, stop=threading.Event()).run_once()


def accept_audit_restore(settings_path: Path) -> AuditTip | None:
    """Lets go of the remembered audit tip, at the word of the runner's operator.

    Returns:
        What was remembered; None when there was nothing.

    Raises:
        CannotRun: when the settings can't be read or a runner still works in the data folder.
    """
    with _explained():
        data = DataFolder(root=settings.load(settings_path).data)
        with data.locked():
            return chain_watch.accept_restore(data.audit, now=assembly.now())


@contextmanager
def _started(settings_path: Path) -> Iterator[Equipment]:
    loaded = settings.load(settings_path)
    data = DataFolder(root=loaded.data)
    with data.locked():
        equipment = assembly.assemble(loaded, data)
        with equipment.bot:
            proof = equipment.readiness.prove()
            if isinstance(proof, Refusal):
                raise Refused(proof)
            _log.info("sandbox proved", home=proof.home, kernel=proof.kernel, version=proof.version)
            _look_at_vault(equipment)
            _compare_chain(equipment)
            _recover(equipment)
            yield equipment


def _look_at_vault(equipment: Equipment) -> None:
    try:
        equipment.check_vault()
    except Refused as refused:
        # Work is taken all the same, so that each call is answered with this reason.
        _log.warning("OpenBao gives no leases now", why=refused.refusal.what, remedy=refused.refusal.remedy)


def _compare_chain(equipment: Equipment) -> None:
    """Asks the bot for the event that was remembered; raises `WentBack` when it has another or none."""
    remembered = equipment.chain.remembered
    if remembered is None:
        return
    try:
        shown = equipment.bot.audit_at(remembered.sequence)
    except (BotUnavailable, BotRefused) as away:
        _log.warning("the audit chain is compared at the first poll", why=str(away))
        return
    equipment.chain.check_poll(remembered, shown or remembered, shown)


def _recover(equipment: Equipment) -> None:
    found = recovery.recover(equipment)
    if found.destroyed or found.answered or found.leases_kept or found.waiting:
        _log.warning(
            "an earlier process left work behind",
            sandboxes_destroyed=len(found.destroyed),
            sandboxes_still_running=len(found.still_running),
            leases_kept=len(found.leases_kept),
            jobs_answered=len(found.answered),
            results_waiting=found.waiting,
        )


@contextmanager
def _explained() -> Iterator[None]:
    """Turns what can be wrong into one sentence for the person who started the runner."""
    try:
        yield
    except (assembly.PolicyInvalid, InUse) as error:
        raise CannotRun(str(error)) from None
    except Refused as refused:
        raise CannotRun(refused.refusal.text()) from None
    except (BotUnavailable, BotRefused, WorkerFailed) as error:
        raise CannotRun(f"{error}.") from None
    except OSError as error:
        raise CannotRun(f"The disk or the system refuses: {error}.") from None


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _log_to_stderr() -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
