"""The digest of a tool's declaration."""

from __future__ import annotations

import dataclasses

import pytest

from policy import declaration
from policy.tools import Limits, Target, Tool
from tests.unit.policy import tool_examples as examples


def test_the_digest_is_that_of_the_declaration() -> None:
    policy = examples.load()
    apply, plan = policy.tools["apply"], policy.tools["plan"]
    assert apply.sha256 == declaration.digest(apply, plan)
    assert plan.sha256 == declaration.digest(plan, None)
    assert declaration.as_json(apply, plan)["plan"] == declaration.as_json(plan, None)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ttl: 15m", "ttl: 16m"),
        ("timeout: 10m", "timeout: 11m"),
        ("[terraform, init]", "[terraform, init, -upgrade]"),
        ("required: 1", "required: 1\n      allow_self_approval: true"),
        ("required: 2}]", "required: 4}]"),
        ("plan.deletes + plan.replaces > 0", "plan.deletes > 0"),
        ("owned: terraform/{module}/\n", "owned: terraform/\n"),
        ("vault: pki", "vault: pki2"),
        ("[terraform.io/builtin/terraform]", "[]"),
        ("state: folder", "state: folder, base: stable"),
        ("targets:", "defaults: {wait: 1h}\ntargets:"),
        ("targets:", "defaults: {sandbox: {grace: 1s}}\ntargets:"),
        ("[terraform, plan, -out=plan.bin]", "[terraform, plan, -refresh=false, -out=plan.bin]"),
        ("{role: plan, ttl: 5m}", "{role: plan2, ttl: 5m}"),
    ],
)
def test_whatever_could_change_what_happens_changes_the_digest(before: str, after: str) -> None:
    assert examples.tool("apply", examples.changed((before, after))).sha256 != examples.tool("apply").sha256


@pytest.mark.parametrize(("before", "after"), [("ttl: 5m", "ttl: 6m"), ("  forget:", "  forget_it:")])
def test_other_tools_don_t(before: str, after: str) -> None:
    text = examples.POLICY.replace(before, after, 1)
    assert examples.tool("apply", text).sha256 == examples.tool("apply").sha256


def test_no_field_is_left_out_of_the_declaration() -> None:
    tool = examples.tool("apply")
    written = declaration.as_json(tool, None)
    named = {field.name for field in dataclasses.fields(Tool)} - {"sha256"}
    assert set(written) - {"version"} == named
    assert set(_part(written["target"])) == {field.name for field in dataclasses.fields(Target)}
    assert set(_part(written["limits"])) == {field.name for field in dataclasses.fields(Limits)}
    assert tool.approval is not None
    assert set(_part(written["approval"])) == {field.name for field in dataclasses.fields(tool.approval)}
    assert tool.credential is not None
    assert set(_part(written["credential"])) == {field.name for field in dataclasses.fields(tool.credential)}


def _part(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(value)
    return value
