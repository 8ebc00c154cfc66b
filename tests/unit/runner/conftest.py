"""One stack around a runner for the tests that need the real parts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import runner_stack
from tests.runner_stack import Stack
from tests.unit.runner import examples


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with runner_stack.running(tmp_path_factory.mktemp("stack"), examples.TEXT) as made:
        yield made
        assert made.forge.github.violations == []
