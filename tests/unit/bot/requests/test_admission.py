"""What a received call needs from GitHub: base, source, owners; and what happens while GitHub is away."""

from __future__ import annotations

from bot.parts import Limits
from policy.runner_protocol import JobKind
from tests.living_bot import CODEOWNERS, Agent, LivingBot
from tests.scripted_runner import ScriptedRunner


def test_a_path_without_owners_is_refused_before_planning(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    view = agent.apply("nobody", text=None)
    assert view["state"] == "refused"
    assert view["refusal"]["code"] == "owners_missing"
    assert view["next_action"] == "ask_a_person"
    assert runner.poll() is None


def test_a_repository_without_codeowners_is_refused_before_planning(bot: LivingBot, agent: Agent) -> None:
    bot.push("main", {".github/CODEOWNERS": None})
    view = agent.apply(text=None)
    assert (view["state"], view["refusal"]["code"]) == ("refused", "owners_missing")


def test_a_change_that_only_its_asker_could_approve_is_refused(bot: LivingBot) -> None:
    view = bot.agent("alice").apply("settings", text=None)
    assert (view["state"], view["refusal"]["code"]) == ("refused", "owners_missing")


def test_a_module_that_is_not_there_is_refused(bot: LivingBot, agent: Agent) -> None:
    view = agent.apply("absent", text=None)
    assert (view["state"], view["refusal"]["code"]) == ("refused", "source_invalid")
    assert view["next_action"] == "fix_arguments"


def test_a_provisioner_is_refused_before_planning(bot: LivingBot, agent: Agent) -> None:
    text = 'resource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "id"\n  }\n}\n'
    answer = agent.call(
        "terraform_apply", {"module": "demo"}, source={"files": {"terraform/demo/x.tf": text}}
    )
    assert answer.json()["refusal"]["code"] == "terraform_source"


def test_github_away_keeps_the_call_and_goes_on_by_itself(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    bot.github.faults.fail(500, method="GET", path="*", times=100)
    view = agent.apply(text=None)
    assert view["state"] == "received"
    assert "GitHub can't be read" in view["cause"]
    bot.github.faults.clear()
    bot.core.reconcile_once()
    assert agent.view(view["id"])["state"] == "planning"
    assert runner.need_job(JobKind.PLAN).request_id == view["id"]


def test_github_away_for_too_long_refuses(bot: LivingBot, agent: Agent) -> None:
    bot.github.faults.fail(500, method="GET", path="*/git/trees/*", times=1000)
    view = agent.apply(text=None)
    bot.clock.move(seconds=Limits().received_seconds + 1)
    bot.core.reconcile_once()
    view = agent.view(view["id"])
    assert (view["state"], view["refusal"]["code"]) == ("refused", "github_unavailable")


def test_a_branch_counts_at_the_commit_it_had_when_it_was_named(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    text = 'resource "terraform_data" "service" {\n  input = "on a branch"\n}\n'
    bot.push("topic", {"terraform/demo/main.tf": text, "README.md": "also changed\n"})
    view = agent.apply(text=None, source={"branch": "topic"})
    assert view["state"] == "planning", view
    runner.plan()
    bot.settle()
    number = bot.request(view["id"]).pull_request
    changed = {file["filename"] for file in bot.get(f"/pulls/{number}/files")}
    assert "terraform/demo/main.tf" in changed
    assert "README.md" not in changed
    assert bot.get(f"/pulls/{number}")["base"]["ref"] == "main"


def test_a_branch_that_moved_before_the_plan_is_refused(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner
) -> None:
    bot.push("topic", {"terraform/demo/main.tf": 'resource "terraform_data" "a" {}\n'})
    view = agent.apply(text=None, source={"branch": "topic"})
    bot.push("topic", {"terraform/demo/main.tf": 'resource "terraform_data" "b" {}\n'})
    runner.plan()
    view = agent.view(view["id"])
    assert (view["state"], view["refusal"]["code"]) == ("refused", "source_differs")


def test_a_removed_file_is_part_of_the_request(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> None:
    bot.push("main", {"terraform/demo/old.tf": 'resource "terraform_data" "old" {}\n'})
    view = agent.apply(text=None, source={"files": {"terraform/demo/old.tf": None}})
    runner.plan()
    bot.settle()
    number = bot.request(view["id"]).pull_request
    files = {file["filename"]: file["status"] for file in bot.get(f"/pulls/{number}/files")}
    assert files["terraform/demo/old.tf"] == "removed"


def test_codeowners_in_a_comment_only_is_no_owner(bot: LivingBot, agent: Agent) -> None:
    bot.push("main", {".github/CODEOWNERS": "# " + CODEOWNERS.replace("\n", "\n# ")})
    assert agent.apply(text=None)["refusal"]["code"] == "owners_missing"
