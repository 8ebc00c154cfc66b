"""`/api/v1` for agents: tools, requests, the sandbox. No route here can approve anything."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from bot.api import bodies, wiring
from bot.api.authentication import Agent
from bot.core import Core
from bot.notifier import Notifier
from bot.tokens import Principal
from bot.unit_of_work import request_topic
from policy.agent_protocol import (
    LONGEST_WAIT_SECONDS,
    CallRequest,
    RequestList,
    RequestView,
    SandboxStatus,
    ToolList,
)
from policy.states import State, Tier

router = APIRouter(prefix="/api/v1", tags=["agents"])

WORKING = frozenset({State.RECEIVED, State.PLANNING, State.RUNNING})
"""States in which a new call is waited for: it needs no person yet."""


@router.get("/tools", response_model=ToolList)
def tools(request: Request, _agent: Agent) -> Response:
    """What the policy declares."""
    return bodies.answer(wiring.of(request).core.tools())


@router.post("/requests", response_model=RequestView, openapi_extra=bodies.described(CallRequest))
async def submit(request: Request, agent: Agent) -> Response:
    """Calls a tool. Waits for a read or a plan as long as the call says, never for people."""
    call = await bodies.read(request, CallRequest, what="the call", limit=bodies.LARGEST_WITH_SOURCE)
    parts = wiring.of(request)
    view = await run_in_threadpool(parts.core.submit, agent, call)
    view = await _wait(parts.core, parts.notifier, agent, view, call.wait_seconds, WORKING)
    return bodies.answer(view)


@router.get("/requests", response_model=RequestList)
def own_requests(request: Request, agent: Agent) -> Response:
    """The caller's own requests, newest first."""
    return bodies.answer(wiring.of(request).core.list(agent))


@router.get("/requests/{request_id}", response_model=RequestView)
async def check(
    request: Request,
    agent: Agent,
    request_id: str,
    wait_seconds: Annotated[int, Query(ge=0, le=LONGEST_WAIT_SECONDS)] = 0,
    seen_state: State | None = None,
) -> Response:
    """One request; with `seen_state`, waits until it is in another state."""
    parts = wiring.of(request)
    view = await run_in_threadpool(parts.core.view, agent, request_id)
    seen = frozenset({seen_state}) if seen_state is not None else frozenset({view.state})
    view = await _wait(parts.core, parts.notifier, agent, view, wait_seconds, seen)
    return bodies.answer(view)


@router.post("/requests/{request_id}/cancel", response_model=RequestView)
def cancel(request: Request, agent: Agent, request_id: str) -> Response:
    """Takes a request back."""
    return bodies.answer(wiring.of(request).core.cancel(agent, request_id))


@router.get("/sandbox", response_model=SandboxStatus)
def sandbox(request: Request, _agent: Agent) -> Response:
    """The runners and the proof of their isolation."""
    return bodies.answer(wiring.of(request).core.sandbox_status())


async def _wait(
    core: Core,
    notifier: Notifier,
    agent: Principal,
    view: RequestView,
    seconds: int,
    states: frozenset[State],
) -> RequestView:
    """Waits while the request is in one of these states, without holding a thread."""
    until = time.monotonic() + min(seconds, LONGEST_WAIT_SECONDS)
    with notifier.watch(request_topic(view.id)) as watch:
        # What changed between the first look and the watch is seen by looking again before waiting.
        view = await run_in_threadpool(core.view, agent, view.id)
        while not view.final and view.state in _worth_waiting(view, states):
            if not await watch.wait(until - time.monotonic()):
                return view
            view = await run_in_threadpool(core.view, agent, view.id)
    return view


def _worth_waiting(view: RequestView, states: frozenset[State]) -> frozenset[State]:
    # A destructive request is `running` only after people decided; a new call never waits for that.
    joined_late = view.tier is Tier.DESTRUCTIVE and states is WORKING
    return states - {State.RUNNING} if joined_late else states
