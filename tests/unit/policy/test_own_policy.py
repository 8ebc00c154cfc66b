"""The policy of this repository itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy import explanation, policy_file
from policy.states import Tier
from policy.tools import Policy

FILE = Path(__file__).resolve().parents[3] / "policy" / "policy.yaml"


@pytest.fixture(name="policy", scope="module")
def _policy() -> Policy:
    return policy_file.load(FILE.read_bytes(), name=str(FILE))


def test_it_declares_these_tools(policy: Policy) -> None:
    assert {name: tool.tier for name, tool in policy.tools.items()} == {
        "sandbox_report": Tier.READ,
        "terraform_show_state": Tier.READ,
        "terraform_plan": Tier.READ,
        "terraform_apply": Tier.DESTRUCTIVE,
        "terraform_state_remove": Tier.DESTRUCTIVE,
    }


def test_an_apply_is_approved_by_the_modules_owners(policy: Policy) -> None:
    found = explanation.explain(policy, "terraform_apply", {"module": "demo"})
    assert found.source == "terraform/demo"
    assert found.plan == "terraform_plan"
    assert found.approval is not None
    assert found.approval.owned == "terraform/demo/"
    assert not found.approval.allow_self_approval


def test_one_tool_has_no_preview_and_asks_two(policy: Policy) -> None:
    call = {"module": "demo", "address": "terraform_data.route"}
    found = explanation.explain(policy, "terraform_state_remove", dict(call))
    assert found.steps[-1].argv == ("terraform", "state", "rm", "terraform_data.route")
    assert found.approval is not None
    assert found.approval.required == 2
    assert "NO PREVIEW" in found.text()


def test_terraform_never_asks_and_never_colours(policy: Policy) -> None:
    for tool in policy.tools.values():
        for step in tool.steps:
            if step.argv[0] == "terraform" and step.argv[1] in ("init", "plan", "apply"):
                assert "-input=false" in step.argv
                assert "-no-color" in step.argv


def test_every_tool_tells_agents_what_it_does(policy: Policy) -> None:
    for tool in policy.tools.values():
        assert len(tool.description) > len(tool.title)
