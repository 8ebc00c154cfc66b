"""One built image and one sandbox home for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.sandbox.runsc import RunscSandbox
from tests import sandboxes


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sandboxes.build_images(tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="session")
def sandbox(images: Path) -> Iterator[RunscSandbox]:
    with sandboxes.home(images) as home:
        yield home
