"""Check runs and statuses."""

from typing import Any

import pytest

from tests.unit.github_simulator.conftest import Acme


def annotations(count: int) -> list[dict[str, Any]]:
    one = {"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}
    return [one] * count


def test_only_apps_make_check_runs(acme: Acme) -> None:
    sha = acme.pull()["head"]["sha"]
    answer = acme.user("root").post(f"{acme.path}/check-runs", json={"name": "gate", "head_sha": sha})
    assert (answer.status_code, answer.json()["message"]) == (403, "You must authenticate via a GitHub App.")


def test_annotations_are_appended_by_updates(acme: Acme) -> None:
    sha, bot = acme.pull()["head"]["sha"], acme.bot()
    output = {"title": "t", "summary": "s", "annotations": annotations(50)}
    run = bot.post(f"{acme.path}/check-runs", json={"name": "gate", "head_sha": sha, "output": output}).json()
    path = f"{acme.path}/check-runs/{run['id']}"
    updated = bot.patch(path, json={"output": output | {"annotations": annotations(7)}}).json()
    assert updated["output"]["annotations_count"] == 57
    page = bot.get(f"{path}/annotations", params={"per_page": 100}).json()
    assert len(page) == 57


def test_limits_of_an_output(acme: Acme) -> None:
    sha, bot = acme.pull()["head"]["sha"], acme.bot()
    with acme.github.lenient():
        for output in (
            {"title": "t", "summary": "s", "annotations": annotations(51)},
            {"title": "t", "summary": "x" * 65_536},
        ):
            asked = {"name": "gate", "head_sha": sha, "output": output}
            assert bot.post(f"{acme.path}/check-runs", json=asked).status_code == 422


def test_a_run_is_listed_by_commit_and_the_latest_of_a_name_counts(acme: Acme) -> None:
    sha, bot = acme.pull()["head"]["sha"], acme.bot()
    for conclusion in ("failure", "success"):
        asked = {"name": "gate", "head_sha": sha, "status": "completed", "conclusion": conclusion}
        bot.post(f"{acme.path}/check-runs", json=asked).raise_for_status()
    runs = bot.get(f"{acme.path}/commits/{sha}/check-runs").json()
    assert (runs["total_count"], runs["check_runs"][0]["conclusion"]) == (1, "success")
    assert (
        bot.get(f"{acme.path}/commits/{sha}/check-runs", params={"filter": "all"}).json()["total_count"] == 2
    )
    assert [pull["number"] for pull in runs["check_runs"][0]["pull_requests"]] == [1]


def test_a_person_asks_to_run_again(acme: Acme) -> None:
    sha, bot = acme.pull()["head"]["sha"], acme.bot()
    asked = {"name": "gate", "head_sha": sha, "conclusion": "success"}
    run = bot.post(f"{acme.path}/check-runs", json=asked).json()
    assert run["status"] == "completed"
    assert acme.user("alice").post(f"{acme.path}/check-runs/{run['id']}/rerequest").status_code == 201
    acme.github.wait_for_deliveries()
    assert acme.receiver.last("check_run.rerequested")["check_run"]["external_id"] == ""


def test_an_unknown_commit_has_no_checks(acme: Acme) -> None:
    answer = acme.bot().post(f"{acme.path}/check-runs", json={"name": "gate", "head_sha": "f" * 40})
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("states", "combined"),
    [
        ((), "pending"),
        (("success",), "success"),
        (("success", "failure"), "failure"),
        (("pending", "success"), "pending"),
    ],
)
def test_statuses_combine(acme: Acme, states: tuple[str, ...], combined: str) -> None:
    sha, alice = acme.pull()["head"]["sha"], acme.user("alice")
    for number, state in enumerate(states):
        asked = {"state": state, "context": f"c{number}"}
        assert alice.post(f"{acme.path}/statuses/{sha}", json=asked).status_code == 201
    assert alice.get(f"{acme.path}/commits/{sha}/status").json()["state"] == combined


def test_a_button_of_a_check_run_is_told_to_its_app(acme: Acme) -> None:
    sha, bot = acme.pull()["head"]["sha"], acme.bot()
    actions = [{"label": "Again", "identifier": "again", "description": "Plan again"}]
    asked = {"name": "gate", "head_sha": sha, "conclusion": "failure", "actions": actions}
    run = bot.post(f"{acme.path}/check-runs", json=asked).json()
    acme.world.press_check_button(acme.repo, run["id"], "again", by="bob")
    acme.github.wait_for_deliveries()
    assert acme.receiver.last("check_run.requested_action")["requested_action"] == {"identifier": "again"}
