"""The database: one writer, all or nothing, and a clear word when it can't be used."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import IntegrityError, StatementError

from bot import schema, sqlite
from bot.database import Database, DatabaseUnavailable
from policy.refusal import Code
from tests.unit.bot.ground import NOW, Ground, full_disk


def remember(database: Database, name: str) -> None:
    with database.transaction() as connection:
        connection.execute(insert(schema.bot_settings).values(name=name, value="", changed_at=NOW))


def fail_in_the_middle(database: Database, *, after_commit: Callable[[], None] = lambda: None) -> None:
    with database.transaction() as connection:
        connection.execute(insert(schema.bot_settings).values(name="a", value="", changed_at=NOW))
        database.after_commit("look", after_commit)
        raise ZeroDivisionError


def remember_two(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute(insert(schema.bot_settings).values(name="small", value="", changed_at=NOW))
        large = {"name": "large", "value": "x" * 200_000, "changed_at": NOW}
        connection.execute(insert(schema.bot_settings).values(large))


def remember_at(database: Database, moment: datetime) -> None:
    with database.transaction() as connection:
        connection.execute(insert(schema.bot_settings).values(name="a", value="", changed_at=moment))


def remembered(database: Database) -> list[str]:
    with database.reading() as connection:
        return list(connection.scalars(select(schema.bot_settings.c.name)))


def test_a_transaction_stands_or_falls_as_one(ground: Ground) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_in_the_middle(ground.database)
    assert remembered(ground.database) == []
    remember(ground.database, "b")
    assert remembered(ground.database) == ["b"]


def test_every_commit_is_synced_and_in_wal_mode(ground: Ground) -> None:
    with ground.database.transaction() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(text("PRAGMA synchronous")) == 2
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1


def test_a_transaction_holds_the_write_lock_from_its_beginning(ground: Ground) -> None:
    with ground.database.transaction():
        other = sqlite3.connect(ground.folder / "bot.db", timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()


def test_readers_don_t_wait_for_the_writer_and_see_what_is_committed(ground: Ground) -> None:
    with ground.database.transaction() as connection:
        connection.execute(insert(schema.bot_settings).values(name="a", value="", changed_at=NOW))
        assert remembered(ground.database) == []
    assert remembered(ground.database) == ["a"]


def test_a_read_s_view_doesn_t_change_under_it(ground: Ground) -> None:
    with ground.database.reading() as connection:
        query = select(schema.bot_settings.c.name)
        assert connection.scalars(query).all() == []
        remember(ground.database, "a")
        assert connection.scalars(query).all() == []


def test_writers_of_many_threads_take_turns(ground: Ground) -> None:
    def count_up() -> None:
        for _ in range(25):
            with ground.database.transaction() as connection:
                value = int(connection.scalar(select(schema.bot_settings.c.value)) or 0)
                connection.execute(schema.bot_settings.update().values(value=str(value + 1)))

    remember(ground.database, "count")
    threads = [threading.Thread(target=count_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with ground.database.reading() as connection:
        assert connection.scalar(select(schema.bot_settings.c.value)) == "200"


def test_a_transaction_inside_another_is_a_mistake_that_is_named(ground: Ground) -> None:
    with ground.database.transaction(), pytest.raises(RuntimeError, match="open already"):  # noqa: SIM117
        with ground.database.transaction():
            pass
    remember(ground.database, "still usable")


def test_after_commit_runs_once_after_the_commit_and_never_after_a_rollback(ground: Ground) -> None:
    seen: list[list[str]] = []
    with ground.database.transaction() as connection:
        connection.execute(insert(schema.bot_settings).values(name="z", value="", changed_at=NOW))
        for _ in range(3):
            ground.database.after_commit("look", lambda: seen.append(remembered(ground.database)))
        assert seen == []
    assert seen == [["z"]]
    with pytest.raises(ZeroDivisionError):
        fail_in_the_middle(ground.database, after_commit=lambda: seen.append([]))
    remember(ground.database, "b")
    assert seen == [["z"]]
    with pytest.raises(RuntimeError, match="only for the thread"):
        ground.database.after_commit("look", lambda: None)


def test_a_full_disk_is_named_and_nothing_is_half_written(ground: Ground) -> None:
    with full_disk(ground.database):
        with pytest.raises(DatabaseUnavailable) as caught:
            remember_two(ground.database)
        assert caught.value.refusal.code is Code.DATABASE_UNAVAILABLE
        assert "the disk is full" in caught.value.refusal.what
        assert str(ground.folder / "bot.db") in caught.value.refusal.what
        assert ground.database.write_failure == caught.value.refusal
    assert remembered(ground.database) == []
    remember(ground.database, "after")
    assert ground.database.write_failure is None


def test_a_read_only_database_is_named_and_can_still_be_read(ground: Ground) -> None:
    remember(ground.database, "a")
    database = Database(f"sqlite:///file:{ground.folder / 'bot.db'}?mode=ro&uri=true")
    assert remembered(database) == ["a"]
    with pytest.raises(DatabaseUnavailable, match="can only be read"):
        remember(database, "b")
    database.close()


def test_a_lock_that_another_process_keeps_is_named(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    ground.database.close()
    other = sqlite3.connect(ground.folder / "bot.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseUnavailable, match="holds its lock"):
        remember(ground.database, "a")
    other.close()
    remember(ground.database, "a")


def test_a_lock_that_another_thread_keeps_is_named(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with ground.database.transaction():
            entered.set()
            leave.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(10)
    with pytest.raises(DatabaseUnavailable, match="another writer has held it"):
        remember(ground.database, "a")
    leave.set()
    holder.join()


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "bot.db").write_bytes(b"these are my notes, not a database " * 100)
    with pytest.raises(DatabaseUnavailable, match="not a database"):
        Database(f"sqlite:///{tmp_path / 'bot.db'}").create()


def test_a_damaged_database_is_named(ground: Ground) -> None:
    remember(ground.database, "a")
    ground.database.close()
    with sqlite3.connect(ground.folder / "bot.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray((ground.folder / "bot.db").read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    (ground.folder / "bot.db").write_bytes(content)
    with pytest.raises(DatabaseUnavailable, match="damaged"):
        remembered(ground.database)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="can't be opened"):
        Database(f"sqlite:///{tmp_path / 'nowhere' / 'bot.db'}").create()


@pytest.mark.parametrize("url", ["postgresql://bot:hunter2@db/bot", "sqlite://", "sqlite:///"])
def test_another_kind_of_database_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match="not an SQLite file") as caught:
        Database(url)
    assert "hunter2" not in caught.value.refusal.text()


@pytest.mark.parametrize("version", [0, schema.VERSION + 1])
def test_a_database_of_another_version_is_never_opened(ground: Ground, version: int) -> None:
    with ground.database.transaction() as connection:
        connection.execute(schema.schema_version.update().values(version=version))
    with pytest.raises(DatabaseUnavailable, match=f"version {version}, the bot needs") as caught:
        ground.database.create()
    assert caught.value.refusal.code is Code.DATABASE_VERSION


def test_a_database_of_something_else_is_never_opened(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "bot.db") as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    database = Database(f"sqlite:///{tmp_path / 'bot.db'}")
    with pytest.raises(DatabaseUnavailable, match="no database of the bot"):
        database.create()
    database.close()


def test_a_database_that_lacks_a_table_is_never_opened(ground: Ground) -> None:
    with ground.database.transaction() as connection:
        connection.exec_driver_sql("DROP TABLE inbox")
    with pytest.raises(DatabaseUnavailable, match="without inbox"):
        ground.database.check_version()


def test_making_it_again_keeps_what_is_there(ground: Ground) -> None:
    remember(ground.database, "a")
    ground.database.create()
    assert remembered(ground.database) == ["a"]


def test_a_broken_rule_of_a_table_is_the_program_s_mistake(ground: Ground) -> None:
    remember(ground.database, "a")
    with pytest.raises(IntegrityError):
        remember(ground.database, "a")


def test_moments_come_back_as_they_went_in(ground: Ground) -> None:
    remember(ground.database, "a")
    with ground.database.reading() as connection:
        moment = connection.scalar(select(schema.bot_settings.c.changed_at))
    assert moment == NOW
    assert moment is not None
    assert moment.tzinfo is not None


def test_a_moment_without_a_zone_is_refused(ground: Ground) -> None:
    with pytest.raises(StatementError, match="without a time zone"):
        remember_at(ground.database, NOW.replace(tzinfo=None))
