"""`/api/v1/pause` and `/api/v1/resume`: stops all claims within one transaction, for admins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import StringConstraints

from bot.api import bodies, wiring
from bot.api.authentication import Admin
from policy import record

router = APIRouter(prefix="/api/v1", tags=["admin"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseOrder:
    """Why claims are paused; it is shown to agents and on GitHub."""

    __pydantic_config__ = record.STRICT

    reason: Annotated[str, StringConstraints(min_length=1, max_length=500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseView:
    """Whether claims are paused now, and whether this call changed that."""

    __pydantic_config__ = record.STRICT

    paused: bool
    changed: bool


@router.post("/pause", response_model=PauseView, openapi_extra=bodies.described(PauseOrder))
async def pause(request: Request, admin: Admin) -> Response:
    """Pauses all claims. What runs already goes on to its end."""
    order = await bodies.read(request, PauseOrder, what="the order to pause")
    changed = await run_in_threadpool(wiring.of(request).pause.pause, admin, order.reason)
    return bodies.answer(PauseView(paused=True, changed=changed))


@router.post("/resume", response_model=PauseView)
def resume(request: Request, admin: Admin) -> Response:
    """Lets claims happen again."""
    changed = wiring.of(request).pause.resume(admin)
    return bodies.answer(PauseView(paused=False, changed=changed))
