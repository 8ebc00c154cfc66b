"""The operator's side: what differs is shown and written, what is right is left alone."""

from __future__ import annotations

from pathlib import Path

from runner.lease import openbao_setup
from tests import leases
from tests.openbao import running_openbao


def test_plan_and_apply_meet(tmp_path: Path) -> None:
    with running_openbao(tmp_path / "openbao") as server:
        world = leases.World(server=server, folder=tmp_path)
        client = world.operator
        mounts = {"engines": ["pki"], "jwt_mounts": ["jwt-runner", "jwt-grant"]}
        assert openbao_setup.prepare(world.calls, client, **mounts) == (
            "pki",
            "auth/jwt-runner",
            "auth/jwt-grant",
        )
        assert openbao_setup.prepare(world.calls, client, **mounts) == ()

        writes = leases.layout(world)
        planned = openbao_setup.plan(writes, world.calls, client)
        assert all(change.new and change.needed for change in planned)
        assert len(openbao_setup.apply(writes, world.calls, client)) == len(writes)
        assert not [c for c in openbao_setup.plan(writes, world.calls, client) if c.needed]
        assert openbao_setup.apply(writes, world.calls, client) == ()

        world.calls.write(client, "pki/roles/show", {"allowed_domains": ["*"], "generate_lease": True})
        (change,) = (c for c in openbao_setup.plan(writes, world.calls, client) if c.needed)
        assert change.path == "pki/roles/show"
        assert "allowed_domains" in change.fields
        assert [c.path for c in openbao_setup.apply(writes, world.calls, client)] == ["pki/roles/show"]
