"""What is special about SQLite: how connections are opened and begun, and what its errors mean.

A database server takes the place of this module beside it, not inside it: `database` asks for an
engine and for the meaning of an error, and knows nothing else of SQLite.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, Engine, event
from sqlalchemy.pool import ConnectionPoolEntry

from policy import refusal
from policy.refusal import Code, Refusal

BUSY_SECONDS = 5.0
"""How long a writer waits for another one, in this process or another, before it is told no."""

WRITING = "ownergate_writing"
"""Execution option of connections whose transaction takes the write lock at once."""


def engine(url: str) -> Engine:
    """An engine over one database file, in WAL mode, with every commit on the disk when it returns."""
    made = sqlalchemy.create_engine(url, pool_size=8, max_overflow=56, pool_timeout=BUSY_SECONDS)
    event.listen(made, "connect", _prepare)
    event.listen(made, "begin", _begin)
    return made


def _prepare(connection: Any, _entry: ConnectionPoolEntry) -> None:
    # Python's own transaction handling would begin late and deferred; `_begin` does it instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    # A database that can only be read refuses the change of mode; its writers are told so later.
    mode = cursor.execute("PRAGMA journal_mode").fetchone()[0]
    if mode != "wal":
        cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA journal_size_limit = 67108864")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA trusted_schema = OFF")
    cursor.close()


def _begin(connection: Connection) -> None:
    # IMMEDIATE: a transaction that reads first and writes later could otherwise fail in the middle
    # because another one wrote between.
    writing = connection.get_execution_options().get(WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


_DATABASE_RULE = "Nothing is decided or answered that could not be recorded."

_MEANINGS: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_READONLY: ("it can only be read", "Give the bot's user write access to file and folder."),
    sqlite3.SQLITE_FULL: ("the disk is full", "Free space on the disk; nothing that was answered is lost."),
    sqlite3.SQLITE_BUSY: ("another process holds its lock", "Stop what else writes to it, then try again."),
    sqlite3.SQLITE_LOCKED: ("another connection holds its lock", "Try again."),
    sqlite3.SQLITE_NOTADB: ("the file is not a database", "Set `data` to the right folder or restore it."),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", "Restore a backup, then start with --accept-restore."),
    sqlite3.SQLITE_CANTOPEN: ("the file can't be opened", "Create its folder and let the bot's user write."),
    sqlite3.SQLITE_IOERR: ("the disk reports an error", "Look at the system's log, repair the disk."),
}


def meaning(error: BaseException, *, place: str) -> Refusal | None:
    """What an error of the driver says about the database as a whole.

    Args:
        error: what the driver or SQLAlchemy raised.
        place: the file, for the person who reads it.

    Returns:
        None when the error is about a statement (a constraint, a mistake of the program).
    """
    if isinstance(error, sqlalchemy.exc.TimeoutError):
        return unavailable(place, "all its connections are in use", "Try again; the bot is overloaded.")
    original = error.orig if isinstance(error, sqlalchemy.exc.DBAPIError) else error
    code = getattr(original, "sqlite_errorcode", None)
    if code is None:
        return None
    # The low byte is the primary result code, the rest says more exactly what happened
    # (sqlite.org/rescode.html, "Result Codes versus Error Codes").
    found = _MEANINGS.get(code & 0xFF)
    return unavailable(place, *found) if found else None


def unavailable(place: str, why: str, remedy: str) -> Refusal:
    """The refusal for a database that can't be used now."""
    return refusal.Refusal(
        code=Code.DATABASE_UNAVAILABLE,
        what=f"the database {place}: {why}",
        rule=_DATABASE_RULE,
        remedy=remedy,
    )
