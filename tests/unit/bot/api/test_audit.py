"""The trail over HTTP: pages, tip and export, and that what comes out can be verified offline."""

from __future__ import annotations

from starlette.testclient import TestClient

from bot.tokens import Role
from policy import audit, record
from policy.audit import Kind
from policy.receipt import AuditTip
from policy.refusal import Code
from tests.unit.bot.api.conftest import Headers
from tests.unit.bot.ground import Ground


def fill(ground: Ground, count: int) -> None:
    for number in range(count):
        with ground.database.transaction() as connection:
            request_id = f"og-{number % 2}"
            ground.audit.append(
                connection, Kind.TOOL_REQUEST, request_id, {"number": number}, at=ground.clock.now()
            )


def test_pages_by_sequence(ground: Ground, client: TestClient, as_role: Headers) -> None:
    fill(ground, 5)
    headers = as_role(Role.AUDITOR)
    first = client.get("/api/v1/audit", params={"limit": 3}, headers=headers).json()
    second = client.get("/api/v1/audit", params={"limit": 3, "after": 3}, headers=headers).json()
    assert [event["sequence"] for event in first["events"] + second["events"]] == [1, 2, 3, 4, 5]
    assert first["tip"] == second["tip"] == {"sequence": 5, "hash": second["events"][-1]["hash"]}


def test_one_request_s_part(ground: Ground, client: TestClient, as_role: Headers) -> None:
    fill(ground, 5)
    page = client.get("/api/v1/audit", params={"request_id": "og-1"}, headers=as_role(Role.AUDITOR)).json()
    assert [event["data"]["number"] for event in page["events"]] == [1, 3]


def test_the_export_is_verified_offline(ground: Ground, client: TestClient, as_role: Headers) -> None:
    fill(ground, 7)
    headers = as_role(Role.AUDITOR)
    exported = client.get("/api/v1/audit/export", headers=headers)
    assert exported.headers["content-type"] == "application/x-ndjson"
    events = [audit.parse(line) for line in exported.content.splitlines()]
    tip = client.get("/api/v1/audit/tip", headers=headers).json()["tip"]
    attested = record.from_json(AuditTip, tip, what="the tip", code=Code.AUDIT_INVALID)
    assert len(events) == 7
    assert audit.verify(events, tip=attested) == ()
    one = client.get("/api/v1/audit/export", params={"request_id": "og-0"}, headers=headers)
    part = [audit.parse(line) for line in one.content.splitlines()]
    assert audit.verify_request(part, request_id="og-0") == ()


def test_an_empty_chain(client: TestClient, as_role: Headers) -> None:
    headers = as_role(Role.AUDITOR)
    assert client.get("/api/v1/audit", headers=headers).json() == {"events": [], "tip": None}
    assert client.get("/api/v1/audit/tip", headers=headers).json() == {"tip": None}
    assert client.get("/api/v1/audit/export", headers=headers).content == b""
