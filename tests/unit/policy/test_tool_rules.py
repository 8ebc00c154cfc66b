"""Rules inside one tool."""

from __future__ import annotations

import pytest

from mcp_server import call_arguments
from policy import tool_rules
from tests.unit.policy import tool_examples as examples


@pytest.mark.parametrize(
    ("before", "after", "path", "what"),
    [
        ("  show:", "  check_request:", "tools.check_request", "the MCP server has a tool of this name"),
        ("      name: {", "      reason: {", "tools.show.arguments.reason", "beside its arguments"),
        (
            '    approval: {via: pull_request, owned: "terraform/{module}/", required: 2}\n',
            "",
            "tools.forget",
            "a destructive tool has no approval",
        ),
        (
            "    credential: {role: forget, ttl: 5m}\n",
            "",
            "tools.forget",
            "a destructive tool has no credential",
        ),
        (
            "    credential: {role: show, ttl: 5m}",
            "    credential: {role: show, ttl: 5m}\n    approval: {via: issue, owned: a/, required: 1}",
            "tools.show.approval",
            "a read tool has approval",
        ),
        ("tier: read", "tier: read\n    plan: plan", "tools.show.plan", "a read tool has plan"),
        ("tier: read", "tier: read\n    wait: 1h", "tools.show.wait", "a read tool has wait"),
        ("state: read", "state: write", "tools.plan.state", "a read tool writes state"),
        ("    preview: terraform\n", "", "tools.plan", "plan_file and preview stand apart"),
        ("    plan: plan\n", "    plan: plan\n    plan_file: x\n", "tools.apply.plan_file", "has plan_file"),
        ("source: terraform/{module}", "source: /terraform", "tools.plan.source", "it is absolute"),
        ("source: terraform/{module}", "source: terraform/", "tools.plan.source", "empty part"),
        ("source: terraform/{module}", "source: a/../{module}", "tools.plan.source", "'..'"),
        ("source: terraform/{module}", "source: a/*/{module}", "tools.plan.source", "reads as a pattern"),
        ("source: terraform/{module}", 'source: "{module}"', "tools.plan.source", "alone chooses the folder"),
        ("source: terraform/{module}", "source: .ownergate/{module}", "tools.plan.source", ".ownergate"),
        ("state: folder, ", "", "tools.plan.state", "the target demo has no state"),
        ("timeout: 10m", "timeout: 7h", "tools.apply.run.sandbox.timeout", "the timeout is 7h"),
        ("timeout: 10m", "cpu: 65000m", "tools.apply.run.sandbox.cpu", "65000m of CPU"),
        ("timeout: 10m", "work: 1Gi", "tools.apply.run.sandbox", "larger than the memory"),
        ("ttl: 15m", "ttl: 10m", "tools.apply.credential.ttl", "the lease lives 10m, a call may take 610s"),
        ("ttl: 15m", "ttl: 2d", "tools.apply.credential.ttl", "the lease lives 2d"),
        ("owned: terraform/{module}/", "owned: terraform/*/", "tools.apply.approval.owned", "pattern"),
        ("owned: terraform/{module}/", "owned: //", "tools.apply.approval.owned", "can't be used"),
        ("owned: terraform/{module}/", "owned: ../", "tools.apply.approval.owned", "'..'"),
        (
            "owned: terraform/{module}/",
            "owned: x/{modul}/",
            "tools.apply.approval.owned",
            "{modul} is unknown",
        ),
        ("> 0, required: 2", "> 0, required: 1", "tools.apply.approval.rules[0].required", "anyway"),
        ("when: plan.deletes +", "when: plan.deltes +", "tools.apply.approval.rules[0].when", "no deltes"),
        ("when: plan.deletes +", "when: (", "tools.apply.approval.rules[0].when", "it is not CEL"),
    ],
)
def test_what_doesn_t_make_sense_is_refused(before: str, after: str, path: str, what: str) -> None:
    found = examples.mistakes((before, after))
    assert any(error.path == path and what in error.what for error in found), [e.text() for e in found]


def test_plan_in_a_condition_needs_a_plan() -> None:
    rule = "required: 2, rules: [{when: plan.deletes > 0, required: 3}]"
    error = examples.only_mistake(
        ('owned: "terraform/{module}/", required: 2', f'owned: "terraform/{{module}}/", {rule}')
    )
    assert "the tool has no plan, so plan means nothing" in error.what


def test_an_argument_may_not_choose_who_approves_and_nothing_else() -> None:
    error = examples.only_mistake(
        (
            'pattern: "^[a-z-]+$"}}\n    run: {image: tools, argv: [rm',
            'pattern: "^[a-z-]+$"}, team: {type: string}}\n    run: {image: tools, argv: [rm',
        ),
        ('owned: "terraform/{module}/"', 'owned: "teams/{team}/"'),
    )
    assert error.what == "{team} chooses who approves, and nothing else"


def test_an_exact_path_may_be_owned() -> None:
    tool = examples.tool(
        "forget", examples.changed(('owned: "terraform/{module}/"', "owned: docs/forget.md"))
    )
    assert tool.approval is not None
    assert tool.approval.owned == "docs/forget.md"


def test_the_names_beside_the_arguments_are_reserved() -> None:
    assert set(call_arguments.CALL_LEVEL) <= set(tool_rules.RESERVED_ARGUMENTS)
