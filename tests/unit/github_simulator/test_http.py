"""What every answer has: headers, conditional reads, versions, errors, and the description's checks."""

import re
import threading
from pathlib import Path

from github_simulator import simulator
from github_simulator.conformity import conformity
from github_simulator.routing import OPERATIONS
from tests.unit.github_simulator.conftest import Acme


def test_every_described_operation_is_answered_and_every_answered_one_described() -> None:
    answered = {(operation.method, operation.template) for operation in OPERATIONS}
    assert answered == set(conformity().operations)


def test_headers_of_every_answer(acme: Acme) -> None:
    answer = acme.user("alice").get("/user")
    assert re.fullmatch(r"[0-9A-F:]{30,}", answer.headers["x-github-request-id"])
    assert answer.headers["x-github-api-version-selected"] == "2022-11-28"
    assert answer.headers["x-ratelimit-limit"] == "5000"
    assert answer.headers["content-type"] == "application/json; charset=utf-8"


def test_a_read_that_changed_nothing_is_304_and_free(acme: Acme) -> None:
    alice = acme.user("alice")
    first = alice.get(acme.path)
    again = alice.get(acme.path, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-ratelimit-used"] == first.headers["x-ratelimit-used"]
    acme.github.clock.advance(1)
    acme.world.push(acme.repo, "main", {"x": "1"}, author="root")
    assert alice.get(acme.path, headers={"if-none-match": first.headers["etag"]}).status_code == 200


def test_bad_requests_get_githubs_answers(acme: Acme) -> None:
    alice = acme.user("alice")
    broken = alice.post(f"{acme.path}/issues", content=b"{", headers={"content-type": "application/json"})
    assert (broken.status_code, broken.json()["message"]) == (400, "Problems parsing JSON")
    assert alice.get("/user", headers={"x-github-api-version": "1999-01-01"}).status_code == 400
    assert acme.github.with_token("nonsense").get("/user").json()["message"] == "Bad credentials"
    assert alice.get(f"{acme.path}/pulls/77").json()["message"] == "Not Found"
    with acme.github.lenient():
        wrong = alice.post(f"{acme.path}/pulls/1/reviews", json={"event": "APROVE"})
        assert wrong.status_code == 422
        assert alice.get("/no/such/operation").status_code == 404
        assert alice.get("/repos/acme/infra/stargazers").status_code == 404


def test_addresses_follow_the_host_that_was_asked(acme: Acme) -> None:
    alice = acme.user("alice")
    other = alice.get(acme.path, headers={"host": f"localhost:{acme.github.port}"}).json()
    assert other["url"] == f"http://localhost:{acme.github.port}/repos/acme/infra"
    enterprise = alice.get(f"/api/v3{acme.path}").json()
    assert enterprise["url"] == f"{acme.github.url}/api/v3/repos/acme/infra"
    assert enterprise["html_url"] == f"{acme.github.url}/acme/infra"


def test_strict_mode_refuses_and_records_what_does_not_fit(tmp_path: Path) -> None:
    with simulator.running(data=tmp_path) as github:
        github.world.add_user("alice")
        github.world.add_repository("alice", "r")
        alice = github.as_user("alice")
        assert alice.post("/repos/alice/r/issues", json={"title": ["no"]}).status_code == 500
        assert alice.get("/repos/alice/r/pulls", params={"sate": "open"}).status_code == 500
        assert alice.get("/repos/alice/r/stargazers").status_code == 500
        assert len(github.violations) == 3
        github.world.strict = False
        assert alice.post("/repos/alice/r/issues", json={"title": ["no"]}).status_code == 422
        assert len(github.violations) == 3


def test_answers_and_webhooks_that_do_not_fit_are_seen() -> None:
    checks = conformity()
    assert checks.response("GET", "/rate_limit", 200, {"rate": {}})
    assert checks.response("GET", "/rate_limit", 299, {})
    assert checks.response("GET", "/rate_limit", 404, {"message": 1})
    assert checks.webhook("push", None, {})
    assert checks.webhook("pull_request", "imagined", {})


def test_many_clients_at_once_lose_nothing(acme: Acme) -> None:
    pull = acme.pull()
    path = f"{acme.path}/issues/{pull['number']}/comments"

    def talk(login: str) -> None:
        client = acme.user(login)
        for number in range(10):
            client.post(path, json={"body": f"{login} {number}"}).raise_for_status()
            client.get(f"{acme.path}/pulls/{pull['number']}").raise_for_status()

    threads = [threading.Thread(target=talk, args=(login,)) for login in ("alice", "bob", "carol", "root")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    comments = acme.user("alice").get(path, params={"per_page": 100}).json()
    assert len({one["id"] for one in comments}) == len({one["body"] for one in comments}) == 40


def test_a_mistake_in_the_simulator_is_a_violation(tmp_path: Path) -> None:
    with simulator.running(data=tmp_path) as github:
        github.world.state.personal_tokens["t"] = 5
        github.world.state.accounts[5] = None  # type: ignore[assignment]
        assert github.with_token("t").get("/user").status_code == 500
        assert "the simulator failed" in github.violations[-1]
