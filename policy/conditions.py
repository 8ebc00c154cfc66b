"""Conditions in CEL that raise the number of approvals.

A condition sees three things: `plan`, the counts of the plan's summary; `arguments`, the request's
arguments; `target`, the target's name. It can only add approvals. One that can't be evaluated to true
or false refuses the request: an unknown risk is not a low one.

The names in a condition are checked when the file is loaded, because CEL's `||` and `has()` would
otherwise swallow a misspelt count and quietly mean "no". cel-python takes a third of a second to
import, so it is imported when the first condition is met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Final, cast

from policy.canonical import Json
from policy.plan import Summary
from policy.refusal import Code, Refused, refuse
from policy.tools import ApprovalRule

PLAN_COUNTS: Final = tuple(count.name for count in fields(Summary))
"""What `plan` holds: the counts of `policy.plan.Summary`."""

VARIABLES: Final = ("plan", "arguments", "target")


@dataclass(frozen=True, slots=True, kw_only=True)
class Required:
    """How many distinct owners must approve, and which conditions made it so.

    Attributes:
        count: one or more.
        because: the conditions that held and ask for more than the rule's own number.
    """

    count: int
    because: tuple[str, ...]


class ConditionError(ValueError):
    """A condition that can't stand in a policy; the text says why."""


def required_approvals(
    rule: ApprovalRule, *, plan: Mapping[str, int] | None, arguments: Mapping[str, Json], target: str
) -> Required:
    """The largest number that the rule and those of its conditions that hold ask for.

    Args:
        rule: the tool's approval rule.
        plan: the counts of the plan's summary, all of `PLAN_COUNTS`; None when there is NO PREVIEW.
        arguments: the validated arguments.
        target: the target's name.

    Raises:
        Refused: with code `condition_failed` when a condition gives neither true nor false.
    """
    count = rule.required
    because: list[str] = []
    for raised in rule.rules:
        if _holds(raised.when, plan=plan, arguments=arguments, target=target):
            count = max(count, raised.required)
            because.append(raised.when)
    return Required(count=count, because=tuple(because))


def check(condition: str, *, has_plan: bool, arguments: Mapping[str, Json]) -> None:
    """Checks a condition of the policy file.

    Args:
        condition: the CEL text.
        has_plan: whether the tool has a plan, so that `plan` means something.
        arguments: the properties of the tool's argument schema, by name.

    Raises:
        ConditionError: when it doesn't parse, names something unknown, or isn't a truth value.
    """
    tree = _parsed(condition)
    known: dict[str, tuple[str, ...] | None] = {"arguments": tuple(arguments), "target": None}
    if has_plan:
        known["plan"] = PLAN_COUNTS
    _check_names(tree, known)
    _check_result(condition, has_plan=has_plan, arguments=arguments)


def _holds(
    condition: str, *, plan: Mapping[str, int] | None, arguments: Mapping[str, Json], target: str
) -> bool:
    if plan is not None and (missing := [name for name in PLAN_COUNTS if name not in plan]):
        raise _failed(condition, f"the plan has no count of {missing[0]}")
    try:
        result = _evaluate(condition, plan=plan, arguments=arguments, target=target)
    except ConditionError as error:
        raise _failed(condition, str(error)) from None
    if not isinstance(result, bool):
        raise _failed(condition, "it is neither true nor false")
    return result


def _failed(condition: str, why: str) -> Refused:
    return refuse(
        Code.CONDITION_FAILED,
        f"the request, because the condition {condition!r} can't be evaluated: {why}",
        rule="A condition that can't be evaluated refuses: an unknown risk is not a low one.",
        remedy="Ask an owner of policy.yaml to correct the condition.",
    )


def _evaluate(
    condition: str, *, plan: Mapping[str, int] | None, arguments: Mapping[str, Json], target: str
) -> object:
    from celpy.adapter import json_to_cel
    from celpy.celtypes import BoolType, StringType
    from celpy.evaluation import CELEvalError

    values: dict[str, Any] = {"arguments": json_to_cel(dict(arguments)), "target": StringType(target)}
    if plan is not None:
        values["plan"] = json_to_cel({name: plan[name] for name in PLAN_COUNTS})
    try:
        result = _environment().program(_parsed(condition)).evaluate(values)
    except CELEvalError as error:
        raise ConditionError(_reason(str(error.args[0]))) from None
    return bool(result) if isinstance(result, BoolType) else result


def _reason(message: str) -> str:
    """The engine's message without its insides."""
    if message.startswith("found no matching overload"):
        return "it combines values of types that don't go together"
    return message.split(" (in activation", 1)[0]


@lru_cache(maxsize=1)
def _environment() -> Any:
    from celpy import Environment

    return Environment()


@lru_cache(maxsize=256)
def _parsed(condition: str) -> Any:
    from celpy.celparser import CELParseError

    try:
        return _environment().compile(condition)
    except CELParseError as error:
        raise ConditionError(f"it is not CEL (column {error.column})") from None


def _check_names(tree: Any, known: Mapping[str, tuple[str, ...] | None]) -> None:
    """Every name is a variable or bound by a macro, and every field of a variable is a known one."""
    bound = set(_bound_names(tree))
    fields = 0
    for node in tree.iter_subtrees():
        if node.data in ("dot_ident", "dot_ident_arg"):
            raise ConditionError("a name begins with a dot")
        if node.data == "member_dot":
            variable = _variable(node.children[0])
            members = known.get(variable) if variable else None
            if members is not None:
                fields += 1
                if str(node.children[1]) not in members:
                    raise ConditionError(f"{variable} has no {node.children[1]}; it has {', '.join(members)}")
    names = [str(node.children[0]) for node in tree.iter_subtrees() if node.data == "ident"]
    for name in names:
        if name in VARIABLES and name not in known:
            raise ConditionError(f"the tool has no plan, so {name} means nothing")
        if name not in known and name not in bound:
            raise ConditionError(f"{name} is unknown; known are {', '.join(known)}")
    if sum(known.get(name) is not None for name in names) != fields:
        raise ConditionError("plan and arguments stand only before a dot, as in plan.deletes")


def _bound_names(tree: Any) -> Iterator[str]:
    for node in tree.iter_subtrees():
        is_call = node.data == "member_dot_arg" and len(node.children) == 3
        if is_call and str(node.children[1]) in ("all", "exists", "exists_one", "map", "filter"):
            name = _variable(node.children[2].children[0]) if node.children[2] is not None else None
            if name is not None:
                yield name


def _variable(node: Any) -> str | None:
    """The name that a part of the tree consists of; None when it is more than one name."""
    while len(getattr(node, "children", ())) == 1 and node.data != "ident":
        node = node.children[0]
    return str(node.children[0]) if getattr(node, "data", None) == "ident" else None


def _check_result(condition: str, *, has_plan: bool, arguments: Mapping[str, Json]) -> None:
    """A trial with an empty plan: what fails there would refuse real requests."""
    counts = dict.fromkeys(PLAN_COUNTS, 0) if has_plan else None
    result = _evaluate(
        condition,
        plan=counts,
        arguments={name: _sample(arguments[name]) for name in arguments},
        target="target",
    )
    if not isinstance(result, bool):
        raise ConditionError("it is neither true nor false; write a comparison such as plan.deletes > 0")


def _sample(declared: Any) -> Json:
    """A value that the declaration of an argument would let through, or close to it."""

    match declared:
        case {"default": sample} | {"enum": [sample, *_]}:
            return cast("Json", sample)
        case {"type": "integer"}:
            return int(declared.get("minimum", 0))
        case {"type": "boolean"}:
            return False
        case _:
            return ""
