"""What the bot remembers about itself: one value a name, with when it was set."""

from __future__ import annotations

from datetime import timedelta

from bot import memory
from bot.memory import Remembered
from tests.unit.bot.ground import NOW, Ground


def test_a_value_is_remembered_replaced_and_forgotten(ground: Ground) -> None:
    later = NOW + timedelta(seconds=1)
    with ground.database.transaction() as connection:
        assert memory.recall(connection, "a") is None
        memory.remember(connection, "a", "one", at=NOW)
        memory.remember(connection, "b", "other", at=NOW)
        assert memory.recall(connection, "a") == Remembered(value="one", changed_at=NOW)
        memory.remember(connection, "a", "two", at=later)
        assert memory.recall(connection, "a") == Remembered(value="two", changed_at=later)
        assert memory.forget(connection, "a")
        assert not memory.forget(connection, "a")
        assert memory.recall(connection, "a") is None
        assert memory.recall(connection, "b") == Remembered(value="other", changed_at=NOW)
