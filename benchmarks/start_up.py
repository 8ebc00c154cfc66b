"""Starting: `ownergate --help`, and an MCP server's time to its first tool list.

Floors: a bare Python that does nothing, and a Python that imports the MCP library and does nothing.
Everything is a process of its own, in turn.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks import figures
from benchmarks.figures import Row, Series
from benchmarks.run import CannotMeasure, Run
from demo import processes
from demo.agent import connected
from demo.stage import Stage

TIMES = 20
WARM_UP = 2
HELP_OVER_PYTHON_MILLISECONDS = 150.0
_BARE = (sys.executable, "-c", "pass")
_HELP = (processes.OWNERGATE, "--help")
_IMPORT_MCP = (sys.executable, "-c", "import mcp, mcp.server, mcp.server.stdio")


def measure(run: Run) -> Sequence[Row]:
    """Both medians against their floors."""
    run.say(f"{TIMES} starts of `ownergate --help`, in turn with a bare Python ...")
    bare, shown, note = _in_turn(_BARE, _HELP)
    stage = run.stage()
    run.say(f"{TIMES} starts of `ownergate mcp` up to the tool list, in turn with `import mcp` ...")
    imported, listed = asyncio.run(_lists(stage))
    return (
        figures.at_most(
            "ownergate --help",
            figures.milliseconds(shown),
            bare.median + HELP_OVER_PYTHON_MILLISECONDS,
            floor=figures.milliseconds(bare),
            floor_is="a Python that does nothing",
            notes=(f"{shown.median - bare.median:.0f} ms over bare Python; {note}",),
        ),
        Row(
            what="MCP server, to first tools/list",
            measured=figures.milliseconds(listed),
            floor=figures.milliseconds(imported),
            floor_is="a Python that only imports `mcp.server`",
            notes=(f"{listed.median - imported.median:.0f} ms over the import; no bound was promised",),
        ),
    )


def _in_turn(floor: Sequence[str], ours: Sequence[str]) -> tuple[Series, Series, str]:
    """The times of both commands, and their processor time, which a busy machine stretches less."""
    times: tuple[list[float], list[float]] = ([], [])
    used = [0.0, 0.0]
    for number in range(WARM_UP + TIMES):
        for which, command in enumerate((floor, ours)):
            before = _processor_milliseconds()
            took = _started(command)
            if number >= WARM_UP:
                times[which].append(took)
                used[which] += (_processor_milliseconds() - before) / TIMES
    note = f"mean processor time {used[1]:.0f} ms against {used[0]:.0f} ms"
    return Series(tuple(times[0])), Series(tuple(times[1])), note


def _started(command: Sequence[str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    took = (time.perf_counter() - began) * 1000
    if done.returncode:
        raise CannotMeasure(f"`{' '.join(command)}` failed: {done.stderr.decode()[:500]}")
    return took


def _processor_milliseconds() -> float:
    """What all children that have ended used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


async def _lists(stage: Stage) -> tuple[Series, Series]:
    imports: list[float] = []
    lists: list[float] = []
    for number in range(WARM_UP + TIMES):
        imported = await asyncio.to_thread(_started, _IMPORT_MCP)
        began = time.perf_counter()
        async with connected(stage.bot_url, stage.agent_token_file) as agent:
            tools = await agent.tools()
            listed = (time.perf_counter() - began) * 1000
        if "sandbox_report" not in tools:
            raise CannotMeasure(f"The tool list is not the policy's: {', '.join(tools)}")
        if number >= WARM_UP:
            imports.append(imported)
            lists.append(listed)
    return Series(tuple(imports)), Series(tuple(lists))
