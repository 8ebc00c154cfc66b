"""The layout that the policy asks for, tried on a real OpenBao: what it lets in and what it keeps out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import hvac
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from policy import grant, signing, vault_roles
from policy.canonical import Json
from policy.vault_roles import VaultSettings
from runner.lease import openbao_setup
from runner.lease.vault_calls import VaultCalls
from runner.secret_bytes import SecretBytes
from tests.openbao import running_openbao
from tests.unit.policy import tool_examples as examples

POLICY = examples.load()
RUNNER = Ed25519PrivateKey.generate()
BOT = Ed25519PrivateKey.generate()
RUNNER_ISSUER = "ownergate:runner"
GRANT_ISSUER = grant.issuer(7)
RUNNER_MOUNT, GRANT_MOUNT = "jwt-runner", "jwt-grant"


def settings(cidr: str = "127.0.0.1/32") -> VaultSettings:
    return VaultSettings(
        runner_issuer=RUNNER_ISSUER,
        grant_issuer=GRANT_ISSUER,
        runner_keys=(_pem(RUNNER),),
        grant_keys=(_pem(BOT),),
        runner_cidrs=(cidr,),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bao:
    """One prepared server and how it is talked to."""

    calls: VaultCalls
    operator: Any
    address: str

    def login(self, mount: str, role: str, token: str) -> hvac.Client:
        """A client with a fresh login; hvac's error when it is refused."""
        client = hvac.Client(url=self.address)
        answer = client.auth.jwt.jwt_login(role=role, jwt=token, path=mount)
        client.token = answer["auth"]["client_token"]
        return client


@pytest.fixture(name="bao", scope="module")
def _bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    with running_openbao(tmp_path_factory.mktemp("openbao")) as server:
        calls = VaultCalls(server.address)
        operator = calls.client(SecretBytes(server.root_token.encode()))
        openbao_setup.prepare(calls, operator, engines=("pki",), jwt_mounts=(RUNNER_MOUNT, GRANT_MOUNT))
        openbao_setup.apply(vault_roles.desired(POLICY, settings()), calls, operator)
        yield Bao(calls=calls, operator=operator, address=server.address)


def token(key: Ed25519PrivateKey, issuer: str, subject: str, **claims: Json) -> str:
    now = int(time.time())
    times: dict[str, Json] = {"iat": now, "nbf": now - 5, "exp": now + 60}
    return signing.sign(
        {"iss": issuer, "sub": subject, "aud": vault_roles.AUDIENCE, **times, **claims}, key, typ="test+jwt"
    )


def a_grant(**claims: Json) -> str:
    return token(BOT, GRANT_ISSUER, "og-1", **{"tool": "apply", "target": "demo", **claims})


def issue(client: hvac.Client, tool: str, *, name: str | None = None) -> dict[str, Any]:
    cn = name or vault_roles.common_name(POLICY.tools[tool])
    body = {"common_name": cn, "ttl": "60s"}
    answer: dict[str, Any] = client.write_data(f"pki/issue/{tool}", data=body)
    return answer


def test_what_was_written_is_what_is_there(bao: Bao) -> None:
    changes = openbao_setup.plan(vault_roles.desired(POLICY, settings()), bao.calls, bao.operator)
    assert [change for change in changes if change.needed] == []


def test_a_grant_gives_its_tools_lease_and_a_login_ends_after_three_uses(bao: Bao) -> None:
    client = bao.login(GRANT_MOUNT, "grant-apply", a_grant())
    lease = issue(client, "apply")
    assert lease["lease_id"].startswith("pki/issue/apply/")
    client.write_data("sys/leases/revoke", data={"lease_id": lease["lease_id"], "sync": True})
    client.write_data("auth/token/revoke-self", data={})
    with pytest.raises(hvac.exceptions.Forbidden):
        issue(client, "apply")


@pytest.mark.parametrize(
    "bad",
    [
        {"tool": "forget"},
        {"target": "other"},
        {"tool": None},
        {"aud": "another"},
        {"exp": 1},
        {"iss": "ownergate:repository:8"},
        {"iss": RUNNER_ISSUER},
    ],
)
def test_any_other_grant_is_refused(bao: Bao, bad: dict[str, Json]) -> None:
    with pytest.raises((hvac.exceptions.InvalidRequest, hvac.exceptions.Forbidden)):
        bao.login(GRANT_MOUNT, "grant-apply", a_grant(**bad))


def test_a_grant_by_another_key_is_refused(bao: Bao) -> None:
    for key in (RUNNER, Ed25519PrivateKey.generate()):
        forged = token(key, GRANT_ISSUER, "og-1", tool="apply", target="demo")
        with pytest.raises((hvac.exceptions.InvalidRequest, hvac.exceptions.Forbidden)):
            bao.login(GRANT_MOUNT, "grant-apply", forged)


def test_the_runner_alone_never_gets_a_destructive_role(bao: Bao) -> None:
    own = token(RUNNER, RUNNER_ISSUER, "demo")
    for role in ("grant-apply", "read-apply", "issue-apply", "apply"):
        with pytest.raises((hvac.exceptions.InvalidRequest, hvac.exceptions.Forbidden)):
            bao.login(RUNNER_MOUNT, role, own)
    client = bao.login(RUNNER_MOUNT, "read-plan", own)
    with pytest.raises(hvac.exceptions.Forbidden):
        issue(client, "apply")


def test_the_runner_gets_read_leases_for_its_own_pool_only(bao: Bao) -> None:
    client = bao.login(RUNNER_MOUNT, "read-show", token(RUNNER, RUNNER_ISSUER, "demo"))
    assert issue(client, "show")["lease_id"].startswith("pki/issue/show/")
    for subject in ("other", "demo-sweeper"):
        with pytest.raises((hvac.exceptions.InvalidRequest, hvac.exceptions.Forbidden)):
            bao.login(RUNNER_MOUNT, "read-show", token(RUNNER, RUNNER_ISSUER, subject))


def test_a_lease_never_carries_another_tools_name(bao: Bao) -> None:
    client = bao.login(GRANT_MOUNT, "grant-apply", a_grant())
    with pytest.raises(hvac.exceptions.InvalidRequest):
        issue(client, "apply", name=vault_roles.common_name(POLICY.tools["forget"]))


def test_a_login_revokes_no_lease_of_another_role(bao: Bao) -> None:
    apply = bao.login(GRANT_MOUNT, "grant-apply", a_grant())
    lease = issue(apply, "apply")["lease_id"]
    reader = bao.login(RUNNER_MOUNT, "read-show", token(RUNNER, RUNNER_ISSUER, "demo"))
    with pytest.raises(hvac.exceptions.Forbidden):
        reader.write_data("sys/leases/revoke", data={"lease_id": lease, "sync": True})


def test_the_sweeper_revokes_any_lease_of_its_pool_and_issues_none(bao: Bao) -> None:
    lease = issue(bao.login(GRANT_MOUNT, "grant-apply", a_grant()), "apply")["lease_id"]
    sweeper = bao.login(RUNNER_MOUNT, "sweep-demo", token(RUNNER, RUNNER_ISSUER, "demo-sweeper"))
    sweeper.write_data("sys/leases/revoke", data={"lease_id": lease, "sync": True})
    with pytest.raises(hvac.exceptions.Forbidden):
        issue(sweeper, "show")
    with pytest.raises(hvac.exceptions.Forbidden):
        sweeper.write_data("sys/leases/revoke", data={"lease_id": "auth/token/create/x", "sync": True})


def test_a_login_from_another_address_is_refused(bao: Bao) -> None:
    elsewhere = vault_roles.desired(POLICY, settings(cidr="10.0.0.7/32"))
    role = next(write for write in elsewhere if write.path.endswith("/role/grant-forget"))
    bao.calls.write(bao.operator, role.path, role.payload)
    with pytest.raises((hvac.exceptions.InvalidRequest, hvac.exceptions.Forbidden)):
        bao.login(GRANT_MOUNT, "grant-forget", a_grant(tool="forget"))


def _pem(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
