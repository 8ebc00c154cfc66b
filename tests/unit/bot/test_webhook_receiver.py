"""The webhook door: what is let in, what is refused, and that nothing is parsed before the signature."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from bot import webhook_receiver
from policy import record
from policy.agent_protocol import Problem
from policy.refusal import Code
from tests.unit.bot.ground import (
    DELIVERY_ID,
    NOW,
    OLD_SECRET,
    SECRET,
    Ground,
    body,
    full_disk,
    headers,
    payload,
    sign,
)

PATH = "/webhooks/github"


@pytest.fixture
def client(ground: Ground) -> Iterator[TestClient]:
    ground.wiring.inbox.start()
    with TestClient(ground.application()) as client:
        yield client


def refused(answer: Any) -> Problem:
    return record.read(Problem, answer.content, what="the answer", code=Code.JSON_INVALID)


def test_a_signed_delivery_is_stored_before_it_is_answered(ground: Ground, client: TestClient) -> None:
    content = body(12)
    answer = client.post(PATH, content=content, headers=headers(content))
    assert (answer.status_code, answer.json()) == (202, {"result": "stored"})
    (row,) = ground.inbox_rows()
    assert (row.delivery_id, row.event, row.subject, row.body) == (
        DELIVERY_ID,
        "pull_request",
        "#12",
        content,
    )
    assert (row.state, row.received_at) == ("waiting", NOW)
    assert ground.wiring.contact.last.reached_at == NOW


def test_a_delivery_that_can_t_be_stored_is_not_acknowledged(ground: Ground, client: TestClient) -> None:
    content = body(12, filler="x" * 100_000)
    with full_disk(ground.database):
        answer = client.post(PATH, content=content, headers=headers(content))
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert refused(answer).refusal.code == "database_unavailable"
    assert "the disk is full" in refused(answer).refusal.what
    assert ground.inbox_rows() == []
    assert client.post(PATH, content=content, headers=headers(content)).json() == {"result": "stored"}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"x_hub_signature_256": None}, "X-Hub-Signature-256 is missing"),
        (
            {"x_hub_signature_256": None, "x_hub_signature": "sha1=" + "0" * 40},
            "only the old SHA-1 signature",
        ),
        ({"x_hub_signature_256": "sha256=" + "0" * 63}, "64 hexadecimal digits"),
        ({"x_hub_signature_256": "sha256=" + "0" * 64}, "of another body or by another secret"),
    ],
)
def test_without_a_right_signature_nothing_is_looked_at(
    ground: Ground, client: TestClient, changes: dict[str, str | None], what: str
) -> None:
    content = b"\xff not even JSON"
    answer = client.post(PATH, content=content, headers=headers(content, **changes))
    assert answer.status_code == 401
    assert refused(answer).refusal.code == "webhook_signature"
    assert what in refused(answer).refusal.what
    assert ground.inbox_rows() == []


def test_two_signatures_are_refused(client: TestClient) -> None:
    content = body()
    twice = [*headers(content).items(), ("x-hub-signature-256", sign(content))]
    answer = client.post(PATH, content=content, headers=twice)
    assert answer.status_code == 401
    assert "stands twice" in refused(answer).refusal.what


def test_a_signature_that_is_not_ascii_is_refused(client: TestClient) -> None:
    content = body()
    given = [(name.encode(), value.encode()) for name, value in headers(content).items()]
    odd = [(name, "sha256=é".encode() if b"signature" in name else value) for name, value in given]
    assert client.post(PATH, content=content, headers=odd).status_code == 401


def test_a_rotated_secret_still_counts(ground: Ground) -> None:
    ground.wiring.inbox.start()
    content = body()
    old = headers(content, x_hub_signature_256=sign(content, OLD_SECRET))
    with TestClient(ground.application(SECRET, OLD_SECRET)) as client:
        assert client.post(PATH, content=content, headers=old).status_code == 202


@pytest.mark.parametrize(
    ("content", "changes", "status", "code"),
    [
        (body(), {"content_type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
        (body(), {"content_type": "text/json"}, 415, "unsupported_media_type"),
        (body(), {"x_github_event": None}, 400, "webhook_invalid"),
        (body(), {"x_github_event": "Pull Request"}, 400, "webhook_invalid"),
        (body(), {"x_github_delivery": None}, 400, "webhook_invalid"),
        (body(), {"x_github_delivery": "1"}, 400, "webhook_invalid"),
        (body(), {"x_github_delivery": "../../" + DELIVERY_ID[6:]}, 400, "webhook_invalid"),
        (b"", {}, 400, "webhook_invalid"),
        (b"[]", {}, 400, "webhook_invalid"),
        (b'{"repository": ', {}, 400, "webhook_invalid"),
        (b"payload=%7B%7D", {}, 400, "webhook_invalid"),
        (b"[" * 100_000, {}, 400, "webhook_invalid"),
    ],
)
def test_a_signed_delivery_in_another_form_is_refused(
    ground: Ground, client: TestClient, content: bytes, changes: dict[str, str | None], status: int, code: str
) -> None:
    answer = client.post(PATH, content=content, headers=headers(content, **changes))
    assert (answer.status_code, refused(answer).refusal.code) == (status, code)
    assert ground.inbox_rows() == []


def test_json_with_a_charset_is_json(client: TestClient) -> None:
    content = body()
    given = headers(content, content_type="application/json; charset=utf-8")
    assert client.post(PATH, content=content, headers=given).status_code == 202


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_only_post_is_taken(client: TestClient, method: str) -> None:
    assert client.request(method, PATH).status_code == 405


def test_the_same_delivery_again_is_free(ground: Ground, client: TestClient) -> None:
    content = body()
    results = [client.post(PATH, content=content, headers=headers(content)).json() for _ in range(3)]
    assert results == [{"result": "stored"}, {"result": "duplicate"}, {"result": "duplicate"}]
    assert len(ground.inbox_rows()) == 1


def test_the_id_s_case_makes_no_second_delivery(ground: Ground, client: TestClient) -> None:
    content = body()
    client.post(PATH, content=content, headers=headers(content))
    upper = headers(content, x_github_delivery=DELIVERY_ID.upper())
    assert client.post(PATH, content=content, headers=upper).json() == {"result": "duplicate"}


def test_the_same_id_with_another_body_is_a_conflict_and_is_recorded(
    ground: Ground, client: TestClient
) -> None:
    first, second = body(12), body(13)
    client.post(PATH, content=first, headers=headers(first))
    answer = client.post(PATH, content=second, headers=headers(second))
    assert (answer.status_code, refused(answer).refusal.code) == (409, "webhook_conflict")
    (row,) = ground.inbox_rows()
    assert row.body == first
    assert row.note.startswith("the same id came with another body at 2026-03-14T09:26:53Z, SHA-256 ")


@pytest.mark.parametrize(
    ("event", "changes", "why"),
    [
        ("star", {}, "the bot has no use for this event"),
        ("pull_request", {"repository": {"id": 4243}}, "it is not about the bot's repository"),
        ("pull_request", {"repository": None}, "it is not about the bot's repository"),
        ("pull_request", {"repository": {"id": "4242"}}, "it is not about the bot's repository"),
        ("pull_request", {"installation": {"id": 78}}, "it is not from the bot's installation"),
        ("pull_request", {"installation": None}, "it is not from the bot's installation"),
        (
            "installation",
            {"installation": {"id": 78}, "repository": None},
            "it is not from the bot's installation",
        ),
    ],
)
def test_what_is_none_of_its_business_is_recorded_as_ignored(
    ground: Ground, client: TestClient, event: str, changes: dict[str, Any], why: str
) -> None:
    content = body(12, **changes)
    answer = client.post(PATH, content=content, headers=headers(content, x_github_event=event))
    assert (answer.status_code, answer.json()) == (202, {"result": "ignored"})
    (row,) = ground.inbox_rows()
    assert (row.state, row.body, row.note) == ("ignored", None, why)


def test_thirty_megabytes_are_refused_before_they_are_held(ground: Ground) -> None:
    given = headers(b"")
    announced = _call(ground, [b"x"], {**given, "content-length": str(30 * 1024 * 1024)})
    assert announced == (413, 0)
    chunk = b"x" * (1024 * 1024)
    status, chunks_read = _call(ground, [chunk] * 30, given)
    assert (status, chunks_read) == (413, 26)


def test_all_bodies_together_are_bounded(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_receiver, "MOST_HELD", 1000)
    assert _call(ground, [b"x" * 600, b"x" * 600], headers(b""))[0] == 503


def test_a_body_that_ends_in_the_middle_is_refused(ground: Ground) -> None:
    assert _call(ground, [b"{", None], headers(b"{"))[0] == 400


def test_a_body_that_never_comes_is_refused(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_receiver, "SLOWEST_BODY_SECONDS", 0.05)
    assert _call(ground, [b"{"], headers(b"{"), ends=False)[0] == 400


def test_a_refusal_repeats_nothing_of_what_was_sent(client: TestClient) -> None:
    content = b"<script>" + body()
    answer = client.post(PATH, content=content, headers=headers(content, x_github_event="<script>"))
    assert "<script>" not in answer.text


def test_other_paths_are_not_its_own(client: TestClient) -> None:
    for path in ("/webhooks", "/webhooks/github/", "/webhooks/gitlab"):
        assert client.post(path).status_code == 404


def test_payloads_may_say_things_that_our_own_documents_may_not(ground: Ground, client: TestClient) -> None:
    content = json.dumps(payload(12, score=1.5, title="e\u0301", big=2**60)).encode()
    assert client.post(PATH, content=content, headers=headers(content)).status_code == 202


def _call(
    ground: Ground, chunks: list[bytes | None], given: dict[str, str], *, ends: bool = True
) -> tuple[int, int]:
    """Calls the application chunk by chunk; returns the status and how many chunks were read."""
    messages: list[Message] = []
    read = 0

    async def receive() -> Message:
        nonlocal read
        if read == len(chunks):
            await asyncio.sleep(60)
        chunk = chunks[read]
        read += 1
        if chunk is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": chunk, "more_body": read < len(chunks) or not ends}

    async def send(message: Message) -> None:
        messages.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    asyncio.run(ground.application()(scope, receive, send))
    return messages[0]["status"], read
