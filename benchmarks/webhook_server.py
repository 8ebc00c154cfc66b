"""The bot's webhook door in a process of its own: the real receiver, inbox, database and worker.

Only what comes behind the door is small: each delivery is written down once, in the transaction that
marks it as done. `python -m benchmarks.webhook_server FOLDER` prints its port; with `--floor` it answers
202 and does nothing else, which is what the web server alone can do.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Integer, String, Table
from starlette.types import Receive, Scope, Send

from bot import app, schema, web_server, webhook_events
from bot.api.wiring import Wiring
from bot.audit_log import AuditLog
from bot.clock import SystemClock
from bot.database import Database
from bot.delivery import Delivery
from bot.github_contact import GitHubContact
from bot.inbox import Inbox
from bot.inbox_worker import InboxWorker
from bot.metrics import Metrics
from bot.notifier import Notifier
from bot.pause import Pause
from bot.tokens import Tokens
from bot.webhook_signature import Signatures

SECRET = b"a secret of the benchmark, nothing else"
REPOSITORY_ID = 4242
INSTALLATION_ID = 77

effects = Table(
    "effects",
    schema.metadata,
    Column("sequence", Integer, primary_key=True),
    # Not unique: an effect that happened twice has to be seen, not prevented.
    Column("delivery_id", String(36), nullable=False),
)
"""What the handler did."""


def real(folder: Path) -> tuple[Any, Inbox, InboxWorker]:
    """The bot's application over a database in `folder`, with its inbox and worker."""
    clock = SystemClock()
    database = Database(f"sqlite:///{folder / 'bot.db'}")
    database.create()
    audit = AuditLog(database, folder / "audit-tip" / "audit-tip.json")
    audit.open(at=clock.now())
    inbox = Inbox(database, clock)

    def handle(delivery: Delivery) -> None:
        with database.transaction() as connection:
            connection.execute(effects.insert().values(delivery_id=delivery.id))
            inbox.finish(connection, delivery)

    wiring = Wiring(
        database=database,
        audit=audit,
        tokens=Tokens(database, clock),
        notifier=Notifier(),
        clock=clock,
        inbox=inbox,
        metrics=Metrics(),
        pause=Pause(database, audit, clock),
        contact=GitHubContact(),
        core=None,  # type: ignore[arg-type]  # No request is made here.
    )
    application = app.create(
        wiring,
        routers=(),
        signatures=Signatures([SECRET]),
        serves=webhook_events.Scope(repository_id=REPOSITORY_ID, installation_id=INSTALLATION_ID),
    )
    return application, inbox, InboxWorker(database, inbox, handle, clock)


async def floor(_scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body and answers 202."""
    while (await receive()).get("more_body", False):
        pass
    await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})


def main() -> None:
    """Serves until it is killed."""
    parser = argparse.ArgumentParser(prog="benchmarks.webhook_server")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--idle", action="store_true", help="store deliveries and handle none")
    chosen = parser.parse_args()
    listening = web_server.door(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    if chosen.floor:
        web_server.make(floor).run(sockets=[listening])
        return
    application, inbox, worker = real(chosen.folder)
    inbox.start()
    if not chosen.idle:
        worker.start()
    web_server.make(application).run(sockets=[listening])


if __name__ == "__main__":
    main()
