"""Everything that can go wrong with GitHub goes wrong on demand, and only then."""

import httpx2
import pytest

from tests.unit.github_simulator.conftest import Acme


def test_lag_shows_the_state_before_a_write_for_so_many_reads(acme: Acme) -> None:
    pull = acme.pull()
    path, alice = f"{acme.path}/pulls/{pull['number']}", acme.user("alice")
    acme.github.faults.api_lag(requests=2)
    acme.review(pull["number"], "bob", "APPROVE")
    assert [len(alice.get(f"{path}/reviews").json()) for _ in range(3)] == [0, 0, 1]


def test_lag_by_time_hides_new_things(acme: Acme) -> None:
    acme.github.faults.api_lag(milliseconds=60_000)
    issue = acme.user("alice").post(f"{acme.path}/issues", json={"title": "t"}).json()
    path = f"{acme.path}/issues/{issue['number']}"
    assert acme.user("alice").get(path).status_code == 404
    acme.github.clock.advance(61)
    assert acme.user("alice").get(path).status_code == 200


def test_a_server_error_before_the_commit_does_nothing_and_after_it_does_all(acme: Acme) -> None:
    alice, path = acme.user("alice"), f"{acme.path}/issues"
    acme.github.faults.fail(502, method="POST", path="*/issues")
    assert alice.post(path, json={"title": "before"}).status_code == 502
    acme.github.faults.fail(503, when="after", method="POST", path="*/issues")
    assert alice.post(path, json={"title": "after"}).status_code == 503
    assert [issue["title"] for issue in alice.get(path).json()] == ["after"]


def test_a_fault_can_wait_for_its_turn(acme: Acme) -> None:
    acme.github.faults.fail(500, path="/user", skip=1)
    alice = acme.user("alice")
    assert [alice.get("/user").status_code for _ in range(3)] == [200, 500, 200]


@pytest.mark.parametrize(("status", "retry_after"), [(403, None), (403, 1), (429, None), (429, 1)])
def test_secondary_limits(acme: Acme, status: int, retry_after: int | None) -> None:
    acme.github.faults.secondary_limit(status=status, retry_after=retry_after)
    answer = acme.user("alice").get("/user")
    assert answer.status_code == status
    assert "secondary rate limit" in answer.json()["message"]
    assert answer.headers.get("retry-after") == (None if retry_after is None else str(retry_after))
    assert int(answer.headers["x-ratelimit-remaining"]) > 0


def test_the_primary_limit_by_fault_and_by_use(acme: Acme) -> None:
    alice = acme.user("alice")
    acme.github.faults.primary_limit(reset_in=30)
    limited = alice.get("/user")
    assert (limited.status_code, limited.headers["x-ratelimit-remaining"]) == (403, "0")
    acme.world.rate_limits.limits["user"] = 3
    assert [alice.get("/user").status_code for _ in range(4)] == [200, 200, 403, 403]
    assert alice.get("/rate_limit").json()["rate"]["remaining"] == 0
    acme.github.clock.advance(3601)
    assert alice.get("/user").status_code == 200


def test_a_token_can_die_in_the_middle(acme: Acme) -> None:
    token = acme.world.token("alice")
    acme.github.faults.revoke_token(token, after_requests=1)
    alice = acme.user("alice")
    assert [alice.get("/user").status_code for _ in range(3)] == [200, 401, 401]
    assert acme.user("bob").get("/user").status_code == 200
    acme.github.faults.clear()
    assert alice.get("/user").status_code == 200


def test_slow_answers_and_slow_bodies(acme: Acme) -> None:
    token = acme.world.token("alice")
    client = httpx2.Client(
        base_url=acme.github.url, headers={"authorization": f"token {token}"}, timeout=0.15
    )
    with client:
        acme.github.faults.slow_answer(0.4, method="POST")
        with pytest.raises(httpx2.ReadTimeout):
            client.post(f"{acme.path}/issues", json={"title": "slow"})
        acme.github.faults.slow_body(0.4, path="/user")
        with pytest.raises(httpx2.ReadTimeout):
            client.get("/user")
    assert [issue["title"] for issue in acme.user("alice").get(f"{acme.path}/issues").json()] == ["slow"]


def test_a_renamed_repository_redirects(acme: Acme) -> None:
    acme.pull()
    acme.world.rename_repository(acme.repo, "platform")
    moved = acme.user("alice").get(f"{acme.path}/pulls/1", params={})
    assert moved.status_code == 301
    assert moved.headers["location"] == f"{acme.github.url}/repositories/{acme.repo.id}/pulls/1"
    assert (
        acme.user("alice").get(moved.headers["location"]).json()["base"]["repo"]["full_name"]
        == "acme/platform"
    )
    assert acme.user("alice").post(f"{acme.path}/issues", json={"title": "t"}).status_code == 307


def test_a_transferred_repository_redirects_to_its_new_owner(acme: Acme) -> None:
    acme.world.add_organization("other", admins=["root"])
    acme.world.transfer_repository(acme.repo, "other")
    moved = acme.user("root").get(acme.path)
    assert moved.status_code == 301
    assert acme.user("root").get(moved.headers["location"]).json()["full_name"] == "other/infra"


def test_nothing_goes_wrong_by_itself(acme: Acme) -> None:
    assert acme.github.faults.armed() == []
    assert all(acme.user("alice").get("/user").status_code == 200 for _ in range(5))
