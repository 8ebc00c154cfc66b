"""The layout of OpenBao that a policy asks for."""

from __future__ import annotations

import dataclasses
import json

import pytest

from policy import vault_roles
from policy.refusal import Code, Refused
from policy.vault_roles import VaultSettings, VaultWrite
from tests.unit.policy import tool_examples as examples

SETTINGS = VaultSettings(
    runner_issuer="ownergate:runner",
    grant_issuer="ownergate:repository:7",
    runner_keys=("runner key",),
    grant_keys=("grant key", "older grant key"),
    runner_cidrs=("10.0.0.7/32",),
)


def writes(text: str = examples.POLICY) -> dict[str, VaultWrite]:
    return {write.path: write for write in vault_roles.desired(examples.load(text), SETTINGS)}


def test_every_tool_with_a_credential_gets_role_policy_and_login() -> None:
    assert list(writes()) == [
        "auth/jwt-runner/config",
        "auth/jwt-grant/config",
        "pki/roles/show",
        "sys/policies/acl/issue-show",
        "auth/jwt-runner/role/read-show",
        "pki/roles/plan",
        "sys/policies/acl/issue-plan",
        "auth/jwt-runner/role/read-plan",
        "pki/roles/apply",
        "sys/policies/acl/issue-apply",
        "auth/jwt-grant/role/grant-apply",
        "pki/roles/forget",
        "sys/policies/acl/issue-forget",
        "auth/jwt-grant/role/grant-forget",
        "sys/policies/acl/sweep-demo",
        "auth/jwt-runner/role/sweep-demo",
    ]


def test_a_destructive_role_is_open_to_its_own_grant_alone() -> None:
    payload = writes()["auth/jwt-grant/role/grant-apply"].payload
    assert payload["bound_claims"] == {"tool": "apply", "target": "demo"}
    assert payload["bound_audiences"] == ["openbao"]
    assert payload["token_bound_cidrs"] == ["10.0.0.7/32"]
    assert payload["token_num_uses"] == 3
    assert payload["token_no_default_policy"] is True
    assert payload["token_policies"] == ["issue-apply"]
    assert payload["token_ttl"] == payload["token_max_ttl"] == 15 * 60 + 60


def test_no_destructive_role_can_be_had_by_the_runners_own_identity() -> None:
    runner_roles = {path for path in writes() if path.startswith("auth/jwt-runner/role/")}
    assert runner_roles == {
        "auth/jwt-runner/role/read-show",
        "auth/jwt-runner/role/read-plan",
        "auth/jwt-runner/role/sweep-demo",
    }
    for path in runner_roles:
        for policy in _list(writes()[path].payload["token_policies"]):
            text = str(writes()[f"sys/policies/acl/{policy}"].payload["policy"])
            assert 'issue/apply"' not in text
            assert 'issue/forget"' not in text


def test_an_issue_policy_reaches_its_own_leases_only() -> None:
    rules = json.loads(str(writes()["sys/policies/acl/issue-apply"].payload["policy"]))["path"]
    assert rules == {
        "pki/issue/apply": {"capabilities": ["update"]},
        "sys/leases/revoke": {
            "capabilities": ["update"],
            "allowed_parameters": {"lease_id": ["pki/issue/apply/*"], "sync": []},
            "required_parameters": ["lease_id"],
        },
        "auth/token/revoke-self": {"capabilities": ["update"]},
    }


def test_the_sweeper_revokes_the_leases_of_its_pool_and_issues_none() -> None:
    rules = json.loads(str(writes()["sys/policies/acl/sweep-demo"].payload["policy"]))["path"]
    assert set(rules) == {"sys/leases/revoke", "auth/token/revoke-accessor", "auth/token/revoke-self"}
    assert rules["sys/leases/revoke"]["allowed_parameters"]["lease_id"] == [
        "pki/issue/apply/*",
        "pki/issue/forget/*",
        "pki/issue/plan/*",
        "pki/issue/show/*",
    ]
    assert writes()["auth/jwt-runner/role/sweep-demo"].payload["bound_subject"] == "demo-sweeper"


def test_read_tools_that_share_a_role_share_its_certificate_names() -> None:
    found = writes(examples.changed(("{role: plan, ttl: 5m}", "{role: show, ttl: 7m}")))
    payload = found["pki/roles/show"].payload
    assert payload["allowed_domains"] == ["show.demo.ownergate.internal", "plan.demo.ownergate.internal"]
    assert payload["max_ttl"] == "420s"
    assert "pki/roles/plan" not in found
    login = found["auth/jwt-runner/role/read-show"].payload
    assert login["token_ttl"] == 7 * 60 + 60


def test_a_tool_without_credential_gets_nothing() -> None:
    text = examples.changed(("    credential: {role: show, ttl: 5m}\n", ""))
    assert not any("show" in path for path in writes(text))
    with pytest.raises(Refused) as caught:
        vault_roles.login_role(examples.tool("show", text))
    assert caught.value.refusal.code is Code.VAULT_LAYOUT


def test_the_same_policy_gives_the_same_writes() -> None:
    policy = examples.load()
    assert vault_roles.desired(policy, SETTINGS) == vault_roles.desired(policy, SETTINGS)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (dataclasses.replace(SETTINGS, runner_keys=()), "runner_keys"),
        (dataclasses.replace(SETTINGS, grant_keys=()), "grant_keys"),
        (dataclasses.replace(SETTINGS, runner_cidrs=()), "runner_cidrs"),
    ],
)
def test_a_layout_that_binds_to_nothing_is_refused(settings: VaultSettings, name: str) -> None:
    with pytest.raises(Refused, match=f"without {name}"):
        vault_roles.desired(examples.load(), settings)


def test_the_runner_may_not_hold_a_grant_key() -> None:
    settings = dataclasses.replace(SETTINGS, runner_keys=("older grant key",))
    with pytest.raises(Refused, match="one key for both"):
        vault_roles.desired(examples.load(), settings)


def test_a_mount_of_unknown_kind_is_refused() -> None:
    with pytest.raises(Refused, match="the mount kubernetes of the target demo"):
        writes(examples.changed(("vault: pki", "vault: kubernetes")))


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value
