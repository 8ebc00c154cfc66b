"""Events that come late: a switch of the simulator, for what really happens at GitHub now and then."""

from __future__ import annotations

import httpx2

from demo.stage import Stage


def late_events(stage: Stage, *, seconds: float) -> None:
    """Delays every webhook from now on."""
    _switch(stage, "webhooks", {"delay": seconds})


def on_time(stage: Stage) -> None:
    """Ends all lateness."""
    _switch(stage, "clear", {})


def _switch(stage: Stage, fault: str, arguments: dict[str, float]) -> None:
    url = f"{stage.github_url}/_simulator/faults/{fault}"
    httpx2.post(url, json=arguments, trust_env=False).raise_for_status()
