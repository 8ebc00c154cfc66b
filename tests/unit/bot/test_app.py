"""The application's description of itself: whole, and usable by a client generator."""

from __future__ import annotations

import json
import re

from starlette.testclient import TestClient

from tests.unit.bot.ground import Ground


def test_the_openapi_description_is_whole(ground: Ground) -> None:
    with TestClient(ground.application()) as client:
        description = client.get("/api/v1/openapi.json").json()
    assert description["openapi"].startswith("3.1")
    schemas = description["components"]["schemas"]
    referred = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(description)))
    assert referred <= set(schemas)
    assert {"Problem", "PauseOrder", "Event", "Health"} <= set(schemas)
    pause = description["paths"]["/api/v1/pause"]["post"]
    body = pause["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/PauseOrder"}
    assert {"4XX", "5XX"} <= set(pause["responses"])
    assert "HTTPValidationError" not in schemas


def test_nothing_in_it_approves(ground: Ground) -> None:
    with TestClient(ground.application()) as client:
        paths = client.get("/api/v1/openapi.json").json()["paths"]
    assert not [path for path in paths if "approv" in path]
