"""A client of the bot's web application."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from bot.tokens import Role
from tests.unit.bot.ground import Ground

Headers = Callable[[Role], dict[str, str]]


@pytest.fixture
def client(ground: Ground) -> Iterator[TestClient]:
    with TestClient(ground.application()) as client:
        yield client


@pytest.fixture
def as_role(ground: Ground) -> Headers:
    """Headers that authenticate a new principal of that role."""
    return lambda role: {"Authorization": f"Bearer {ground.token(role)}"}
