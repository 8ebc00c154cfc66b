"""`/api/v1/runner`: work for runners (`policy.runner_protocol`). The bot never calls a runner."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from bot.api import bodies, problems, wiring
from bot.api.authentication import Runner
from bot.composition import LARGEST_SEALED_PLAN
from bot.unit_of_work import pool_topic
from policy import canonical
from policy.receipt import AuditTip
from policy.refusal import Code, Refusal
from policy.runner_protocol import (
    Claim,
    ClaimRequest,
    EventReceived,
    Heartbeat,
    HeartbeatReceived,
    Job,
    JobEvent,
    JobResult,
    Poll,
    ResultReceived,
)

router = APIRouter(prefix="/api/v1/runner", tags=["runners"])

LONGEST_POLL_SECONDS = 60

LARGEST_RESULT = LARGEST_SEALED_PLAN + 40 * 1024 * 1024
"""Bytes: a sealed plan, the same plan's masked JSON, and output."""

LOOK_AGAIN_SECONDS = 5.0
"""Jobs can also become due by time alone, so a poll looks again this often."""


@router.post("/poll", response_model=Job, openapi_extra=bodies.described(Poll), responses={204: {}})
async def poll(request: Request, runner: Runner) -> Response:
    """The next job; 204 when none came in time."""
    asked = await bodies.read(request, Poll, what="the poll")
    parts = wiring.of(request)
    until = time.monotonic() + min(max(asked.wait_seconds, 0), LONGEST_POLL_SECONDS)
    with parts.notifier.watch(pool_topic(asked.pool)) as watch:
        while True:
            job = await run_in_threadpool(parts.core.poll, runner, asked)
            if job is not None:
                return bodies.answer(job)
            left = until - time.monotonic()
            if left <= 0 or await request.is_disconnected():
                return Response(status_code=204)
            await watch.wait(min(left, LOOK_AGAIN_SECONDS))


@router.post("/jobs/{job_id}/claim", response_model=Claim, openapi_extra=bodies.described(ClaimRequest))
async def claim(request: Request, runner: Runner, job_id: str) -> Response:
    """The grant, for the one that wins."""
    wanted = await bodies.read(request, ClaimRequest, what="the claim")
    return bodies.answer(await run_in_threadpool(wiring.of(request).core.claim, runner, job_id, wanted))


@router.post("/jobs/{job_id}/events", response_model=EventReceived, openapi_extra=bodies.described(JobEvent))
async def event(request: Request, runner: Runner, job_id: str) -> Response:
    """One step of a job, for the audit trail."""
    reported = await bodies.read(request, JobEvent, what="the event")
    tip = await run_in_threadpool(wiring.of(request).core.event, runner, job_id, reported)
    return bodies.answer(EventReceived(audit_tip=tip))


@router.post(
    "/jobs/{job_id}/heartbeat",
    response_model=HeartbeatReceived,
    openapi_extra=bodies.described(Heartbeat),
)
async def heartbeat(request: Request, runner: Runner, job_id: str) -> Response:
    """The job is still worked on."""
    await bodies.read(request, Heartbeat, what="the heartbeat")
    cancel = await run_in_threadpool(wiring.of(request).core.heartbeat, runner, job_id)
    return bodies.answer(HeartbeatReceived(cancel=cancel))


@router.post(
    "/jobs/{job_id}/result", response_model=ResultReceived, openapi_extra=bodies.described(JobResult)
)
async def result(request: Request, runner: Runner, job_id: str) -> Response:
    """A job's end."""
    ended = await bodies.read(request, JobResult, what="the result", limit=LARGEST_RESULT)
    tip = await run_in_threadpool(wiring.of(request).core.result, runner, job_id, ended)
    return bodies.answer(ResultReceived(audit_tip=tip))


@router.get("/audit/{sequence}", response_model=AuditTip)
def audit(
    request: Request,
    _runner: Runner,
    sequence: Annotated[int, Path(ge=0, le=canonical.LARGEST_INTEGER)],
) -> Response:
    """The audit chain's event at a sequence number; 404 when the chain ends before it."""
    tip = wiring.of(request).core.audit_at(sequence)
    if tip is None:
        raise problems.of(
            Refusal(
                code=Code.NOT_FOUND,
                what=f"the audit event {sequence}",
                rule="Events are numbered from 1 without gaps.",
                remedy="Ask for an earlier one.",
            )
        )
    return bodies.answer(tip)
