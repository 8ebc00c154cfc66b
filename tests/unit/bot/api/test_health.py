"""Health and metrics: they say what is wrong, in sentences and in numbers."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from bot.database import DatabaseUnavailable
from bot.tokens import Role
from tests.unit.bot.api.conftest import Headers
from tests.unit.bot.ground import NOW, Ground, body, full_disk, headers, store
from tests.unit.bot.test_audit_log import append


def test_a_healthy_bot(ground: Ground, client: TestClient) -> None:
    ground.wiring.contact.reached(NOW)
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {
        "ok": True,
        "trouble": [],
        "inbox_waiting": 0,
        "inbox_oldest_seconds": 0,
        "github_reached_at": "2026-03-14T09:26:53Z",
        "audit_sequence": 0,
        "paused": False,
    }


def test_a_backlog_is_shown(ground: Ground, client: TestClient) -> None:
    store(ground.database, 1, guid=1, at=NOW - timedelta(seconds=90))
    store(ground.database, 1, guid=2)
    health = client.get("/healthz").json()
    assert (health["inbox_waiting"], health["inbox_oldest_seconds"]) == (2, 90)


def test_github_out_of_reach_is_said_and_is_no_fault_of_the_bot(ground: Ground, client: TestClient) -> None:
    ground.wiring.contact.reached(NOW)
    ground.wiring.contact.failed(NOW, "it answers 502")
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["trouble"]) == (
        200,
        ["GitHub can't be reached: it answers 502."],
    )
    ground.wiring.contact.reached(NOW)
    ground.clock.move(minutes=6)
    assert client.get("/healthz").json()["trouble"] == ["GitHub was last reached more than five minutes ago."]


def test_a_database_that_could_not_be_written_is_a_fault(ground: Ground, client: TestClient) -> None:
    with full_disk(ground.database):
        with pytest.raises(DatabaseUnavailable):
            append(ground, text="x" * 100_000)
        answer = client.get("/healthz")
    assert answer.status_code == 503
    assert "the disk is full" in answer.json()["trouble"][0]
    append(ground)
    assert client.get("/healthz").status_code == 200


def test_a_database_that_can_t_be_read_is_a_fault(ground: Ground, client: TestClient) -> None:
    ground.database.close()
    for file in ground.folder.glob("bot.db*"):
        file.unlink()
    (ground.folder / "bot.db").mkdir()
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["audit_sequence"] is None
    assert "can't be opened" in answer.json()["trouble"][0]


def test_a_tip_that_can_t_be_stored_is_a_fault(ground: Ground, client: TestClient) -> None:
    shutil.rmtree(ground.tip_file.parent)
    ground.tip_file.parent.write_text("in the way")
    append(ground)
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert "The audit tip can't be stored" in answer.json()["trouble"][0]


def test_metrics(ground: Ground, client: TestClient, as_role: Headers) -> None:
    ground.wiring.inbox.start()
    content = body()
    client.post("/webhooks/github", content=content, headers=headers(content))
    client.post("/webhooks/github", content=content, headers=headers(content))
    client.post("/webhooks/github", content=content, headers=headers(content, x_hub_signature_256="sha256=0"))
    append(ground)
    answer = client.get("/metrics", headers=as_role(Role.AUDITOR))
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    for line in (
        'ownergate_webhook_deliveries_total{result="stored"} 1.0',
        'ownergate_webhook_deliveries_total{result="duplicate"} 1.0',
        'ownergate_webhook_deliveries_total{result="webhook_signature"} 1.0',
        'ownergate_http_answers_total{status="401"} 1.0',
        'ownergate_inbox_deliveries{state="waiting"} 1.0',
        'ownergate_requests{state="pending"} 0.0',
        "ownergate_audit_sequence 1.0",
        "ownergate_github_contact_seconds 0.0",
        "ownergate_paused 0.0",
    ):
        assert line in lines
