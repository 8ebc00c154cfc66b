"""The bot as one process: puts all parts together, starts them, and ends them within five seconds.

The order of starting is the order of trust: settings and secrets, the database and its attested tip,
who the App is at GitHub, then the threads, and the door last. Ending goes the other way. Nothing
depends on ending well: what was acknowledged is on the disk.
"""

from __future__ import annotations

import fcntl
import importlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from fastapi import APIRouter
from starlette.types import ASGIApp

from bot import app, logs, remembered_identity, secret_files, settings, web_server, webhook_events
from bot.api.wiring import Wiring
from bot.audit_log import AuditLog
from bot.clock import Clock, SystemClock
from bot.database import Database
from bot.github_app import AppIdentity, GitHubApp
from bot.github_contact import GitHubContact
from bot.inbox import Inbox
from bot.inbox_worker import InboxWorker
from bot.metrics import Metrics
from bot.missed_deliveries import MissedDeliveries
from bot.notifier import Notifier
from bot.pause import Pause
from bot.rounds import Round
from bot.tokens import Tokens
from bot.webhook_signature import Signatures
from policy import policy_file
from policy.policy_errors import PolicyErrors
from policy.refusal import Code, Refused, refuse
from policy.tools import Policy

if TYPE_CHECKING:
    from bot.core import Core

MISSED_SECONDS = 60
"""How often GitHub's list of deliveries is looked through."""

OUTBOX_SECONDS = 5
"""How often the outbox is tried when nothing wakes it."""

THREAD_SECONDS = 0.5
"""How long each thread may take to end; its work is repeated after the next start if it doesn't."""

logger = logging.getLogger(__name__)


class Threaded(Protocol):
    """A part with a thread of its own."""

    def start(self) -> None:
        """Begins its work."""
        ...

    def stop(self, timeout_seconds: float) -> None:
        """Ends it, waiting no longer than that."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """What is there before the life cycle of requests: everything that `core` is built on."""

    settings: settings.BotSettings
    policy: Policy
    grant_key: Ed25519PrivateKey = field(repr=False)
    receipt_keys: Mapping[str, Ed25519PublicKey]
    signatures: Signatures
    clock: Clock
    database: Database
    audit: AuditLog
    notifier: Notifier
    github_app: GitHubApp
    identity: AppIdentity
    contact: GitHubContact


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The whole process, put together and not started."""

    application: ASGIApp
    address: tuple[str, int]
    threads: tuple[Threaded, ...]

    def serve(self) -> None:
        """Starts everything and returns after SIGTERM or SIGINT, when all has ended.

        Raises:
            Refused: `settings_invalid` when the address can't be had.
        """
        server = web_server.make(self.application)
        with web_server.door(self.address) as door, web_server.signals_end_well(), ExitStack() as ending:
            ending.callback(server.ended)
            for part in self.threads:
                part.start()
                ending.callback(part.stop, THREAD_SECONDS)
            logger.info("the bot listens on %s:%d", *door.getsockname()[:2])
            server.run(sockets=[door])
        logger.info("the bot has ended")


def run(settings_path: Path, *, accept_restore: bool = False) -> None:
    """Runs the bot until it is told to end.

    Args:
        settings_path: `bot.yaml`.
        accept_restore: start with a database that is older than the audit tip attests; recorded.

    Raises:
        Refused: with the reason, when it can't start.
    """
    logs.configure()
    chosen = settings.load(settings_path)
    with only_one(chosen.data):
        base = lay(chosen, clock=SystemClock(), accept_restore=accept_restore)
        try:
            compose(base).serve()
        finally:
            base.database.close()


def lay(chosen: settings.BotSettings, *, clock: Clock, accept_restore: bool = False) -> Foundation:
    """Reads what the bot is made of and checks it, in the order of trust.

    Raises:
        Refused: with the reason, when the bot can't start.
    """
    signatures = Signatures(secret_files.webhook_secrets(chosen.github.webhook_secret_files))
    grant_key = secret_files.grant_key(chosen.grant_key_file)
    receipt_keys = secret_files.receipt_keys(chosen.receipt_keys_file)
    policy = _policy(chosen.policy)
    github_app = GitHubApp(chosen.github, repository=chosen.repository)
    database = Database(chosen.database_url)
    contact = GitHubContact()
    expected = (chosen.github.app_id, chosen.github.installation_id)
    with ExitStack() as undoing:
        undoing.callback(database.close)
        # The tables of requests have to be known before the database is made.
        importlib.import_module("bot.request_tables")
        database.create()
        audit = AuditLog(database, chosen.audit_tip_file)
        audit.open(at=clock.now(), accept_restore=accept_restore)
        identity = remembered_identity.identify(github_app, database, clock, contact, expected=expected)
        undoing.pop_all()
    return Foundation(
        settings=chosen,
        policy=policy,
        grant_key=grant_key,
        receipt_keys=receipt_keys,
        signatures=signatures,
        clock=clock,
        database=database,
        audit=audit,
        notifier=Notifier(),
        github_app=github_app,
        identity=identity,
        contact=contact,
    )


def compose(base: Foundation) -> Service:
    """Puts the process together on its foundation."""
    from bot.api import agents, operators, runners
    from bot.core import Core

    core = Core(
        database=base.database,
        audit=base.audit,
        policy=base.policy,
        github_app=base.github_app,
        identity=base.identity,
        clock=base.clock,
        notifier=base.notifier,
        settings=base.settings,
        grant_key=base.grant_key,
        receipt_keys=base.receipt_keys,
    )
    return assemble(base, core, routers=(agents.router, runners.router, operators.router))


def assemble(base: Foundation, core: Core, *, routers: Sequence[APIRouter]) -> Service:
    """The process around a core: the inbox and its worker, the rounds, the web application."""
    serves = webhook_events.Scope(
        repository_id=base.identity.repository_id, installation_id=base.identity.installation_id
    )
    inbox = Inbox(base.database, base.clock)
    wiring = Wiring(
        database=base.database,
        audit=base.audit,
        tokens=Tokens(base.database, base.clock),
        notifier=base.notifier,
        clock=base.clock,
        inbox=inbox,
        metrics=Metrics(),
        pause=Pause(base.database, base.audit, base.clock),
        contact=base.contact,
        core=core,
    )
    missed = MissedDeliveries(base.database, base.github_app, serves, base.clock)
    outbox = Round("outbox", core.run_outbox_once, seconds=OUTBOX_SECONDS)
    base.notifier.on("outbox", outbox.wake)
    return Service(
        application=app.create(wiring, routers=routers, signatures=base.signatures, serves=serves),
        address=base.settings.address,
        threads=(
            inbox,
            InboxWorker(base.database, inbox, core.handle_delivery, base.clock),
            outbox,
            Round("reconciler", core.reconcile_once, seconds=base.settings.github.polling_seconds),
            Round(
                "missed deliveries",
                lambda: look_and_tell(missed, base.contact, base.clock),
                seconds=MISSED_SECONDS,
            ),
        ),
    )


def look_and_tell(missed: MissedDeliveries, contact: GitHubContact, clock: Clock) -> None:
    """One look through GitHub's deliveries; what comes of it is GitHub's health too.

    Raises:
        Refused: `github_unavailable`.
    """
    try:
        look = missed.look()
    except Refused as refused:
        contact.failed(clock.now(), refused.refusal.what)
        raise
    contact.reached(clock.now())
    if look.asked or look.given_up:
        logger.warning(
            "%d webhooks were lost and asked for again, %d never came", len(look.asked), len(look.given_up)
        )


@contextmanager
def only_one(data: Path) -> Iterator[None]:
    """Makes the data folder and holds it; a second bot on the same folder is refused.

    Raises:
        Refused: `settings_invalid`.
    """
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(data / "bot.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _cannot(f"the data folder {data}: {error.strerror}", "Make it writable for the bot.") from None
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _cannot(f"the data folder {data}: another bot works in it", "Stop the other bot.") from None
        yield
    finally:
        os.close(file)


def _policy(path: Path) -> Policy:
    try:
        return policy_file.load(path.read_bytes(), name=str(path))
    except OSError as error:
        raise _cannot(
            f"the policy {path}: {error.strerror}", "Name the policy file in the settings."
        ) from None
    except PolicyErrors as errors:
        raise _cannot(
            str(errors), "Correct the policy file; `ownergate policy check` shows the same."
        ) from None


def _cannot(what: str, remedy: str) -> Refused:
    return refuse(
        Code.SETTINGS_INVALID,
        what,
        rule="The bot starts only when everything it needs is right.",
        remedy=remedy,
    )
