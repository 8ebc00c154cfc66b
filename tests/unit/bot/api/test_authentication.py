"""Who may call what: a closed table, and nothing for those without a token."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from bot.tokens import Role
from policy import record
from policy.agent_protocol import Problem
from policy.refusal import Code
from tests.unit.bot.api.conftest import Headers
from tests.unit.bot.ground import Ground

READERS = frozenset({Role.AUDITOR, Role.ADMIN})
AGENTS = frozenset({Role.AGENT})
RUNNERS = frozenset({Role.RUNNER})
ADMINS = frozenset({Role.ADMIN})

ALLOWED = {
    ("GET", "/api/v1/tools"): AGENTS,
    ("GET", "/api/v1/sandbox"): AGENTS,
    ("GET", "/api/v1/requests"): AGENTS,
    ("POST", "/api/v1/requests"): AGENTS,
    ("GET", "/api/v1/requests/{request_id}"): AGENTS,
    ("POST", "/api/v1/requests/{request_id}/cancel"): AGENTS,
    ("POST", "/api/v1/runner/poll"): RUNNERS,
    ("POST", "/api/v1/runner/jobs/{job_id}/claim"): RUNNERS,
    ("POST", "/api/v1/runner/jobs/{job_id}/events"): RUNNERS,
    ("POST", "/api/v1/runner/jobs/{job_id}/heartbeat"): RUNNERS,
    ("POST", "/api/v1/runner/jobs/{job_id}/result"): RUNNERS,
    ("GET", "/api/v1/runner/audit/{sequence}"): RUNNERS,
    ("GET", "/api/v1/audit"): READERS,
    ("GET", "/api/v1/audit/tip"): READERS,
    ("GET", "/api/v1/audit/export"): READERS,
    ("GET", "/metrics"): READERS,
    ("POST", "/api/v1/pause"): ADMINS,
    ("POST", "/api/v1/resume"): ADMINS,
    ("POST", "/api/v1/requests/{request_id}/unlock"): ADMINS,
    ("POST", "/api/v1/requests/{request_id}/replan"): ADMINS,
}
"""Every call and the roles that may make it; no role can approve."""

PUBLIC = {("GET", "/healthz")}

ANSWERED_HERE = ("/api/v1/audit", "/api/v1/audit/tip", "/metrics", "/api/v1/pause", "/api/v1/resume")
"""Calls that a bot without requests can answer in full."""


def address(path: str) -> str:
    return path.format(request_id="og-1", job_id="job-1", sequence=1)


def test_every_route_is_in_the_table(client: TestClient) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    routes = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert routes == set(ALLOWED) | PUBLIC


@pytest.mark.parametrize("role", list(Role))
def test_other_roles_than_the_table_s_are_refused(client: TestClient, as_role: Headers, role: Role) -> None:
    headers = as_role(role)
    refused = [call for call, roles in ALLOWED.items() if role not in roles]
    assert refused
    for method, path in refused:
        answer = client.request(method, address(path), headers=headers, json={"reason": "a drill"})
        assert answer.status_code == 403, path
        problem = record.read(Problem, answer.content, what="the answer", code=Code.JSON_INVALID)
        assert problem.refusal.code == "forbidden"
        assert f"of the role {role}" in problem.refusal.what


@pytest.mark.parametrize("role", list(Role))
def test_the_table_s_roles_are_let_through(client: TestClient, as_role: Headers, role: Role) -> None:
    headers = as_role(role)
    for (method, path), roles in ALLOWED.items():
        if role in roles and path in ANSWERED_HERE:
            answer = client.request(method, path, headers=headers, json={"reason": "a drill"})
            assert answer.status_code == 200, path


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer og_admin_" + "A" * 43,
        "Basic YWRtaW46YWRtaW4=",
        "og_admin_x",
        "Bearer é",
    ],
)
def test_without_a_token_there_is_nothing(client: TestClient, value: str | None) -> None:
    headers = [] if value is None else [(b"authorization", value.encode())]
    for method, path in ALLOWED:
        answer = client.request(method, address(path), headers=headers)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"].startswith("Bearer")
        problem = record.read(Problem, answer.content, what="the answer", code=Code.JSON_INVALID)
        assert (problem.refusal.code, problem.next_action) == ("token_invalid", "ask_a_person")


def test_two_tokens_are_no_token(client: TestClient, ground: Ground) -> None:
    value = f"Bearer {ground.token(Role.ADMIN)}"
    answer = client.get("/metrics", headers=[("authorization", value), ("authorization", value)])
    assert answer.status_code == 401


def test_a_revoked_token_is_no_token(client: TestClient, ground: Ground) -> None:
    token = ground.token(Role.ADMIN)
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get("/metrics", headers=headers).status_code == 200
    principal = ground.wiring.tokens.find(token)
    assert principal is not None
    ground.wiring.tokens.revoke(principal.id)
    assert client.get("/metrics", headers=headers).status_code == 401


def test_the_scheme_s_case_doesn_t_matter(client: TestClient, ground: Ground) -> None:
    headers = {"Authorization": f"bearer {ground.token(Role.ADMIN)}"}
    assert client.get("/metrics", headers=headers).status_code == 200


def test_a_token_in_the_address_is_no_token(client: TestClient, ground: Ground) -> None:
    assert client.get("/metrics", params={"access_token": ground.token(Role.ADMIN)}).status_code == 401
