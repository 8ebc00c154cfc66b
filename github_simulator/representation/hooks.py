"""Webhooks and their deliveries in JSON."""

import json
from typing import Any

from github_simulator import clock
from github_simulator.deliveries import Delivery
from github_simulator.model import Hook, Repository
from github_simulator.view import View


def config(shown: Hook) -> dict[str, Any]:
    """Schema webhook-config; the secret is never told."""
    body: dict[str, Any] = {"content_type": shown.content_type, "insecure_ssl": shown.insecure_ssl}
    if shown.url is not None:
        body["url"] = shown.url
    if shown.secret:
        body["secret"] = "********"  # noqa: S105
    return body


def hook(view: View, repository: Repository, shown: Hook) -> dict[str, Any]:
    """Schema hook."""
    url = f"{view.repo_api(repository)}/hooks/{shown.id}"
    code = shown.last_code
    return {
        "type": "Repository",
        "id": shown.id,
        "name": "web",
        "active": shown.active,
        "events": list(shown.events),
        "config": config(shown),
        "updated_at": clock.text(shown.updated_at),
        "created_at": clock.text(shown.created_at),
        "url": url,
        "test_url": f"{url}/test",
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
        "last_response": {"code": code, "status": "unused" if code is None else "active", "message": None},
    }


def delivery_item(shown: Delivery) -> dict[str, Any]:
    """Schema hook-delivery-item."""
    return {
        "id": shown.id,
        "guid": shown.guid,
        "delivered_at": clock.text(shown.delivered_at),
        "redelivery": shown.redelivery,
        "duration": round(shown.duration, 2),
        "status": shown.status,
        "status_code": shown.status_code,
        "event": shown.event,
        "action": shown.action,
        "installation_id": shown.installation_id,
        "repository_id": shown.repository_id,
        "throttled_at": None,
    }


def delivery(shown: Delivery) -> dict[str, Any]:
    """Schema hook-delivery."""
    return delivery_item(shown) | {
        "url": shown.url,
        "request": {"headers": dict(shown.headers), "payload": json.loads(shown.payload)},
        "response": {"headers": dict(shown.response_headers), "payload": shown.response_body},
    }
