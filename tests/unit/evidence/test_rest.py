"""What GitHub's failures become: no facts, never fewer facts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import github
import pytest

from evidence import Unavailable, rest
from evidence.rest import Rest
from tests.request_on_github import Forge


def unreadable(forge: Forge) -> Unavailable:
    one = forge.reader()
    with pytest.raises(Unavailable) as caught:
        one.branch_tip("main")
    return caught.value


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_short_failure_is_tried_again(faulty: Forge, status: int) -> None:
    faulty.github.faults.fail(status, path="/repos/acme/infra/git/ref/*", times=2 if status == 502 else 1)
    assert faulty.reader().branch_tip("main") == faulty.tip()


def test_a_long_failure_gives_no_facts(faulty: Forge) -> None:
    faulty.github.faults.fail(502, path="/repos/acme/infra/git/ref/*", times=50)
    assert unreadable(faulty).reason.startswith(
        "GitHub answered 502 for /repos/acme/infra/git/ref/heads/main"
    )


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize(("asked", "told"), [(7, 7), (None, 60)])
def test_a_secondary_limit_is_told_at_once_with_the_time_to_wait(
    faulty: Forge, status: int, asked: int | None, told: int
) -> None:
    faulty.github.faults.secondary_limit(status=status, retry_after=asked, path="/repos/acme/*", times=50)
    error = unreadable(faulty)
    assert error.retry_after_seconds == told
    assert f"GitHub answered {status}" in error.reason


def test_a_primary_limit_is_told_with_the_time_until_it_ends(faulty: Forge) -> None:
    faulty.github.faults.primary_limit(path="/repos/acme/*", reset_in=300, times=50)
    wait = unreadable(faulty).retry_after_seconds
    assert wait is not None
    assert 200 <= wait <= 300


def test_a_revoked_token_gives_no_facts(forge: Forge) -> None:
    opened = forge.open_request()
    one = forge.reader()
    one.branch_tip("main")
    forge.github.faults.revoke_token(after_requests=5)
    with pytest.raises(Unavailable, match="401"):
        one.collect(opened.number, manifest=opened.manifest, witnessed={})


def test_a_suspended_installation_gives_no_facts(forge: Forge) -> None:
    world = forge.github.world
    one = forge.reader()
    one.branch_tip("main")
    for installation in world.state.installations.values():
        installation.suspended_at = world.clock.now()
    with pytest.raises(Unavailable, match="403"):
        one.branch_tip("main")


@pytest.mark.parametrize(
    "path", ["*/commits", "*/files", "*/reviews", "*/timeline", "*/members", "*/permission", "*/git/trees/*"]
)
def test_no_part_of_a_reading_may_fail(faulty: Forge, path: str) -> None:
    opened = faulty.open_request()
    faulty.review(opened.number, "alice")
    faulty.github.faults.fail(400, path=path, times=50)
    with pytest.raises(Unavailable, match="GitHub answered 400"):
        opened.facts()


def test_a_page_that_fails_later_gives_no_facts(faulty: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "PER_PAGE", 3)
    opened = faulty.open_request()
    for _ in range(4):
        faulty.review(opened.number, "mallory", "COMMENT")
    assert len(opened.facts().reviews) == 4
    faulty.github.faults.fail(400, path="*/reviews", times=50, skip=1)
    with pytest.raises(Unavailable, match="GitHub answered 400"):
        opened.facts()


def test_github_away_gives_no_facts() -> None:
    client = github.Github(base_url="http://127.0.0.1:9", retry=None, timeout=1)
    with pytest.raises(Unavailable, match="GitHub did not answer /x \\(ConnectionError\\)"):
        Rest(client).get("/x")


# Servers that answer strangely.


class Strange(ThreadingHTTPServer):
    """Answers each path with what `answers` has for it: status, headers, body."""

    daemon_threads = True
    answers: dict[str, tuple[int, dict[str, str], bytes]]
    entries: int


class Handler(BaseHTTPRequestHandler):
    server: Strange
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        if asked.path == "/list":
            page = int(parse_qs(asked.query)["page"][0])
            numbers = list(range(self.server.entries))[(page - 1) * 100 : page * 100]
            status, headers, body = 200, {}, json.dumps(numbers).encode()
        elif asked.path == "/endless":
            status, headers, body = 200, {"link": '<x>; rel="next"'}, b"[1]"
        else:
            status, headers, body = self.server.answers[asked.path]
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def strange() -> Iterator[Strange]:
    with Strange(("127.0.0.1", 0), Handler) as server:
        server.answers, server.entries = {}, 0
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asking(server: Strange) -> Rest:
    return Rest(
        github.Github(
            base_url=f"http://127.0.0.1:{server.server_port}", retry=None, seconds_between_requests=None
        )
    )


@pytest.mark.parametrize(("entries", "calls"), [(0, 1), (99, 1), (100, 2), (101, 2), (250, 3)])
def test_a_proxy_that_drops_links_does_not_make_a_list_short(
    strange: Strange, entries: int, calls: int
) -> None:
    strange.entries = entries
    one = asking(strange)
    assert one.every("/list") == list(range(entries))
    assert one.calls == calls


def test_a_list_without_end_is_not_read_for_ever(strange: Strange, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "MOST_PAGES", 4)
    one = asking(strange)
    with pytest.raises(Unavailable, match="/endless has more than 400 entries"):
        one.every("/endless")
    assert one.calls == 4


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, {}, b'{"message": "hello"}'), "GitHub's answer for /x is no list"),
        ((200, {}, b"[1, 2"), "GitHub's answer for /x is no list|can't be used"),
        ((301, {"location": "https://elsewhere.example/x"}, b"{}"), "can't be used"),
        ((301, {"location": "http://elsewhere.example/x"}, b"{}"), "can't be used"),
        ((418, {}, b"tea"), "GitHub answered 418 for /x"),
        ((404, {}, b'{"message": "Not Found"}'), "GitHub answered 404 for /x: Not Found"),
    ],
)
def test_strange_answers_give_no_facts(
    strange: Strange, answer: tuple[int, dict[str, str], bytes], message: str
) -> None:
    strange.answers["/x"] = answer
    with pytest.raises(Unavailable, match=message):
        asking(strange).every("/x")


def test_only_what_is_not_there_is_none(strange: Strange) -> None:
    strange.answers = {"/gone": (404, {}, b"{}"), "/no": (403, {}, b"{}"), "/x": (200, {}, b'{"a": 1}')}
    one = asking(strange)
    assert one.find("/gone") is None
    assert one.find("/x")["a"] == 1
    with pytest.raises(Unavailable) as caught:
        one.find("/no")
    assert caught.value.retry_after_seconds is None
