"""A bot on the ground: real database, audit chain, inbox and web application, and a clock that tests move."""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event, insert, select
from starlette.types import ASGIApp

from bot import app, schema, web_server, webhook_events
from bot.api import agents, operators, runners
from bot.api.wiring import Wiring
from bot.audit_log import AuditLog
from bot.database import Database
from bot.github_contact import GitHubContact
from bot.inbox import Inbox
from bot.metrics import Metrics
from bot.notifier import Notifier
from bot.pause import Pause
from bot.tokens import Role, Tokens
from bot.webhook_signature import Signatures

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
SECRET = b"a webhook secret of these tests"
OLD_SECRET = b"the webhook secret before this one"
SERVES = webhook_events.Scope(repository_id=4242, installation_id=77)
ROUTERS = (agents.router, runners.router, operators.router)
DELIVERY_ID = "0b989ba4-242f-11e5-81e1-c7b6966d2516"


@dataclass(slots=True)
class MovableClock:
    """A clock that stands still until it is moved."""

    moment: datetime = NOW

    def now(self) -> datetime:
        """Where it stands."""
        return self.moment

    def move(self, **by: float) -> None:
        """Moves it; takes what `timedelta` takes."""
        self.moment += timedelta(**by)


@dataclass(slots=True)
class Ground:
    """Everything under one folder."""

    folder: Path
    clock: MovableClock = field(default_factory=MovableClock)
    database: Database = field(init=False)
    audit: AuditLog = field(init=False)
    wiring: Wiring = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.database = Database(f"sqlite:///{self.folder / 'bot.db'}")
        self.database.create()
        self.audit = AuditLog(self.database, self.tip_file)
        self.audit.open(at=self.clock.now())
        self.wiring = Wiring(
            database=self.database,
            audit=self.audit,
            tokens=Tokens(self.database, self.clock),
            notifier=Notifier(),
            clock=self.clock,
            inbox=Inbox(self.database, self.clock),
            metrics=Metrics(),
            pause=Pause(self.database, self.audit, self.clock),
            contact=GitHubContact(),
            core=None,  # type: ignore[arg-type]  # Requests are not asked for here.
        )

    @property
    def tip_file(self) -> Path:
        """Where the audit tip is kept."""
        return self.folder / "audit-tip" / "audit-tip.json"

    def application(self, *secrets: bytes, serves: webhook_events.Scope = SERVES) -> ASGIApp:
        """The web application."""
        signatures = Signatures(secrets or (SECRET,))
        return app.create(self.wiring, routers=ROUTERS, signatures=signatures, serves=serves)

    def token(self, role: Role) -> str:
        """A token of that role."""
        person = {"person_id": 7, "login": "alice"} if role is Role.AGENT else {}
        return self.wiring.tokens.create(name=f"a {role}", role=role, **person)

    def inbox_rows(self) -> list[Any]:
        """What stands in the inbox, by sequence."""
        with self.database.reading() as connection:
            return list(connection.execute(select(schema.inbox).order_by(schema.inbox.c.sequence)))

    def stop(self) -> None:
        """Ends what was started."""
        self.wiring.inbox.stop(2)
        self.database.close()


def payload(number: int = 12, **changes: Any) -> dict[str, Any]:
    """A pull request's event from the bot's own repository."""
    sent = {
        "action": "submitted",
        "pull_request": {"number": number},
        "repository": {"id": SERVES.repository_id, "full_name": "acme/infra"},
        "installation": {"id": SERVES.installation_id},
        "sender": {"id": 7, "login": "alice"},
    }
    return {**sent, **changes}


def body(number: int = 12, **changes: Any) -> bytes:
    """The same as bytes."""
    return json.dumps(payload(number, **changes)).encode()


def sign(content: bytes, secret: bytes = SECRET) -> str:
    """The value of X-Hub-Signature-256."""
    return "sha256=" + hmac.new(secret, content, "sha256").hexdigest()


def headers(content: bytes, **changes: str | None) -> dict[str, str]:
    """A delivery's headers; names are given with underscores, None leaves one out."""
    complete: dict[str, str | None] = {
        "content-type": "application/json",
        "x-github-event": "pull_request",
        "x-github-delivery": DELIVERY_ID,
        "x-hub-signature-256": sign(content),
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    return {name: value for name, value in complete.items() if value is not None}


def store(database: Database, number: int, *, guid: int, at: datetime = NOW) -> None:
    """Puts a delivery into the inbox as the receiver would have."""
    content = body(number)
    with database.transaction() as connection:
        connection.execute(
            insert(schema.inbox).values(
                delivery_id=f"{guid:08d}-0000-0000-0000-000000000000",
                event="pull_request",
                subject=f"#{number}",
                body=content,
                body_sha256="0" * 64,
                received_at=at,
                state="waiting",
                next_attempt_at=at,
            )
        )


@contextmanager
def listening(application: ASGIApp) -> Iterator[int]:
    """Serves an application on this machine from a thread; yields the port."""
    with web_server.door(("127.0.0.1", 0)) as door:
        server = web_server.make(application)
        thread = threading.Thread(target=asyncio.run, args=(server.serve(sockets=[door]),))
        thread.start()
        try:
            yield door.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def full_disk(database: Database) -> Iterator[None]:
    """While the block lasts the database can't grow: SQLite answers every new page with SQLITE_FULL."""

    def limit(connection: Any, _entry: Any) -> None:
        # A limit below the present size is raised to it by SQLite, so this says "not one page more".
        connection.execute("PRAGMA max_page_count = 1")

    event.listen(Engine, "connect", limit)
    database.close()
    try:
        yield
    finally:
        event.remove(Engine, "connect", limit)
        database.close()
