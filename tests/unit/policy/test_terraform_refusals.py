"""What would run unseen is refused, with the place and a way out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from policy import terraform_plan
from policy.refusal import Code, Refused
from tests.unit.policy import plan_examples

ALLOWED = [plan_examples.BUILTIN]


@pytest.mark.parametrize(
    "case", ["check", "create", "hostile", "import", "leaks", "nothing", "outputs_only", "tainted", "worst"]
)
def test_ordinary_plans_pass(case: str) -> None:
    terraform_plan.check(plan_examples.document(case), providers=ALLOWED)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("provisioner", "terraform_data.web has a provisioner"),
        ("nested_provisioner", "module.outer.module.inner.terraform_data.web has a provisioner"),
        ("remote_state", "data.terraform_remote_state.other reads another state"),
        ("deferred_data", "data.terraform_remote_state.later is read only while the plan is applied"),
    ],
)
def test_what_real_plans_hide_is_refused(case: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        terraform_plan.check(plan_examples.document(case), providers=ALLOWED)
    assert caught.value.refusal.code is Code.PLAN_UNSEEN
    assert words in caught.value.refusal.what


def _configured(tree: dict[str, Any]) -> Any:
    return tree["configuration"]["root_module"]["resources"][0]


def _provider(tree: dict[str, Any]) -> Any:
    return tree["configuration"]["provider_config"]["terraform"]


REFUSED: dict[str, tuple[Callable[[dict[str, Any]], object], Code]] = {
    "failed": (lambda tree: tree.update(errored=True), Code.PLAN_INCOMPLETE),
    "incomplete": (lambda tree: tree.update(complete=False), Code.PLAN_INCOMPLETE),
    "deferred changes": (lambda tree: tree.update(deferred_changes=[{}]), Code.PLAN_INCOMPLETE),
    "deferred actions": (lambda tree: tree.update(deferred_action_invocations=[{}]), Code.PLAN_INCOMPLETE),
    "action blocks": (lambda tree: tree.update(action_invocations=[{}]), Code.PLAN_UNSEEN),
    "unknown action": (
        lambda tree: tree["resource_changes"][0]["change"].update(actions=["create", "forget"]),
        Code.PLAN_INVALID,
    ),
    "unknown mode of a change": (
        lambda tree: tree["resource_changes"][0].update(mode="list"),
        Code.PLAN_INVALID,
    ),
    "unknown import id": (
        lambda tree: tree["resource_changes"][0]["change"].update(importing={"unknown": True}),
        Code.PLAN_INCOMPLETE,
    ),
    "ephemeral resource": (lambda tree: _configured(tree).update(mode="ephemeral"), Code.PLAN_UNSEEN),
    "ephemeral variable": (
        lambda tree: tree["configuration"]["root_module"]["variables"]["size"].update(ephemeral=True),
        Code.PLAN_UNSEEN,
    ),
    "write-only argument": (
        lambda tree: _configured(tree)["expressions"].update(password_wo={"constant_value": "x"}),
        Code.PLAN_UNSEEN,
    ),
    "configured provider": (
        lambda tree: _provider(tree).update(full_name="registry.terraform.io/evil/external"),
        Code.PLAN_PROVIDER,
    ),
    "provider of a change": (
        lambda tree: tree["resource_changes"][0].update(provider_name="registry.terraform.io/evil/x"),
        Code.PLAN_PROVIDER,
    ),
    "provider in the state alone": (
        lambda tree: tree["prior_state"]["values"]["root_module"]["resources"][0].update(
            provider_name="registry.terraform.io/evil/x"
        ),
        Code.PLAN_PROVIDER,
    ),
    "provider of a module in the state": (
        lambda tree: tree["prior_state"]["values"]["root_module"].update(
            child_modules=[
                {"resources": [{"address": "a.b", "mode": "managed", "type": "a", "provider_name": "evil"}]}
            ]
        ),
        Code.PLAN_PROVIDER,
    ),
}

SETTINGS: dict[str, Any] = {
    "exec": [{"command": {"constant_value": "sh"}, "args": {"constant_value": ["-c", "id"]}}],
    "host": {"constant_value": "https://203.0.113.1"},
    "endpoints": [{"s3": {"constant_value": "https://203.0.113.1"}}],
    "token": {"references": ["var.token"]},
    "region": {"references": ["var.region"]},
    "features": [{"x": {"references": ["var.x"]}}],
    "default_tags": [{"tags": {"constant_value": {}, "references": ["var.x"]}}],
    "zone": "a",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    tree = plan_examples.tree("worst")
    change, code = REFUSED[name]
    change(tree)
    with pytest.raises(Refused) as caught:
        terraform_plan.check(json.dumps(tree).encode(), providers=ALLOWED)
    assert caught.value.refusal.code is code
    assert caught.value.refusal.remedy


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_that_execute_redirect_or_refer_are_refused(setting: str) -> None:
    tree = plan_examples.tree("worst")
    _provider(tree)["expressions"] = {setting: SETTINGS[setting]}
    with pytest.raises(Refused, match=setting) as caught:
        terraform_plan.check(json.dumps(tree).encode(), providers=ALLOWED)
    assert caught.value.refusal.code is Code.PLAN_PROVIDER


def test_harmless_constant_settings_pass() -> None:
    tree = plan_examples.tree("worst")
    _provider(tree)["expressions"] = {
        "region": {"constant_value": "eu-central-1"},
        "features": [{}],
        "default_tags": [{"tags": {"constant_value": {"team": "web"}}}],
    }
    terraform_plan.check(json.dumps(tree).encode(), providers=ALLOWED)


def test_no_allowed_provider_means_none() -> None:
    with pytest.raises(Refused, match="allows no provider"):
        terraform_plan.check(plan_examples.document("nothing"), providers=[])
