"""Webhooks: signed, with GitHub's headers, logged, redelivered on demand only, and faulty when told."""

import re
import time

from tests.unit.github_simulator.conftest import SECRET, Acme


def test_a_delivery_has_githubs_headers(acme: Acme) -> None:
    acme.pull()
    acme.github.wait_for_deliveries()
    one = next(one for one in acme.receiver.got if one.name == "pull_request.opened")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one.headers["X-GitHub-Delivery"])
    assert one.headers["X-GitHub-Hook-Installation-Target-Type"] == "integration"
    assert one.headers["X-GitHub-Hook-Installation-Target-ID"] == str(acme.app.id)
    assert one.headers["User-Agent"].startswith("GitHub-Hookshot/")
    assert one.headers["X-Hub-Signature"].startswith("sha1=")
    assert one.payload["installation"]["id"] == acme.installation.id
    assert one.payload["sender"]["login"] == "alice"
    assert one.payload["pull_request"]["html_url"].startswith(acme.github.url)


def test_a_repository_hook_is_pinged_and_hears_only_its_events(acme: Acme) -> None:
    config = {"url": acme.receiver.url, "content_type": "json", "secret": SECRET}
    asked = {"config": config, "events": ["issues"]}
    hook = acme.user("root").post(f"{acme.path}/hooks", json=asked)
    assert hook.status_code == 201
    assert hook.json()["config"]["secret"] == "********"
    acme.user("alice").post(f"{acme.path}/issues", json={"title": "t"})
    acme.github.wait_for_deliveries()
    mine = [
        one
        for one in acme.receiver.got
        if one.headers["X-GitHub-Hook-Installation-Target-Type"] == "repository"
    ]
    assert [one.name for one in mine] == ["ping", "issues.opened"]
    assert "installation" not in mine[1].payload
    listed = acme.user("root").get(f"{acme.path}/hooks/{hook.json()['id']}/deliveries").json()
    assert [one["event"] for one in listed] == ["issues", "ping"]
    assert acme.user("alice").get(f"{acme.path}/hooks").status_code == 404


def test_nothing_is_sent_again_by_itself_and_a_redelivery_keeps_its_guid(acme: Acme) -> None:
    acme.github.wait_for_deliveries()
    acme.receiver.status = 500
    acme.pull()
    acme.github.wait_for_deliveries()
    app = acme.app_client()
    failed = app.get("/app/hook/deliveries", params={"status": "failure"}).json()
    opened = next(one for one in failed if (one["event"], one["action"]) == ("pull_request", "opened"))
    assert opened["status_code"] == 500
    acme.receiver.status = 202
    acme.receiver.got.clear()
    assert app.post(f"/app/hook/deliveries/{opened['id']}/attempts").status_code == 202
    acme.github.wait_for_deliveries()
    assert [one.headers["X-GitHub-Delivery"] for one in acme.receiver.got] == [opened["guid"]]
    newest = app.get("/app/hook/deliveries").json()[0]
    assert (newest["guid"], newest["redelivery"], newest["status"]) == (opened["guid"], True, "OK")
    whole = app.get(f"/app/hook/deliveries/{newest['id']}").json()
    assert whole["request"]["payload"]["action"] == "opened"
    assert whole["response"]["headers"]


def test_deliveries_are_paged_by_cursor(acme: Acme) -> None:
    for number in range(3):
        acme.user("alice").post(f"{acme.path}/issues", json={"title": f"t{number}"})
    acme.github.wait_for_deliveries()
    app = acme.app_client()
    first = app.get("/app/hook/deliveries", params={"per_page": 2})
    second = app.get(first.links["next"]["url"])
    ids = [one["id"] for one in first.json() + second.json()]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 4


def test_dropped_deliveries_show_as_failed_and_can_be_redelivered(acme: Acme) -> None:
    acme.github.faults.webhooks(drop=1, event="issues.opened")
    acme.user("alice").post(f"{acme.path}/issues", json={"title": "t"})
    acme.github.wait_for_deliveries()
    assert "issues.opened" not in acme.receiver.names()
    lost = acme.app_client().get("/app/hook/deliveries").json()[0]
    assert lost["event"] == "issues"
    acme.app_client().post(f"/app/hook/deliveries/{lost['id']}/attempts")
    acme.github.wait_for_deliveries()
    assert "issues.opened" in acme.receiver.names()


def test_duplicates_come_with_the_same_guid(acme: Acme) -> None:
    acme.github.faults.webhooks(duplicate=1, event="issues")
    acme.user("alice").post(f"{acme.path}/issues", json={"title": "t"})
    acme.github.wait_for_deliveries()
    guids = [one.headers["X-GitHub-Delivery"] for one in acme.receiver.got if one.event == "issues"]
    assert len(guids) == 2
    assert len(set(guids)) == 1


def test_reordered_deliveries_change_places(acme: Acme) -> None:
    acme.github.faults.webhooks(reorder=1, event="issues.opened")
    issue = acme.user("alice").post(f"{acme.path}/issues", json={"title": "t"}).json()
    acme.user("alice").patch(f"{acme.path}/issues/{issue['number']}", json={"state": "closed"})
    acme.github.wait_for_deliveries()
    assert [name for name in acme.receiver.names() if name.startswith("issues")] == [
        "issues.closed",
        "issues.opened",
    ]


def test_delayed_deliveries_come_later(acme: Acme) -> None:
    acme.github.faults.webhooks(delay=0.3, event="issues")
    started = time.monotonic()
    acme.user("alice").post(f"{acme.path}/issues", json={"title": "t"})
    acme.github.wait_for_deliveries()
    assert time.monotonic() - started >= 0.3


def test_a_receiver_that_is_not_there_is_a_failed_delivery(acme: Acme) -> None:
    acme.world.set_webhook(acme.app, "http://127.0.0.1:1/hook", SECRET)
    acme.user("alice").post(f"{acme.path}/issues", json={"title": "t"})
    acme.github.wait_for_deliveries()
    assert acme.app_client().get("/app/hook/deliveries").json()[0]["status"] == "failed to connect to host"
