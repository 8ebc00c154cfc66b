"""The pause: seen by the next claim, outlives a restart, and is in the trail."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from bot.pause import Pause
from bot.tokens import Role
from policy.audit import Kind
from tests.unit.bot.api.conftest import Headers
from tests.unit.bot.ground import Ground


def reason(ground: Ground) -> str | None:
    with ground.database.reading() as connection:
        return Pause(ground.database, ground.audit, ground.clock).reason(connection)


def test_pausing_and_resuming(ground: Ground, client: TestClient, as_role: Headers) -> None:
    headers = as_role(Role.ADMIN)
    assert reason(ground) is None
    paused = client.post("/api/v1/pause", json={"reason": "an incident"}, headers=headers)
    assert paused.json() == {"paused": True, "changed": True}
    assert reason(ground) == "an incident"
    again = client.post("/api/v1/pause", json={"reason": "another one"}, headers=headers)
    assert again.json() == {"paused": True, "changed": False}
    assert reason(ground) == "an incident"
    assert client.post("/api/v1/resume", headers=headers).json() == {"paused": False, "changed": True}
    assert client.post("/api/v1/resume", headers=headers).json() == {"paused": False, "changed": False}
    assert reason(ground) is None
    with ground.database.reading() as connection:
        events = [(event.kind, event.data) for event in ground.audit.events(connection)]
    assert events == [
        (Kind.BOT_PAUSED, {"by": "a admin", "reason": "an incident"}),
        (Kind.BOT_RESUMED, {"by": "a admin"}),
    ]


@pytest.mark.parametrize(
    "order", [{}, {"reason": ""}, {"reason": "x" * 501}, {"reason": 7}, {"reason": "a", "x": 1}]
)
def test_a_pause_has_a_reason(ground: Ground, client: TestClient, as_role: Headers, order: object) -> None:
    assert client.post("/api/v1/pause", json=order, headers=as_role(Role.ADMIN)).status_code == 422
    assert reason(ground) is None
