"""What the agent may see, and that the fixtures are what Terraform writes today."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from policy import terraform_plan
from tests.unit.policy import plan_examples
from tests.unit.policy.fixtures.plans import generate


def test_structure_names_what_changes() -> None:
    shape = terraform_plan.structure(plan_examples.read("worst"))
    assert shape["verdict"] == "DELETES 3, REPLACES 2, FORGETS 1, updates 2, moves 2, changes 2 outputs"
    resources = shape["resources"]
    assert isinstance(resources, list)
    assert resources[4] == {
        "action": "replace",
        "address": "terraform_data.web",
        "previous_address": None,
        "attributes": ["id", "input", "output", "triggers_replace"],
        "forced_by": ["triggers_replace"],
        "count": 1,
    }
    assert shape["outputs"] == [
        {"name": "dropped", "action": "delete"},
        {"name": "size", "action": "update"},
    ]


@pytest.mark.parametrize("case", plan_examples.CASES)
def test_structure_holds_no_value_key_or_message(case: str) -> None:
    told = json.dumps(terraform_plan.structure(plan_examples.read(case)), ensure_ascii=False)
    words = [
        "last words",
        "hello",
        "on call",
        "b|c",
        "blue",
        "hush",
        "as a name",
        "octocat",
        "The size is",
        "eu-",
    ]
    assert not [word for word in words if word in told]


def test_instances_that_look_alike_are_counted() -> None:
    resources = terraform_plan.structure(plan_examples.read("create"))["resources"]
    assert isinstance(resources, list)
    tiers = [item for item in resources if isinstance(item, dict) and "tier" in str(item["address"])]
    assert [(item["address"], item["count"]) for item in tiers] == [
        ('module.tier["…"].terraform_data.this', 2)
    ]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("a.b", "a.b"),
        ("a.b[0]", "a.b[0]"),
        ('module.m["x"].a.b["y.z"]', 'module.m["…"].a.b["…"]'),
        ('a.b["quote \\" and ] \\\\"]', 'a.b["…"]'),
    ],
)
def test_public_addresses(address: str, shown: str) -> None:
    assert terraform_plan.public_address(address) == shown


def _shape(tree: Any) -> Any:
    """The names and kinds of a tree, without its values."""
    if isinstance(tree, dict):
        return {name: _shape(item) for name, item in tree.items()}
    if isinstance(tree, list):
        return [_shape(item) for item in tree]
    return type(tree).__name__


@pytest.mark.skipif(shutil.which("terraform") is None, reason="Terraform is not installed")
@pytest.mark.parametrize("case", plan_examples.CASES)
def test_terraform_still_writes_what_the_fixtures_hold(case: str) -> None:
    fresh = generate.plan(case)
    assert _shape(json.loads(fresh)) == _shape(plan_examples.tree(case))
    then, now = plan_examples.read(case), terraform_plan.read(terraform_plan.mask(fresh))
    assert now.summary == then.summary
    assert [item.address for item in now.resources] == [item.address for item in then.resources]
