"""Who may approve and when it counts, through the real doors: reviews, webhooks, comments."""

from __future__ import annotations

import pytest

from policy.audit import Kind
from policy.runner_protocol import JobKind
from policy.states import State
from tests.living_bot import Agent, LivingBot
from tests.scripted_runner import ScriptedRunner


def test_a_strangers_approval_is_refused_with_its_reason(
    bot: LivingBot, agent: Agent, pending: str, number: int
) -> None:
    bot.review(number, "mallory")
    bot.settle()
    assert agent.view(pending)["state"] == "pending"
    comment = bot.status_comments(number)[0]
    assert "`@mallory` approved, but is not an owner" in comment
    assert "1 further approval needed, from: `alice`, `carol`." in comment
    refused = [event for event in bot.events(pending) if event.kind is Kind.APPROVAL_REFUSED]
    assert [event.data["code"] for event in refused] == ["not_an_owner"]


def test_the_requesters_own_approval_is_refused(bot: LivingBot, runner: ScriptedRunner) -> None:
    agent = bot.agent("alice")
    request_id = agent.apply()["id"]
    runner.plan()
    bot.settle()
    number = int(bot.request(request_id).pull_request or 0)
    bot.review(number, "alice")
    bot.settle()
    assert agent.view(request_id)["state"] == "pending"
    assert "`@alice` asked for this change and can't approve it." in bot.status_comments(number)[0]


def test_a_refused_approval_is_recorded_once(bot: LivingBot, pending: str, number: int) -> None:
    bot.review(number, "mallory")
    bot.settle()
    for _ in range(3):
        bot.clock.move(seconds=400)
        bot.core.reconcile_once()
    bot.settle()
    assert bot.kinds(pending).count(Kind.APPROVAL_REFUSED.value) == 1


def test_an_owners_approval_grants_once(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str
) -> None:
    assert agent.view(granted)["next_action"] == "check_request"
    kinds = bot.kinds(granted)
    assert kinds.count(Kind.GRANT_ISSUED.value) == 1
    assert runner.need_job(JobKind.EXECUTE).request_id == granted
    assert runner.poll() is None


def test_a_second_approval_changes_nothing(bot: LivingBot, granted: str, number: int) -> None:
    bot.review(number, "carol")
    bot.settle()
    assert bot.kinds(granted).count(Kind.GRANT_ISSUED.value) == 1
    assert bot.request(granted).state is State.GRANTED


def test_an_owner_who_requests_changes_ends_it(
    bot: LivingBot, agent: Agent, granted: str, number: int, runner: ScriptedRunner
) -> None:
    bot.review(number, "carol", "REQUEST_CHANGES")
    bot.settle()
    view = agent.view(granted)
    assert (view["state"], view["next_action"]) == ("denied", "ask_a_person")
    assert runner.poll() is None
    assert bot.get(f"/pulls/{number}")["state"] == "closed"
    assert "### Denied" in bot.status_comments(number)[0]
    bot.review(number, "alice")
    bot.settle()
    assert agent.view(granted)["state"] == "denied"


def test_a_push_by_anybody_else_voids(bot: LivingBot, agent: Agent, granted: str, number: int) -> None:
    bot.push(f"ownergate/{granted}", {"terraform/demo/main.tf": "# another change\n"}, author="alice")
    bot.settle()
    assert agent.view(granted)["state"] == "void"
    assert "1 commit" not in agent.view(granted)["cause"]
    assert "### Void" in bot.status_comments(number)[0]


def test_an_edited_body_voids(bot: LivingBot, agent: Agent, pending: str, number: int) -> None:
    bot.github.as_user("mallory").patch(
        f"/repos/acme/infra/pulls/{number}", json={"body": "It only renames a label."}
    ).raise_for_status()
    bot.settle()
    assert agent.view(pending)["state"] == "void"


def test_closing_voids_and_reopening_revives_nothing(
    bot: LivingBot, agent: Agent, granted: str, number: int
) -> None:
    person = bot.github.as_user("carol")
    person.patch(f"/repos/acme/infra/pulls/{number}", json={"state": "closed"}).raise_for_status()
    bot.settle()
    assert agent.view(granted)["state"] == "void"


def test_a_moved_base_voids_only_when_the_source_changed(
    bot: LivingBot, agent: Agent, granted: str, number: int
) -> None:
    for turn in range(3):
        bot.push("main", {"README.md": f"unrelated {turn}\n"})
    bot.settle()
    bot.core.reconcile_once()
    assert agent.view(granted)["state"] == "granted"
    bot.push("main", {"terraform/demo/other.tf": "# by hand\n"})
    bot.settle()
    bot.core.reconcile_once()
    assert agent.view(granted)["state"] == "void"


def test_new_owners_on_the_base_void(bot: LivingBot, agent: Agent, granted: str) -> None:
    bot.push("main", {".github/CODEOWNERS": "/terraform/ @carol\n"})
    bot.settle()
    bot.core.reconcile_once()
    assert agent.view(granted)["state"] == "void"


def test_what_a_person_loses_is_lost_before_the_claim(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str
) -> None:
    bot.github.world.grant_access(bot.repository, "alice", "pull")
    answer = runner.claim(runner.need_job(JobKind.EXECUTE))
    assert (answer.status_code, answer.json()["refusal"]["code"]) == (409, "claim_refused")
    view = agent.view(granted)
    assert view["state"] == "void"
    assert "no longer counts" in view["cause"]


def test_a_comment_or_a_label_approves_nothing(bot: LivingBot, pending: str, number: int) -> None:
    alice = bot.github.as_user("alice")
    digest = bot.request(pending).digest
    alice.post(
        f"/repos/acme/infra/issues/{number}/comments", json={"body": f"/approve {digest}"}
    ).raise_for_status()
    bot.review(number, "alice", "COMMENT")
    bot.settle()
    assert bot.request(pending).state is State.PENDING


def test_an_event_that_is_faster_than_the_list_waits_for_it(
    bot: LivingBot, agent: Agent, pending: str, number: int
) -> None:
    bot.github.faults.api_lag(milliseconds=1500)
    bot.review(number, "alice")
    bot.github.wait_for_deliveries()
    bot.worker.work_once()
    assert agent.view(pending)["state"] == "pending"
    bot.github.faults.api_lag()
    bot.settle()
    bot.clock.move(seconds=10)
    bot.settle()
    assert agent.view(pending)["state"] == "granted"


def test_the_commit_of_the_first_word_counts(bot: LivingBot, pending: str, number: int) -> None:
    """GitHub's event named an older commit; that it names the head later makes no approval of it."""
    base = bot.get(f"/pulls/{number}")["base"]["sha"]
    review = bot.review(number, "alice").json()
    bot.core._approvals.witness(pending, review["id"], base)
    bot.settle()
    assert bot.request(pending).state is State.PENDING
    assert "is on" in bot.status_comments(number)[0]


@pytest.mark.parametrize("status", [500, 502])
def test_github_down_delays_and_never_approves(
    bot: LivingBot, agent: Agent, pending: str, number: int, status: int
) -> None:
    bot.review(number, "alice")
    bot.github.wait_for_deliveries()
    bot.github.faults.fail(status, method="GET", path="*/reviews", times=1000)
    bot.worker.work_once()
    assert agent.view(pending)["state"] == "pending"
    bot.github.faults.clear()
    bot.clock.move(seconds=60)
    bot.settle()
    assert agent.view(pending)["state"] == "granted"
