"""A read-only call: agent, MCP, bot, runner, lease, gVisor and back.

The tool is `sandbox_report` of the shipped policy: two steps, so two sandboxes, and a lease of OpenBao's
that is seen powerless before the output is released. The client is a real one over stdio. The floor is
the same two commands in two bare `runsc run`, measured in turn with the calls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from benchmarks import bare_runsc, figures
from benchmarks.bare_runsc import BareRunsc
from benchmarks.figures import Row, Series
from benchmarks.run import CannotMeasure, Run
from demo.agent import Agent, connected
from demo.stage import Stage

TOOL = "sandbox_report"
CALLS = 40
WARM_UP = 3
FACTOR = 1.25
ALLOWANCE_MILLISECONDS = 50.0


def measure(run: Run) -> Sequence[Row]:
    """The median of the calls against the floor's."""
    stage = run.stage()
    run.say(f"{CALLS} calls, each in turn with the same commands in bare runsc ...")
    with bare_runsc.of_tool(stage, TOOL) as bare:
        calls, floor = asyncio.run(_measure(stage, bare))
    limit = FACTOR * floor.median + ALLOWANCE_MILLISECONDS
    over = calls.median - floor.median
    row = figures.at_most(
        "read-only call through MCP, p50",
        figures.milliseconds(calls),
        limit,
        floor=figures.milliseconds(floor),
        floor_is="the same two commands in two bare `runsc run`",
        notes=(f"bound: {FACTOR} x floor + {ALLOWANCE_MILLISECONDS:.0f} ms; {over:.0f} ms over the floor",),
    )
    return (row,)


async def _measure(stage: Stage, bare: BareRunsc) -> tuple[Series, Series]:
    ours: list[float] = []
    floor: list[float] = []
    async with connected(stage.bot_url, stage.agent_token_file) as agent:
        for number in range(WARM_UP + CALLS):
            # In a thread, so that the client's own loop lives on as it does in an editor.
            least = await asyncio.to_thread(bare.run)
            took = await _call(agent)
            if number >= WARM_UP:
                floor.append(least)
                ours.append(took)
    return Series(tuple(ours)), Series(tuple(floor))


async def _call(agent: Agent) -> float:
    began = time.perf_counter()
    answer = await agent.call(TOOL)
    took = (time.perf_counter() - began) * 1000
    if answer.data.get("state") != "succeeded" or not answer.data["result"]["leases"]:
        raise CannotMeasure(f"A read-only call did not succeed: {answer.text}")
    return took
