"""How the story is told: chapters, plain sentences, real output; colours only for a terminal."""

from __future__ import annotations

import os
import sys
import textwrap
import time

WIDTH = 96


class StepFailed(Exception):  # noqa: N818  A state of the story.
    """Something in the story did not hold; the demo ends with a failure."""


class Teller:
    """Prints the story and counts what was checked."""

    def __init__(self) -> None:
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._start = time.monotonic()
        self._chapter = 0
        self.checks = 0

    def chapter(self, title: str) -> None:
        """Begins a chapter."""
        self._chapter += 1
        seconds = time.monotonic() - self._start
        self._print(f"\n{self._chapter}. {title}", style="1", end=f"   [{seconds:.0f} s]\n")

    def say(self, text: str) -> None:
        """One or more sentences."""
        for line in textwrap.wrap(text, WIDTH - 3, break_long_words=False, break_on_hyphens=False):
            self._print(f"   {line}")

    def show(self, text: str, *, most: int = 40) -> None:
        """Real output, as it came; long output is cut, and says so."""
        lines = text.rstrip("\n").split("\n")
        for line in lines[:most]:
            self._print(f"   │ {line}", style="36")
        if len(lines) > most:
            self._print(f"   │ … {len(lines) - most} more lines", style="2")

    def fact(self, name: str, value: object) -> None:
        """One named value."""
        self._print(f"   {name + ':':<22} {value}", style="36")

    def hold(self, holds: bool, sentence: str) -> None:
        """One thing that must be so.

        Raises:
            StepFailed: when it isn't.
        """
        if not holds:
            self.fail(sentence)
            raise StepFailed(sentence)
        self.checks += 1
        self._print(f"   ✓ {sentence}", style="32")

    def fail(self, sentence: str) -> None:
        """Shows one thing that was not so."""
        self._print(f"   ✗ {sentence}", style="31")

    def end(self) -> None:
        """The last line."""
        seconds = time.monotonic() - self._start
        self._print(f"\nEvery step held: {self.checks} checks in {seconds:.0f} seconds.", style="1;32")

    def _print(self, text: str, *, style: str = "", end: str = "\n") -> None:
        if self._colour and style:
            text = f"\033[{style}m{text}\033[0m"
        print(text, end=end, flush=True)
