"""`/api/v1/requests/{id}/unlock` and `/replan`, for admins: what a person does after something went wrong."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from bot.api import bodies, wiring
from bot.api.authentication import Admin
from policy import record

router = APIRouter(prefix="/api/v1/requests", tags=["admin"])


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlockView:
    """Whether the request held a lock that is free now."""

    __pydantic_config__ = record.STRICT

    freed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplanView:
    """The request that takes the other's place."""

    __pydantic_config__ = record.STRICT

    successor_id: str


@router.post("/{request_id}/unlock", response_model=UnlockView)
def unlock(request: Request, _admin: Admin, request_id: str) -> Response:
    """Frees the lock that an ended request still holds, after somebody has looked at its target."""
    return bodies.answer(UnlockView(freed=wiring.of(request).core.unlock(request_id)))


@router.post("/{request_id}/replan", response_model=ReplanView)
def replan(request: Request, _admin: Admin, request_id: str) -> Response:
    """Plans a request anew; its pull request is closed and points to the new one."""
    return bodies.answer(ReplanView(successor_id=wiring.of(request).core.replan(request_id)))
