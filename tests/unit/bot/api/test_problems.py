"""Answers that say no: always a `Problem`, never a library's words, always with the same headers."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import pytest
from fastapi import APIRouter, Request, Response
from starlette.testclient import TestClient

from bot import app
from bot.api import bodies, problems
from bot.api.envelope import Envelope
from bot.database import DatabaseUnavailable
from bot.tokens import Role
from policy import record
from policy.agent_protocol import CallRequest, Problem
from policy.refusal import Code, Refusal, refuse
from tests.unit.bot.api.conftest import Headers
from tests.unit.bot.ground import Ground

REFUSAL = Refusal(code=Code.TOOL_UNKNOWN, what="the tool", rule="A rule.", remedy="A remedy.")
UNAVAILABLE = Refusal(code=Code.DATABASE_UNAVAILABLE, what="the database", rule="A rule.", remedy="A remedy.")


def problem(answer: Any) -> Problem:
    return record.read(Problem, answer.content, what="the answer", code=Code.JSON_INVALID)


@pytest.fixture
def trouble(ground: Ground) -> TestClient:
    """An application whose routes go wrong in every way."""
    router = APIRouter()

    @router.get("/refused")
    def refused() -> None:
        raise refuse(Code.TOOL_UNKNOWN, "the tool", rule="A rule.", remedy="A remedy.")

    @router.get("/problem")
    def raised() -> None:
        raise problems.ProblemRaised(409, REFUSAL)

    @router.get("/unavailable")
    def unavailable() -> None:
        raise DatabaseUnavailable(UNAVAILABLE)

    @router.get("/broken")
    def broken() -> None:
        raise ValueError("og_admin_" + "x" * 43)

    @router.post("/body")
    async def body(request: Request) -> Response:
        return bodies.answer(await bodies.read(request, CallRequest, what="the call", limit=2000))

    api = app.api(ground.wiring, routers=(router,))
    return TestClient(Envelope(api, ground.wiring.metrics))


def test_a_refusal_that_a_route_lets_through_has_its_code_s_status(trouble: TestClient) -> None:
    answer = trouble.get("/refused")
    assert answer.status_code == 422
    assert problem(answer).refusal.code == "tool_unknown"
    assert problem(answer).next_action_text


def test_a_problem_has_the_status_that_it_names(trouble: TestClient) -> None:
    assert trouble.get("/problem").status_code == 409


def test_an_unavailable_database_says_when_to_come_again(trouble: TestClient) -> None:
    answer = trouble.get("/unavailable")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_a_mistake_of_the_program_shows_an_id_and_nothing_else(
    trouble: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = trouble.get("/broken")
    assert answer.status_code == 500
    assert problem(answer).refusal.code == "internal_error"
    assert answer.headers["x-request-id"] in problem(answer).refusal.what
    assert "og_admin_" not in answer.text
    assert "Traceback" not in answer.text
    assert "/broken failed" in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/docs", 404, "not_found"),
        ("DELETE", "/healthz", 405, "method_not_allowed"),
        ("GET", "/api/v1/audit?after=-1", 422, "arguments_invalid"),
        ("GET", "/api/v1/audit?after=x", 422, "arguments_invalid"),
        ("GET", "/api/v1/audit?limit=100000", 422, "arguments_invalid"),
        ("GET", "/api/v1/audit?request_id=%27%20OR%201", 422, "arguments_invalid"),
    ],
)
def test_calls_that_can_t_be_understood(
    client: TestClient, as_role: Headers, method: str, path: str, status: int, code: str
) -> None:
    answer = client.request(method, path, headers=as_role(Role.AUDITOR))
    assert (answer.status_code, problem(answer).refusal.code) == (status, code)
    assert "pydantic" not in answer.text
    assert "Input should" not in answer.text


CALL = {
    "tool": "terraform_apply",
    "arguments": {},
    "agent": "an agent",
    "reason": "why",
    "expect": None,
    "source": None,
    "idempotency_key": None,
    "wait_seconds": 0,
}


def test_a_body_is_read_strictly(trouble: TestClient) -> None:
    assert trouble.post("/body", json=CALL).json() == CALL


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 400, "json_invalid"),
        (b"{", 400, "json_invalid"),
        (b'{"tool": "a", "tool": "b"}', 400, "json_invalid"),
        (json.dumps({**CALL, "wait_seconds": 1.5}).encode(), 400, "json_invalid"),
        (json.dumps({**CALL, "wait_seconds": float("nan")}).encode(), 400, "json_invalid"),
        (json.dumps({**CALL, "wait_seconds": "1"}).encode(), 422, "arguments_invalid"),
        (json.dumps({**CALL, "more": 1}).encode(), 422, "arguments_invalid"),
        (json.dumps({"tool": "a"}).encode(), 422, "arguments_invalid"),
        (b"[]", 422, "arguments_invalid"),
        (json.dumps({**CALL, "reason": "x" * 3000}).encode(), 413, "body_too_large"),
        (b"[" * 1500, 400, "json_invalid"),
        (b"\xff\xfe", 400, "json_invalid"),
    ],
)
def test_a_body_in_another_form_is_refused(
    trouble: TestClient, content: bytes, status: int, code: str
) -> None:
    answer = trouble.post("/body", content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, problem(answer).refusal.code) == (status, code)
    assert problem(answer).next_action == "fix_arguments"


@pytest.mark.parametrize(
    "media_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"]
)
def test_a_body_of_another_media_type_is_refused(trouble: TestClient, media_type: str | None) -> None:
    headers = {"content-type": media_type} if media_type else {}
    answer = trouble.post("/body", content=json.dumps(CALL), headers=headers)
    assert (answer.status_code, problem(answer).refusal.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/metrics", "/webhooks/github"])
def test_every_answer_has_the_headers(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert len(answer.headers["x-request-id"]) == 16


def test_a_request_id_from_outside_is_not_taken_over(client: TestClient) -> None:
    assert client.get("/healthz", headers={"x-request-id": "mine"}).headers["x-request-id"] != "mine"


def test_every_status_of_the_table_is_one_of_http_s() -> None:
    assert all(HTTPStatus(status) >= HTTPStatus.BAD_REQUEST for status in problems.STATUS.values())
