"""The benchmarks by name, in the order in which they run: those that need a quiet machine come first."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from benchmarks.figures import Row
from benchmarks.run import Run

NAMES = ("webhooks", "claim", "start_up", "read_call", "approval_to_sandbox")
"""Module names below `benchmarks`. The first three don't need the whole product, except for one number."""


def title(name: str) -> str:
    """The first line of the module's docstring."""
    doc = importlib.import_module(f"benchmarks.{name}").__doc__ or name
    return doc.strip().partition("\n")[0]


def measure(name: str, run: Run) -> Sequence[Row]:
    """Runs one benchmark."""
    function: Callable[[Run], Sequence[Row]] = importlib.import_module(f"benchmarks.{name}").measure
    return function(run)
