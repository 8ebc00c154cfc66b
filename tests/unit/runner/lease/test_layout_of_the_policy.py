"""What `policy.vault_roles` computes from this repository's policy, on a real OpenBao."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from policy import policy_file, vault_roles
from policy.refusal import Code, Refused
from policy.states import Tier
from policy.tools import Policy, Tool
from runner.lease import openbao_setup, sweeping
from runner.lease.interface import Login, RunnerLogin
from runner.lease.openbao import OpenBaoLeases
from tests import leases
from tests.leases import World, grant_login
from tests.openbao import running_openbao

POLICY = Path(__file__).parents[4] / "policy/policy.yaml"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return policy_file.load(POLICY.read_bytes())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, policy: Policy) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("layout")
    with running_openbao(folder / "openbao") as server:
        made = World(server=server, folder=folder)
        settings = vault_roles.VaultSettings(
            runner_issuer=leases.RUNNER_ISSUER,
            grant_issuer=leases.GRANT_ISSUER,
            runner_keys=(leases.public_pem(made.runner_key),),
            grant_keys=(leases.public_pem(made.bot_key),),
            runner_cidrs=("127.0.0.1/32",),
        )
        writes = vault_roles.desired(policy, settings)
        client = made.operator
        openbao_setup.prepare(made.calls, client, engines=["pki"], jwt_mounts=["jwt-runner", "jwt-grant"])
        assert len(openbao_setup.apply(writes, made.calls, client)) == len(writes)
        assert not [c for c in openbao_setup.plan(writes, made.calls, client) if c.needed]
        yield made


def take(broker: OpenBaoLeases, tool: Tool, login: Login) -> None:
    assert tool.credential is not None
    lease = broker.issue(
        call_id=f"call-{tool.name}",
        mount=tool.target.vault,
        role=vault_roles.issue_role(tool),
        common_name=vault_roles.common_name(tool),
        login=login,
        ttl_seconds=tool.credential.ttl_seconds,
        parameters={},
    )
    broker.revoke(lease.lease_id)
    broker.powerless(lease, timeout_seconds=5)


def test_every_tool_gets_its_lease_by_its_own_way_and_by_no_other(world: World, policy: Policy) -> None:
    broker = world.broker()
    for tool in policy.tools.values():
        if tool.credential is None:
            continue
        role = vault_roles.login_role(tool)
        grant = grant_login(world.grant(tool=tool.name, target=tool.target.name))
        with_grant = type(grant)(role=role, grant_jwt=grant.grant_jwt)
        ways: list[Login] = [RunnerLogin(role=role), with_grant]
        right = ways.pop(1 if tool.tier is Tier.DESTRUCTIVE else 0)
        take(broker, tool, right)
        for wrong in ways:
            with pytest.raises(Refused) as refused:
                take(broker, tool, wrong)
            assert refused.value.refusal.code is Code.VAULT_REFUSED
    assert world.journal().entries() == ()


def test_a_grant_for_one_tool_opens_no_other(world: World, policy: Policy) -> None:
    destructive = [
        tool for tool in policy.tools.values() if tool.tier is Tier.DESTRUCTIVE and tool.credential
    ]
    for tool in destructive:
        for other in destructive:
            if other is not tool:
                grant = world.grant(tool=other.name, target=other.target.name)
                login = type(grant_login(grant))(role=vault_roles.login_role(tool), grant_jwt=grant)
                with pytest.raises(Refused):
                    take(world.broker(), tool, login)


def test_the_sweeper_ends_what_a_crash_left(world: World, policy: Policy) -> None:
    tool = policy.tool("terraform_plan")
    assert tool.credential is not None
    lost = world.broker()
    lost.issue(
        call_id="lost",
        mount=tool.target.vault,
        role=vault_roles.issue_role(tool),
        common_name=vault_roles.common_name(tool),
        login=RunnerLogin(role=vault_roles.login_role(tool)),
        ttl_seconds=tool.credential.ttl_seconds,
        parameters={},
    )
    journal = world.journal()
    done = sweeping.sweep(world.broker(journal), journal, alive=frozenset, now=datetime.now(UTC))
    assert [entry.call_id for entry in done.ended] == ["lost"]
    assert done.kept == ()
