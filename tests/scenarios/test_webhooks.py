"""Webhooks that are forged, replayed, oversized or not the bot's business, sent to the running bot."""

from __future__ import annotations

import hmac
import json
import time
import uuid
from typing import Any

import pytest

from demo.story import replay
from tests.scenarios.product import Asked, Product

RIGHT = "right"


def payload(ownergate: Product, number: int, **changes: Any) -> bytes:
    """An approval by alice as GitHub would deliver it."""
    company = ownergate.running.company
    sent = {
        "action": "submitted",
        "review": {"id": 1, "state": "approved", "user": {"login": "alice"}},
        "pull_request": {"number": number},
        "repository": {"id": company.repository.id, "full_name": company.repository.full_name},
        "installation": {"id": company.bot_installation.id},
        "sender": {"id": company.people["alice"].id, "login": "alice"},
    }
    return json.dumps({**sent, **changes}).encode()


def signed(ownergate: Product, content: bytes, algorithm: str = "sha256", secret: str = RIGHT) -> str:
    """The signature header's value."""
    key = ownergate.running.places.webhook_secret if secret == RIGHT else secret
    return f"{algorithm}={hmac.new(key.encode(), content, algorithm).hexdigest()}"


def deliver(ownergate: Product, content: bytes, **changes: str | None) -> tuple[int, Any]:
    """Sends a delivery; header names are given with underscores, None leaves one out."""
    headers: dict[str, str | None] = {
        "content-type": "application/json",
        "x-github-event": "pull_request_review",
        "x-github-delivery": str(uuid.uuid4()),
        "x-hub-signature-256": signed(ownergate, content),
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    given = {name: value for name, value in headers.items() if value is not None}
    with ownergate.rest(None) as http:
        answer = http.post("/webhooks/github", content=content, headers=given)
    return answer.status_code, answer.json()


def test_without_the_right_signature_nothing_is_looked_at(ownergate: Product) -> None:
    content = payload(ownergate, 1)
    refused = [
        None,
        "",
        "sha256=",
        "sha256=" + "0" * 64,
        signed(ownergate, content)[:-2],
        signed(ownergate, content, "sha1"),
        signed(ownergate, content, secret="another secret of 16 bytes"),
        signed(ownergate, content + b" "),
    ]
    for signature in refused:
        status, answer = deliver(ownergate, content, x_hub_signature_256=signature)
        assert (status, answer["refusal"]["code"]) == (401, "webhook_signature"), signature
    status, _ = deliver(ownergate, b"not json at all", x_hub_signature_256="sha256=" + "0" * 64)
    assert status == 401, "the signature comes before the content"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"content_type": "text/plain"}, 415),
        ({"x_github_event": None}, 400),
        ({"x_github_delivery": None}, 400),
        ({"x_github_delivery": "not an id"}, 400),
    ],
)
def test_a_signed_delivery_in_another_form_is_refused(
    ownergate: Product, changes: dict[str, str | None], status: int
) -> None:
    assert deliver(ownergate, payload(ownergate, 1), **changes)[0] == status


def test_thirty_megabytes_are_refused_and_the_bot_lives_on(ownergate: Product) -> None:
    status, answer = deliver(ownergate, b'{"x":"' + b"y" * 30_000_000 + b'"}')
    assert (status, answer["refusal"]["code"]) == (413, "body_too_large")
    with ownergate.rest(None) as http:
        assert http.get("/healthz").json()["ok"]


def test_an_unknown_event_and_another_repository_are_recorded_and_ignored(ownergate: Product) -> None:
    assert deliver(ownergate, payload(ownergate, 1), x_github_event="star")[1]["result"] == "ignored"
    other = payload(ownergate, 1, repository={"id": 5, "full_name": "acme/other"})
    assert deliver(ownergate, other)[1]["result"] == "ignored"
    stranger = payload(ownergate, 1, installation={"id": 5})
    assert deliver(ownergate, stranger)[1]["result"] == "ignored"


def test_the_same_id_is_free_with_the_same_body_and_a_conflict_with_another(ownergate: Product) -> None:
    delivery, content = str(uuid.uuid4()), payload(ownergate, 99_999)
    first = deliver(ownergate, content, x_github_delivery=delivery)
    again = deliver(ownergate, content, x_github_delivery=delivery)
    assert (first[0], again[0]) == (202, 202)
    assert again[1]["result"] == "duplicate"
    other = deliver(ownergate, payload(ownergate, 99_998), x_github_delivery=delivery)
    assert (other[0], other[1]["refusal"]["code"]) == (409, "webhook_conflict")


def test_an_approval_that_only_a_webhook_tells_of_approves_nothing(ownergate: Product) -> None:
    """Even with the right secret: what counts is what GitHub's API shows."""
    asked: Asked = ownergate.ask()
    status, answer = deliver(ownergate, payload(ownergate, asked.number))
    assert (status, answer["result"]) == (202, "stored")
    # The bot looks for that review at GitHub, and goes on looking for a while.
    time.sleep(2)
    assert ownergate.agent.check(asked.id).data["state"] == "pending"
    assert "grant.issued" not in ownergate.kinds(asked.id)

    review = ownergate.people["alice"].approve(asked.number, asked.head)
    ownergate.agent.wait(asked.id, "succeeded")
    assert replay.redeliver(ownergate.running.stage, review) >= 1
    ownergate.running.github.wait_for_deliveries()
    time.sleep(1)
    kinds = ownergate.kinds(asked.id)
    assert (kinds.count("grant.issued"), kinds.count("grant.spent")) == (1, 1)
