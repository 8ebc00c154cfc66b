"""From masked plans to changes: actions, causes, order, counts, and what is incomplete."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from policy import terraform_changes, terraform_mask
from policy.plan import Absent, Action, Masked, Number, Plan, ResourceChange, Unknown
from policy.refusal import Code, Refused
from tests.unit.policy import plan_examples


def resource(plan: Plan, address: str) -> ResourceChange:
    return next(item for item in plan.resources if item.address == address)


def values(change: ResourceChange) -> dict[str, tuple[Any, Any]]:
    return {attribute.path: (attribute.before, attribute.after) for attribute in change.attributes}


@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        ("create", "creates 5, changes 2 outputs"),
        ("worst", "DELETES 3, REPLACES 2, FORGETS 1, updates 2, moves 2, changes 2 outputs"),
        ("outputs_only", "changes 1 output"),
        ("nothing", "changes nothing"),
        ("import", "imports 1"),
        ("tainted", "DELETES 1, REPLACES 1"),
        ("deferred_data", "updates 1, reads 1"),
    ],
)
def test_counts(case: str, verdict: str) -> None:
    assert plan_examples.read(case).summary.verdict() == verdict


def test_the_worst_stands_first() -> None:
    assert [(item.action, item.address) for item in plan_examples.read("worst").resources] == [
        (Action.DELETE, "terraform_data.gone"),
        (Action.DELETE, 'terraform_data.keyed["b|c"]'),
        (Action.DELETE, "terraform_data.shrunk[1]"),
        (Action.REPLACE, "terraform_data.front"),
        (Action.REPLACE, "terraform_data.web"),
        (Action.FORGET, "terraform_data.released"),
        (Action.UPDATE, "terraform_data.config"),
        (Action.UPDATE, "terraform_data.moved_here"),
        (Action.MOVE, "terraform_data.new_name"),
    ]


def test_a_replacement_names_what_forces_it() -> None:
    web = resource(plan_examples.read("worst"), "terraform_data.web")
    assert web.causes == ("triggers_replace.size", "triggers_replace.token")
    assert web.reason == "replace_because_cannot_update"
    assert web.create_before_destroy
    assert values(web)["triggers_replace.size"] == (1, 2)
    assert values(web)["triggers_replace.token"] == (Masked(ordinal=1), Masked(ordinal=2))
    assert values(web)["input.motd"] == ("hello\nworld\n", "hello\nplanet\n")
    assert values(web)["output.size"] == (1, Unknown())


def test_a_forcing_path_is_told_even_when_its_value_stays() -> None:
    tree = masked("outputs_only")
    tree["resource_changes"] = [
        change("a.b", ["delete", "create"], {"size": 1}, {"size": 1}, replace_paths=[["size"], ["gone", 0]])
    ]
    (found,) = read(tree).resources
    assert found.causes == ("gone[0]", "size")
    assert values(found) == {"gone[0]": (Absent(), Absent()), "size": (1, 1)}


def test_attributes_are_told_leaf_by_leaf() -> None:
    assert values(resource(plan_examples.read("worst"), "terraform_data.config")) == {
        "input.list[1]": (2, 3),
        "input.list[2]": (3, Absent()),
        'input.tags["on call"]': (Absent(), "yes"),
        "input.zone": ("a", "b"),
        "output.list[0]": (1, Unknown()),
        "output.list[1]": (2, Unknown()),
        "output.list[2]": (3, Unknown()),
        "output.tags.team": ("web", Unknown()),
        "output.zone": ("a", Unknown()),
    }


def test_numbers_are_not_rounded() -> None:
    numbers = values(resource(plan_examples.read("create"), "terraform_data.numbers[0]"))
    assert numbers["input.large"][1] == Number(text="12345678901234567890")
    assert numbers["input.small"][1] == Number(text="0." + "0" * 29 + "1")


def test_moves_imports_and_left_over_objects() -> None:
    worst, imported, tainted = (plan_examples.read(case) for case in ("worst", "import", "tainted"))
    assert resource(worst, "terraform_data.new_name").previous_address == "terraform_data.old_name"
    assert resource(worst, "terraform_data.new_name").attributes == ()
    assert resource(worst, "terraform_data.moved_here").action is Action.UPDATE
    assert imported.resources[0].action is Action.IMPORT
    assert imported.resources[0].imported == "00000000-0000-4000-8000-000000000001"
    assert resource(tainted, "terraform_data.left").deposed == "00000001"
    assert resource(tainted, "terraform_data.web").reason == "replace_because_tainted"


def test_checks_inputs_and_outputs() -> None:
    plan = plan_examples.read("check")
    assert [(check.address, check.status, check.problems) for check in plan.checks] == [
        ("check.size", "fail", ("The size is 1; @everyone should look.",))
    ]
    worst = plan_examples.read("worst")
    assert [(item.name, item.action) for item in worst.outputs] == [
        ("dropped", Action.DELETE),
        ("size", Action.UPDATE),
    ]
    assert worst.variables[0].leaves == (("size", 2),)


def masked(case: str) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(terraform_mask.mask(plan_examples.document(case)))
    return tree


def read(tree: dict[str, Any]) -> Plan:
    return terraform_changes.read(json.dumps(tree).encode())


def change(address: str, actions: list[str], before: Any, after: Any, **more: Any) -> dict[str, Any]:
    return {
        "address": address,
        "mode": "managed",
        "type": "a",
        "provider_name": plan_examples.BUILTIN,
        "change": {"actions": actions, "before": before, "after": after, "replace_paths": [], **more},
    }


def test_drift_is_counted_but_is_no_change() -> None:
    tree = masked("nothing")
    tree["resource_drift"] = [change("a.b", ["update"], {"x": 1}, {"x": 2})]
    plan = read(tree)
    assert plan.summary.drifted == 1
    assert not plan.summary.changes_anything
    assert plan.drift[0].attributes[0].path == "x"


def test_true_is_not_one() -> None:
    tree = masked("outputs_only")
    tree["resource_changes"] = [change("a.b", ["update"], {"x": 1}, {"x": True})]
    assert values(read(tree).resources[0]) == {"x": (1, True)}


INCOMPLETE: dict[str, Callable[[dict[str, Any]], object]] = {
    "errored": lambda tree: tree.update(errored=True),
    "incomplete": lambda tree: tree.update(complete=False),
    "changes that can't be applied": lambda tree: tree.update(applyable=False),
    "nothing to see but applyable": lambda tree: tree.update(output_changes={}),
}


@pytest.mark.parametrize("name", INCOMPLETE)
def test_incomplete_plans_are_refused(name: str) -> None:
    tree = masked("outputs_only")
    INCOMPLETE[name](tree)
    with pytest.raises(Refused) as caught:
        read(tree)
    assert caught.value.refusal.code is Code.PLAN_INCOMPLETE


UNKNOWN: dict[str, Callable[[dict[str, Any]], object]] = {
    "part": lambda tree: tree.update(surprise=1),
    "kind": lambda tree: tree.update(kind="pulumi"),
    "version": lambda tree: tree.update(masked_format=2),
    "missing part": lambda tree: tree.pop("checks"),
    "action": lambda tree: tree["output_changes"]["greeting"].update(actions=["create", "forget"]),
    "no action": lambda tree: tree["output_changes"]["greeting"].update(actions=[]),
    "marker": lambda tree: tree["variables"].update(x={"$ownergate": "surprise"}),
    "marker with more": lambda tree: tree["variables"].update(x={"$ownergate": "unknown", "y": 1}),
    "marker in a marker": lambda tree: tree["variables"].update(
        x={"$ownergate": "text", "parts": [{"$ownergate": "unknown"}]}
    ),
    "path": lambda tree: tree.update(
        resource_changes=[change("a.b", ["update"], {}, {"x": 1}, replace_paths=[[True]])]
    ),
    "import id": lambda tree: tree.update(resource_changes=[change("a.b", ["no-op"], {}, {}, importing=1)]),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_parts_of_the_masked_form_are_refused(name: str) -> None:
    tree = masked("outputs_only")
    UNKNOWN[name](tree)
    with pytest.raises(Refused) as caught:
        read(tree)
    assert caught.value.refusal.code is Code.PLAN_INVALID


def test_a_masked_form_that_is_not_strict_json_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        terraform_changes.read(b'{"kind": 1.5}')
    assert caught.value.refusal.code is Code.JSON_INVALID
