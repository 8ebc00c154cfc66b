"""What is not in the table of the format is refused, wherever it stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from policy import terraform_format
from policy.refusal import Code, Refused
from tests.unit.policy import plan_examples

Tree = dict[str, Any]


@pytest.mark.parametrize("case", plan_examples.CASES)
def test_everything_that_terraform_writes_is_known(case: str) -> None:
    assert terraform_format.read(plan_examples.document(case))["terraform_version"] == "1.11.4"


def _resource(tree: Tree) -> Tree:
    resource: Tree = tree["resource_changes"][0]
    return resource


CHANGES: dict[str, tuple[Callable[[Tree], object], str]] = {
    "unknown part on top": (lambda tree: tree.update(surprise=1), "surprise"),
    "unknown part of a resource": (lambda tree: _resource(tree).update(surprise=1), "surprise"),
    "unknown part of a change": (
        lambda tree: _resource(tree)["change"].update(before_identity={}),
        "identity",
    ),
    "unknown part of the configuration": (
        lambda tree: tree["configuration"]["root_module"].update(actions={}),
        "actions",
    ),
    "unknown part of the state": (lambda tree: tree["prior_state"].update(surprise=1), "surprise"),
    "newer major version": (lambda tree: tree.update(format_version="2.0"), "2.0"),
    "older major version": (lambda tree: tree.update(format_version="0.2"), "0.2"),
    "state of another version": (lambda tree: tree["prior_state"].update(format_version="2.0"), "2.0"),
    "no configuration": (lambda tree: tree.pop("configuration"), "configuration is missing"),
    "no word on completeness": (lambda tree: tree.pop("complete"), "complete is missing"),
    "flag that is text": (lambda tree: tree.update(errored="false"), "errored is not a flag"),
    "list that is an object": (lambda tree: tree.update(resource_changes={}), "not a list"),
    "object that is a list": (lambda tree: tree.update(output_changes=[]), "not an object"),
    "address that is a number": (lambda tree: _resource(tree).update(address=1), "not text"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_anything_else_is_refused(name: str) -> None:
    tree = plan_examples.tree("worst")
    change, word = CHANGES[name]
    change(tree)
    with pytest.raises(Refused) as caught:
        terraform_format.read(json.dumps(tree).encode())
    assert caught.value.refusal.code is Code.PLAN_INVALID
    assert word in caught.value.refusal.what


@pytest.mark.parametrize("document", [b"[]", b"null", b"1", b'"x"'])
def test_a_plan_is_an_object(document: bytes) -> None:
    with pytest.raises(Refused, match="not an object"):
        terraform_format.read(document)
