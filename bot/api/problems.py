"""Answers of 4xx and 5xx: always a `Problem`, never a traceback or a library's words."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Response

from policy import record
from policy.agent_protocol import Problem, RefusalView
from policy.next_action import SENTENCES, NextAction
from policy.refusal import Code, Refusal

STATUS: Mapping[Code, int] = {
    Code.BODY_TOO_LARGE: 413,
    Code.CLAIM_REFUSED: 409,
    Code.DATABASE_RESTORED: 503,
    Code.DATABASE_UNAVAILABLE: 503,
    Code.DATABASE_VERSION: 503,
    Code.EVENT_MISPLACED: 409,
    Code.FORBIDDEN: 403,
    Code.GITHUB_UNAVAILABLE: 503,
    Code.INTERNAL_ERROR: 500,
    Code.JOB_NOT_YOURS: 403,
    Code.JSON_INVALID: 400,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.NOT_FOUND: 404,
    Code.OVERLOADED: 503,
    Code.REQUEST_OVER: 409,
    Code.TOKEN_INVALID: 401,
    Code.TOO_MANY_OPEN: 429,
    Code.UNSUPPORTED_MEDIA_TYPE: 415,
    Code.WEBHOOK_CONFLICT: 409,
    Code.WEBHOOK_INVALID: 400,
    Code.WEBHOOK_SIGNATURE: 401,
}
"""HTTP status of a refusal that a route lets through; every other code is 422."""

RETRY_AFTER_SECONDS = 5
"""What an answer of 503 asks the caller to wait."""


class ProblemRaised(Exception):  # noqa: N818  An answer, not a fault of the program.
    """Ends a route with this answer. For a `Refused` whose status the table gives, just let it through."""

    def __init__(
        self,
        status: int,
        refusal: Refusal,
        *,
        next_action: NextAction | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(refusal.text())
        self.status = status
        self.refusal = refusal
        self.next_action = next_action or _next_action(status)
        self.headers = dict(headers or {})


def body(refusal: Refusal, next_action: NextAction) -> bytes:
    """The bytes of a `Problem`."""
    return record.encode(
        Problem(
            refusal=RefusalView(**refusal.as_json()),
            next_action=next_action,
            next_action_text=SENTENCES[next_action],
        )
    )


def answer(problem: ProblemRaised) -> Response:
    """The response for a problem."""
    headers = problem.headers
    if problem.status == 503:
        headers = {"Retry-After": str(RETRY_AFTER_SECONDS), **headers}
    return Response(
        body(problem.refusal, problem.next_action),
        status_code=problem.status,
        headers=headers,
        media_type="application/json",
    )


def of(refusal: Refusal) -> ProblemRaised:
    """The problem for a refusal, with the status that its code has."""
    return ProblemRaised(STATUS.get(refusal.code, 422), refusal)


def _next_action(status: int) -> NextAction:
    return NextAction.FIX_ARGUMENTS if status in (400, 413, 415, 422) else NextAction.ASK_A_PERSON
