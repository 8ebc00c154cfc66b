"""A hold on one running sandbox, whatever does the holding."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Hold(Protocol):
    """Holds one sandbox to its memory, CPU and processes from before it starts until it is gone."""

    def entry(self) -> tuple[Path, ...]:
        """Files into which the first process writes its id before it becomes the sandbox."""
        ...

    def tool_starts(self) -> None:
        """Called when the sandbox is up and its tool is about to run: from here on CPU counts.

        The sandbox's own start is not the tool's time, and throttling it would only delay the answer.
        """
        ...

    def exceeded(self, root_process: int) -> str | None:
        """Which limit was exceeded, as a sentence; None while all are kept.

        Args:
            root_process: id of the process that the sandbox descends from.
        """
        ...

    def remaining(self) -> frozenset[int]:
        """Host process ids that are still held; empty when none are, or when the hold can't tell."""
        ...

    def release(self) -> None:
        """Gives up the hold; called when the processes are gone."""
        ...
