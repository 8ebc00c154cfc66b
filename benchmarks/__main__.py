"""`python -m benchmarks [name ...]`: measures, and prints one table at the end. Always ends with 0.

A benchmark is not a test: a bound that is missed is said in the last line, and is no failure. Only what
can't be measured at all ends with 1.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import textwrap
import time
from collections.abc import Callable

from benchmarks import catalogue, run, table
from benchmarks.figures import Row


def main() -> int:
    """Returns 0 when everything was measured, whatever came out."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures what ownergate promises, each number beside its floor in the same run.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"only these: {', '.join(catalogue.NAMES)} (default: all)"
    )
    parser.add_argument("--list", action="store_true", help="say what each one measures")
    parser.add_argument("--json", action="store_true", help="print JSON; progress goes to standard error")
    chosen = parser.parse_args()
    if unknown := sorted(set(chosen.names) - set(catalogue.NAMES)):
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(catalogue.NAMES)}")
    if chosen.list:
        for name in catalogue.NAMES:
            print(
                textwrap.fill(f"{name:<20} {catalogue.title(name)}", table.WIDTH, subsequent_indent=" " * 21)
            )
        return 0
    names = [name for name in catalogue.NAMES if name in chosen.names or not chosen.names]
    say = _teller(sys.stderr if chosen.json else sys.stdout)
    try:
        rows = _measure(names, say)
    except run.CannotMeasure as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    if chosen.json:
        print(json.dumps({"machine": _machine(), "rows": table.as_json(rows)}, indent=1))
        return 0
    print(f"\n{_machine()}\n")
    for line in table.lines(rows):
        print(line)
    return 0


def _measure(names: list[str], say: Callable[[str], None]) -> list[Row]:
    rows: list[Row] = []
    with run.started(say) as this:
        for name in names:
            say(f"== {name}")
            rows += catalogue.measure(name, this)
        say("ending what was started ...")
    return rows


def _teller(stream: object) -> Callable[[str], None]:
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:4.0f} s] {text}", file=stream, flush=True)  # type: ignore[call-overload]

    return say


def _machine() -> str:
    day = datetime.datetime.now(datetime.UTC).date()
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    python = platform.python_version()
    return f"{day}, {cores} cores, load {load:.1f} at the end, Python {python}, Linux {platform.release()}"


if __name__ == "__main__":
    sys.exit(main())
