"""Rules between tools and targets."""

from __future__ import annotations

import pytest

from tests.unit.policy import tool_examples as examples


@pytest.mark.parametrize(
    ("before", "after", "path", "what"),
    [
        ("vault: pki", "vault: aws/prod", "targets.demo.vault", "aws/prod is a mount of AWS STS"),
        ("state: folder", "state: folder, base: refs/heads/main", "targets.demo.base", "no branch name"),
        ("state: folder", "state: folder, base: a..b", "targets.demo.base", "no branch name"),
        ("state: folder", "state: folder, base: a.lock", "targets.demo.base", "no branch name"),
        ("runner: demo", "runner: demo-sweeper", "targets.demo.runner", "another pool's sweeper"),
        ("    plan: plan\n", "    plan: show\n", "tools.apply.plan", "show makes no plan"),
        ("    plan: plan\n", "    plan: forget\n", "tools.apply.plan", "forget makes no plan"),
        ("    state: write\n", "", "tools.apply.plan", "reads a state that this tool can't write"),
        ("apply, plan.bin]", "apply, -auto-approve]", "tools.apply.plan", "no step takes the plan plan.bin"),
        ("source: terraform/{module}", "source: other/{module}", "tools.apply.plan", "plans another source"),
        ("^[a-z-]+$", "^[a-z]+$", "tools.apply.plan", "plan takes other arguments"),
        ("{role: apply,", "{role: forget,", "tools.forget.credential.role", "forget is the role of apply"),
        ("{role: show,", "{role: apply,", "tools.apply.credential.role", "apply is the role of show"),
        ("{role: plan,", "{role: apply,", "tools.apply.credential.role", "apply is the role of plan"),
    ],
)
def test_what_doesn_t_fit_together_is_refused(before: str, after: str, path: str, what: str) -> None:
    found = examples.mistakes((before, after))
    assert any(error.path == path and what in error.what for error in found), [e.text() for e in found]


def test_unknown_targets_and_plans_are_shown_with_the_nearest() -> None:
    target = examples.only_mistake(("target: demo", "target: dmo"))
    assert (target.path, target.nearest) == ("tools.show.target", "demo")
    plan = examples.only_mistake(("    plan: plan\n", "    plan: plna\n"))
    assert (plan.path, plan.nearest) == ("tools.apply.plan", "plan")


def test_read_tools_of_one_runner_may_share_a_role() -> None:
    policy = examples.load(examples.changed(("{role: plan,", "{role: show,")))
    assert policy.tools["plan"].credential == policy.tools["show"].credential


def test_a_planning_tool_of_another_target_is_refused() -> None:
    second = "  demo: {runner: demo, vault: pki, state: folder}\n  other:"
    error = examples.only_mistake(
        ("  demo:", second),
        (
            "  apply:\n    tier: destructive\n    target: demo",
            "  apply:\n    tier: destructive\n    target: other",
        ),
    )
    assert (error.path, error.what) == ("tools.apply.plan", "plan plans for demo")


def test_a_role_belongs_to_one_mount_and_runner() -> None:
    second = "  demo: {runner: demo, vault: pki, state: folder}\n  other: {runner: b, vault: pki}\n  third:"
    found = examples.mistakes(
        ("  demo:", second),
        ("  show:\n    tier: read\n    target: demo", "  show:\n    tier: read\n    target: other"),
        ("{role: plan,", "{role: show,"),
    )
    assert any("show is a role of another mount or runner" in error.what for error in found)
