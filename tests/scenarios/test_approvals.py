"""Who may approve, and what ends a request, through GitHub's API as the personas."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from demo.people import wait_for
from tests.scenarios.product import MAIN, Asked, Product, files


def line_about(ownergate: Product, asked: Asked, review: int) -> str:
    """What the status comment says about one review."""
    words = f"review {review}"
    comment = ownergate.comment(asked, words)
    return next(line for line in comment.split("\n") if words in line)


def test_who_asked_joined_or_owns_nothing_approves_nothing(ownergate: Product) -> None:
    module = ownergate.module()
    asked = ownergate.ask(module)
    joined = ownergate.second_agent.call("terraform_apply", module=module, reason="the same, please")
    assert joined.data["id"] == asked.id, "the same call joins"
    assert "alice" in joined.text
    assert "bob" in ownergate.comment(asked, "Also asked for")

    reasons = {"mallory": "is not an owner", "dana": "asked", "bob": "asked"}
    for login, word in reasons.items():
        review = ownergate.people[login].approve(asked.number, asked.head)
        assert word in line_about(ownergate, asked, review), login
    alice = ownergate.github("alice")
    thread = ownergate.path(f"/issues/{asked.number}")
    alice.post(f"{thread}/comments", json={"body": f"/approve {asked.digest}"}).raise_for_status()
    alice.post(f"{thread}/labels", json={"labels": ["approved"]}).raise_for_status()
    ownergate.review(asked.number, "alice", "COMMENT")
    ownergate.running.github.wait_for_deliveries()
    assert ownergate.agent.check(asked.id).data["state"] == "pending"

    ownergate.review(asked.number, "alice", "REQUEST_CHANGES")
    denied = ownergate.agent.wait(asked.id, "denied")
    assert denied.is_error
    assert "as it should be" not in denied.text, "what people write never reaches the agent"
    ownergate.comment(asked, "### Denied")
    people = ownergate.people["alice"]
    wait_for(lambda: people.pull_request(asked.number)["state"] == "closed", "the closing", seconds=30)
    kinds = ownergate.kinds(asked.id)
    assert "grant.issued" not in kinds
    assert kinds.count("approval.refused") >= 3
    assert not ownergate.state_file(module).exists()


def close(ownergate: Product, asked: Asked) -> None:
    change(ownergate, asked, state="closed")


def close_and_reopen(ownergate: Product, asked: Asked) -> None:
    change(ownergate, asked, state="closed")
    change(ownergate, asked, state="open")


def edit(ownergate: Product, asked: Asked) -> None:
    body = ownergate.people["alice"].pull_request(asked.number)["body"]
    change(ownergate, asked, body=body.replace("creates 1", "creates 0"))


def draft(ownergate: Product, asked: Asked) -> None:
    world = ownergate.running.github.world
    world.set_draft(ownergate.running.company.repository, asked.number, draft=True, by="mallory")


def retarget(ownergate: Product, asked: Asked) -> None:
    branch = f"elsewhere-{asked.module}"
    ownergate.push({"notes.md": asked.module}, branch=branch)
    change(ownergate, asked, base=branch)


def push(ownergate: Product, asked: Asked) -> None:
    branch = f"ownergate/{asked.id}"
    ownergate.push({f"terraform/{asked.module}/more.tf": "# more\n"}, branch=branch, by="mallory")


def merge(ownergate: Product, asked: Asked) -> None:
    answer = ownergate.github("mallory").put(ownergate.path(f"/pulls/{asked.number}/merge"), json={})
    answer.raise_for_status()


def change(ownergate: Product, asked: Asked, **what: str) -> None:
    answer = ownergate.github("mallory").patch(ownergate.path(f"/pulls/{asked.number}"), json=what)
    answer.raise_for_status()


@pytest.mark.parametrize("disturb", [close, close_and_reopen, edit, draft, retarget, push, merge])
def test_a_disturbed_pull_request_is_void(
    ownergate: Product, disturb: Callable[[Product, Asked], None]
) -> None:
    asked = ownergate.ask()
    disturb(ownergate, asked)
    void = ownergate.agent.wait(asked.id, "void")
    assert void.data["next_action"] == "ask_a_person"
    ownergate.comment(asked, "### Void")
    if ownergate.people["alice"].pull_request(asked.number)["state"] == "open":
        ownergate.people["alice"].approve(asked.number, asked.head)
    ownergate.running.github.wait_for_deliveries()
    assert ownergate.agent.check(asked.id).data["state"] == "void"
    assert "grant.issued" not in ownergate.kinds(asked.id)
    assert not ownergate.state_file(asked.module).exists()


def test_an_unrelated_merge_keeps_an_approval_and_an_edit_of_the_module_voids(ownergate: Product) -> None:
    kept, lost = ownergate.ask(), ownergate.ask()
    ownergate.push({"README.md": "# something else\n", f"terraform/{lost.module}/main.tf": "# by hand\n"})
    assert ownergate.agent.wait(lost.id, "void").data["state"] == "void"
    assert ownergate.carried_out(kept).data["state"] == "succeeded"


def test_of_two_approved_on_one_state_one_runs_and_the_other_is_planned_anew(ownergate: Product) -> None:
    module = ownergate.module()
    asked = [
        ownergate.ask(module, source=files(module, MAIN.replace("one", word))) for word in ("two", "three")
    ]
    for request in asked:
        ownergate.people["alice"].approve(request.number, request.head)
    ends = {request.id: ownergate.agent.wait(request.id, "succeeded", "stale") for request in asked}
    (stale,) = (answer for answer in ends.values() if answer.data["state"] == "stale")
    successor = wait_for(
        lambda: ownergate.agent.check(stale.data["id"]).data["successor_id"], "the successor", seconds=30
    )
    anew = ownergate.agent.wait(successor, "pending")
    assert anew.data["digest"] not in {request.digest for request in asked}
    assert anew.data["approval"]["given"] == 0, "approvals don't carry over"
    assert ownergate.kinds(stale.data["id"]).count("grant.spent") == 0
    assert sum("grant.spent" in ownergate.kinds(request.id) for request in asked) == 1
    ownergate.agent.call("cancel_request", request_id=successor)


def test_without_a_preview_two_owners_decide_and_one_person_counts_once(ownergate: Product) -> None:
    module = ownergate.module()
    ownergate.carried_out(ownergate.ask(module))
    asked = ownergate.ask(module, tool="terraform_state_remove", address="terraform_data.thing")
    assert "NO PREVIEW" in ownergate.people["alice"].pull_request(asked.number)["body"]
    for _ in range(2):
        ownergate.people["alice"].approve(asked.number, asked.head)
    partly = wait_for(
        lambda: (now := ownergate.agent.check(asked.id)).data["approval"]["given"] and now,
        "the first approval",
        seconds=60,
    )
    assert (partly.data["state"], partly.data["approval"]["given"]) == ("pending", 1)
    ownergate.people["bob"].approve(asked.number, asked.head)
    ownergate.agent.wait(asked.id, "succeeded")
    assert '"terraform_data"' not in ownergate.state_file(module).read_text()


@pytest.mark.parametrize("module", ["ownerless", "stranger"])
def test_what_nobody_owns_is_refused(ownergate: Product, module: str) -> None:
    answer = ownergate.agent.call("terraform_apply", module=module, reason="r")
    assert answer.data["state"] == "refused"
    assert answer.data["refusal"]["code"] == "owners_missing"
    assert f"terraform/{module}/" in answer.text
    assert answer.data["link"] is None


def test_what_nobody_approves_in_time_expires(ownergate: Product) -> None:
    module = ownergate.module()
    answer = ownergate.agent.call("hurried_apply", module=module, reason="quick")
    expired = ownergate.agent.wait(answer.data["id"], "expired")
    assert expired.data["next_action"] == "ask_a_person"
    assert not ownergate.state_file(module).exists()


def test_without_webhooks_polling_sees_the_approval(ownergate: Product) -> None:
    ownergate.running.github.faults.webhooks(drop=10**6)
    asked = ownergate.ask()
    assert ownergate.carried_out(asked).data["state"] == "succeeded"
