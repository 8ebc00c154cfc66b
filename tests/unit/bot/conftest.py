"""Fixtures of the bot's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.bot.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    """A bot's database, audit chain, inbox and application in a folder of their own."""
    laid = Ground(tmp_path / "bot")
    yield laid
    laid.stop()
