"""One running product for each test process; skipped, with the reason, where a program is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from demo import requirements
from tests.scenarios import product
from tests.scenarios.product import Product

SECONDS = 300
"""A test may have to wait for the product to start, on a machine that does other things too."""


BREAKING = {"test_crashes", "test_outages", "test_plans"}
"""Files that break parts of the product; they share one, and the other files share another."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives every scenario the time that the product's start takes, and a place in one of two groups.

    A start costs more than most scenarios, so with several processes only two of them start it.
    """
    here = Path(__file__).parent
    for item in items:
        if here not in item.path.parents:
            continue
        item.add_marker(pytest.mark.xdist_group("breaking" if item.path.stem in BREAKING else "whole"))
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The product, started at first need."""
    missing = [program.name for program in requirements.missing()]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not on this machine")
    with product.running(tmp_path_factory.mktemp("product")) as started:
        yield started


@pytest.fixture
def ownergate(whole: Product) -> Product:
    """The product with everything running and nothing wrong at GitHub."""
    whole.running.github.faults.clear()
    return whole
