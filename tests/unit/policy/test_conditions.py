"""Conditions that raise the number of approvals."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from policy import conditions
from policy.canonical import Json
from policy.conditions import ConditionError, Required
from policy.refusal import Code, Refused
from policy.tools import ApprovalRule, RaiseRule, Via

NOTHING = MappingProxyType(dict.fromkeys(conditions.PLAN_COUNTS, 0))
ARGUMENTS: dict[str, Json] = {
    "module": {"type": "string", "maxLength": 20},
    "count": {"type": "integer", "minimum": 1},
    "force": {"type": "boolean"},
    "kind": {"type": "string", "enum": ["a", "b"]},
}


def rule(*rules: tuple[str, int]) -> ApprovalRule:
    return ApprovalRule(
        via=Via.PULL_REQUEST,
        owned="a/",
        required=1,
        rules=tuple(RaiseRule(when=when, required=required) for when, required in rules),
        allow_self_approval=False,
    )


def required(approval: ApprovalRule, **counts: int) -> Required:
    return conditions.required_approvals(
        approval, plan={**NOTHING, **counts}, arguments={"module": "net", "count": 3}, target="demo"
    )


def test_without_a_condition_the_rules_own_number_counts() -> None:
    assert required(rule()) == Required(count=1, because=())


def test_the_largest_number_of_those_that_hold_counts() -> None:
    approval = rule(("plan.deletes > 0", 2), ("plan.deletes > 5", 4), ("plan.replaces > 0", 3))
    assert required(approval) == Required(count=1, because=())
    assert required(approval, deletes=1) == Required(count=2, because=("plan.deletes > 0",))
    assert required(approval, deletes=6, replaces=1) == Required(
        count=4, because=("plan.deletes > 0", "plan.deletes > 5", "plan.replaces > 0")
    )


@pytest.mark.parametrize(
    "condition",
    [
        'arguments.module == "net"',
        "arguments.count > 2",
        'target == "demo"',
        'arguments.module.matches("^n")',
        'arguments.module in ["net", "dns"]',
        "[1, 2].exists(limit, limit < arguments.count)",
        "size(arguments.module) == 3",
        "plan.creates + plan.updates + plan.reads == 0",
    ],
)
def test_arguments_and_target_can_be_asked_for(condition: str) -> None:
    conditions.check(condition, has_plan=True, arguments=ARGUMENTS)
    assert required(rule((condition, 2))).count == 2


@pytest.mark.parametrize(
    "condition",
    [
        "10 / plan.creates > 1",
        "plan.deletes",
        "plan.nope > 0",
        '"text"',
        "arguments.other == 1",
        "plan.deletes >",
    ],
)
def test_a_condition_that_can_t_be_evaluated_refuses(condition: str) -> None:
    with pytest.raises(Refused) as caught:
        required(rule((condition, 2)))
    assert caught.value.refusal.code is Code.CONDITION_FAILED
    assert condition in caught.value.refusal.what


def test_a_plan_without_a_count_refuses() -> None:
    with pytest.raises(Refused, match="the plan has no count of"):
        conditions.required_approvals(
            rule(("plan.deletes > 0", 2)), plan={"deletes": 0}, arguments={}, target="demo"
        )


def test_plan_means_nothing_without_a_plan() -> None:
    with pytest.raises(Refused) as caught:
        conditions.required_approvals(rule(("plan.deletes > 0", 2)), plan=None, arguments={}, target="demo")
    assert caught.value.refusal.code is Code.CONDITION_FAILED


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("plan.deltes > 0", "plan has no deltes"),
        ("true || plan.deltes > 0", "plan has no deltes"),
        ("has(plan.deltes)", "plan has no deltes"),
        ("arguments.modul == 'x'", "arguments has no modul"),
        ("deletes > 0", "deletes is unknown"),
        ("plan.deletes", "neither true nor false"),
        ("1 + 1", "neither true nor false"),
        ("plan.deletes > 'x'", "don't go together"),
        ("10 / plan.creates > 1", "divide by zero"),
        ("plan['deletes'] > 0", "stand only before a dot"),
        ("plan.exists(name, name == 'deletes')", "stand only before a dot"),
        ("dyn(plan).deletes > 0", "stand only before a dot"),
        ("[1].exists(plan, plan > 0)", "stand only before a dot"),
        (".plan.deletes > 0", "begins with a dot"),
        ("plan.deletes > 0 &&", "it is not CEL"),
        ("nope(1)", "nope"),
        ("", "it is not CEL"),
    ],
)
def test_a_condition_that_would_not_do_is_found_when_the_file_is_loaded(condition: str, why: str) -> None:
    with pytest.raises(ConditionError, match=why.replace(".", r"\.")):
        conditions.check(condition, has_plan=True, arguments=ARGUMENTS)


def test_without_a_plan_only_arguments_and_target_are_known() -> None:
    conditions.check("arguments.force", has_plan=False, arguments=ARGUMENTS)
    with pytest.raises(ConditionError, match="the tool has no plan"):
        conditions.check("plan.deletes > 0", has_plan=False, arguments=ARGUMENTS)
