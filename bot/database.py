"""The bot's database: one writer at a time, every commit on the disk before anyone is answered.

    with database.transaction() as connection:   # reads and writes, all or nothing
    with database.reading() as connection:       # a consistent view; writes are not meant here

SQLite only, for now one process that writes. Several bots need PostgreSQL: an engine beside
`bot.sqlite`, and row locks where this module takes its one lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy
from sqlalchemy import Connection, inspect, select

from bot import schema, sqlite
from policy.refusal import Code, Refusal, Refused


class DatabaseUnavailable(Refused):
    """The database can't be used: read-only, full, locked, damaged, of another version."""


class Database:
    """The database at one URL, `sqlite:////folder/bot.db`. Safe for threads."""

    def __init__(self, url: str) -> None:
        """Opens nothing yet.

        Raises:
            DatabaseUnavailable: when the URL is not of a kind of database that the bot knows.
        """
        parsed = sqlalchemy.make_url(url)
        if parsed.get_backend_name() != "sqlite" or not parsed.database:
            raise DatabaseUnavailable(
                sqlite.unavailable(
                    parsed.render_as_string(hide_password=True),
                    "it is not an SQLite file",
                    "Use a URL of the form sqlite:////folder/bot.db.",
                )
            )
        self._place = parsed.database
        self._engine = sqlite.engine(url)
        self._writer = threading.Lock()
        self._writing_thread: int | None = None
        self._after_commit: dict[str, Callable[[], None]] = {}
        self.write_failure: Refusal | None = None
        """Why the last transaction could not be written; None when it was."""

    def create(self) -> None:
        """Makes the tables in a new database; leaves one of the right version as it is.

        Every module that defines tables must have been imported.

        Raises:
            DatabaseUnavailable: also for a database of another version.
        """
        with self.transaction() as connection:
            if not inspect(connection).get_table_names():
                schema.metadata.create_all(connection)
                connection.execute(schema.schema_version.insert().values(id=1, version=schema.VERSION))
        self.check_version()

    def check_version(self) -> None:
        """Checks that the database is one of this version of the bot, with all its tables.

        Raises:
            DatabaseUnavailable: with `database_version` or `database_unavailable`.
        """
        with self.reading() as connection:
            tables = set(inspect(connection).get_table_names())
            version = None
            if schema.schema_version.name in tables:
                version = connection.scalar(select(schema.schema_version.c.version))
        missing = sorted(set(schema.metadata.tables) - tables)
        if version != schema.VERSION or missing:
            found = f"version {version}" if version is not None else "no database of the bot"
            without = f" without {', '.join(missing)}" if missing and version == schema.VERSION else ""
            raise DatabaseUnavailable(
                Refusal(
                    code=Code.DATABASE_VERSION,
                    what=f"the database {self._place} is {found}{without}, the bot needs {schema.VERSION}",
                    rule="A database of another version is never opened.",
                    remedy="Start the version of ownergate that made it, or set `data` to a new folder.",
                )
            )

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction that may write: committed at the end, rolled back on any exception.

        Writers wait for each other. A thread that is in a transaction can't open another one.

        Raises:
            DatabaseUnavailable: when the database can't be written; nothing of it was.
            RuntimeError: when this thread is in a transaction already, a mistake of the program.
        """
        try:
            with self._sole_writer(), self._explained():
                self._after_commit.clear()
                with self._engine.connect() as connection:
                    writing = connection.execution_options(**{sqlite.WRITING: True})
                    with writing.begin():
                        yield writing
                for action in tuple(self._after_commit.values()):
                    action()
        except DatabaseUnavailable as error:
            self.write_failure = error.refusal
            raise
        self.write_failure = None

    def after_commit(self, name: str, action: Callable[[], None]) -> None:
        """Has `action` run once the present transaction is committed, before the next one begins.

        Only to be called inside `transaction`, by its thread. A later action of the same name takes the
        earlier one's place. The transaction stands whatever the action does, so it must not raise.
        """
        if self._writing_thread != threading.get_ident():
            raise RuntimeError("after_commit is only for the thread whose transaction is open")
        self._after_commit[name] = action

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A consistent view of what is committed; waits for nobody.

        Raises:
            DatabaseUnavailable: when the database can't be read.
        """
        with self._explained(), self._engine.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Closes all connections that nobody uses."""
        self._engine.dispose()

    @contextmanager
    def _sole_writer(self) -> Iterator[None]:
        if self._writing_thread == threading.get_ident():
            raise RuntimeError("this thread has a transaction open already; use its connection")
        if not self._writer.acquire(timeout=sqlite.BUSY_SECONDS):
            why = f"another writer has held it for {sqlite.BUSY_SECONDS:g} seconds"
            raise DatabaseUnavailable(sqlite.unavailable(self._place, why, "Try again."))
        self._writing_thread = threading.get_ident()
        try:
            yield
        finally:
            self._writing_thread = None
            self._writer.release()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlalchemy.exc.SQLAlchemyError as error:
            refusal = sqlite.meaning(error, place=self._place)
            if refusal is None:
                raise
            raise DatabaseUnavailable(refusal) from None
