"""What an agent expects of a plan, and where the plan goes beyond it.

An agent that says `{"replaces": 0}` and gets a plan that replaces something has misunderstood the
change; the plan then goes back to the agent, and no person is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policy import terraform_plan
from policy.canonical import Json
from policy.plan import Plan
from policy.refusal import Code, Refused, refuse

COUNTS = ("creates", "updates", "deletes", "replaces")
"""What can be limited by number; the names are those of `plan.Summary`."""

MOST_RESOURCES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the agent said.

    Attributes:
        at_most: the largest number it expects, for the counts that it named.
        resources: the only addresses that it expects to change; None when it named none.
    """

    at_most: Mapping[str, int]
    resources: frozenset[str] | None


def parse(value: Json) -> Expectation:
    """Reads an expectation: any of `creates`, `updates`, `deletes`, `replaces`, `resources`.

    Raises:
        Refused: `expectation_invalid` for unknown names, numbers that are not whole and at least 0,
            addresses that are not text, and more than `MOST_RESOURCES` of them.
    """
    if not isinstance(value, dict):
        raise _invalid("it is not an object")
    at_most: dict[str, int] = {}
    resources: frozenset[str] | None = None
    for name, item in value.items():
        if name in COUNTS:
            if not isinstance(item, int) or isinstance(item, bool) or item < 0:
                raise _invalid(f"{name} is not a whole number of at least 0")
            at_most[name] = item
        elif name == "resources":
            if not isinstance(item, list) or len(item) > MOST_RESOURCES:
                raise _invalid(f"resources is not a list of at most {MOST_RESOURCES} addresses")
            resources = frozenset(_address(address) for address in item)
        else:
            raise _invalid(f"{name[:80]!r} is not known")
    return Expectation(at_most=at_most, resources=resources)


def exceeded(expectation: Expectation, plan: Plan) -> tuple[str, ...]:
    """Sentences for the agent, one for each way in which the plan does more than expected.

    They name resources as `terraform_plan.structure` does: without the keys of instances.
    """
    counts = plan.summary.as_json()
    sentences = [
        f"The plan {name} {counts[name]}; you expected at most {expectation.at_most[name]}."
        for name in COUNTS
        if name in expectation.at_most and int(str(counts[name])) > expectation.at_most[name]
    ]
    if expectation.resources is not None:
        others = sorted(
            {
                (resource.action.value, terraform_plan.public_address(resource.address))
                for resource in plan.resources
                if resource.address not in expectation.resources
            }
        )
        sentences += [
            f"You did not expect {address} to change; the plan would {action} it."
            for action, address in others
        ]
    return tuple(sentences)


def _address(value: Json) -> str:
    if not isinstance(value, str) or not value:
        raise _invalid("resources holds something that is not an address")
    return value


def _invalid(why: str) -> Refused:
    return refuse(
        Code.EXPECTATION_INVALID,
        f"the expectation: {why}",
        rule="An expectation may name creates, updates, deletes, replaces (largest numbers) and resources.",
        remedy='Send, for example, {"deletes": 0, "replaces": 0, "resources": ["terraform_data.web"]}.',
    )
