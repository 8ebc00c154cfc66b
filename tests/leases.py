"""OpenBao with one read role and one destructive role, and a runner's broker in front of it.

The writes come from `policy.vault_roles` over a small policy made by hand, so the layout that is tested
is the one that is applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from policy import signing
from runner.lease import openbao_setup
from runner.lease.identity import RunnerIdentity
from runner.lease.interface import GrantLogin, Lease, Login, RunnerLogin
from runner.lease.journal import LeaseJournal
from runner.lease.openbao import OpenBaoLeases
from runner.lease.vault_calls import VaultCalls
from runner.secret_bytes import SecretBytes
from tests.openbao import OpenBaoServer, running_openbao

POOL = "demo"
RUNNER_ISSUER = "ownergate:runner"
GRANT_ISSUER = "ownergate:repository:1"
READ_NAME = "show.demo.ownergate.internal"
WRITE_NAME = "apply.demo.ownergate.internal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write, in the shape of `policy.vault_roles.VaultWrite`."""

    path: str
    payload: Mapping[str, Any]
    why: str = "a test needs it"


def public_pem(key: Ed25519PrivateKey) -> str:
    """The public half in PEM."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


@dataclass(frozen=True, kw_only=True)
class World:
    """One OpenBao with its layout, and the keys of runner and bot."""

    server: OpenBaoServer
    folder: Path
    runner_key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    bot_key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def calls(self) -> VaultCalls:
        return VaultCalls(self.server.address)

    @property
    def operator(self) -> Any:
        return self.calls.client(SecretBytes(self.server.root_token.encode()))

    @property
    def identity(self) -> RunnerIdentity:
        return RunnerIdentity(self.runner_key, issuer=RUNNER_ISSUER, pool=POOL)

    def journal(self, name: str = "leases") -> LeaseJournal:
        return LeaseJournal(self.folder / name)

    def broker(self, journal: LeaseJournal | None = None) -> OpenBaoLeases:
        return OpenBaoLeases(self.calls, identity=self.identity, journal=journal or self.journal())

    def grant(self, **claims: Any) -> SecretBytes:
        now = int(datetime.now(UTC).timestamp())
        body: dict[str, Any] = {
            "iss": GRANT_ISSUER,
            "aud": "openbao",
            "sub": "r-1",
            "jti": "0" * 64,
            "iat": now,
            "nbf": now,
            "exp": now + int(timedelta(minutes=30).total_seconds()),
            "tool": "apply",
            "target": "demo",
        }
        return SecretBytes(
            signing.sign({**body, **claims}, self.bot_key, typ="ownergate-grant+jwt").encode("ascii")
        )


def read_lease(broker: OpenBaoLeases, *, call_id: str = "call-1", **changed: Any) -> Lease:
    """A lease of the read role."""
    arguments: dict[str, Any] = {
        "call_id": call_id,
        "mount": "pki",
        "role": "show",
        "common_name": READ_NAME,
        "login": RunnerLogin(role="read-show"),
        "ttl_seconds": 600,
        "parameters": {},
    }
    return broker.issue(**{**arguments, **changed})


def write_lease(broker: OpenBaoLeases, login: Login, **changed: Any) -> Lease:
    """A lease of the destructive role."""
    return read_lease(broker, role="apply", common_name=WRITE_NAME, login=login, **changed)


def grant_login(grant: SecretBytes) -> GrantLogin:
    """A login with a grant for the destructive role."""
    return GrantLogin(role="grant-apply", grant_jwt=grant)


def layout(world: World) -> list[Write]:
    """The writes of the two roles and the sweeper."""
    writes = []
    for mount, issuer, key in (
        ("jwt-runner", RUNNER_ISSUER, world.runner_key),
        ("jwt-grant", GRANT_ISSUER, world.bot_key),
    ):
        config = {
            "bound_issuer": issuer,
            "jwt_supported_algs": ["EdDSA"],
            "jwt_validation_pubkeys": [public_pem(key)],
        }
        writes.append(Write(path=f"auth/{mount}/config", payload=config))
    for role, name in (("show", READ_NAME), ("apply", WRITE_NAME)):
        engine = {
            "allowed_domains": [name],
            "allow_bare_domains": True,
            "client_flag": True,
            "server_flag": False,
            "generate_lease": True,
            "key_type": "ec",
            "key_bits": 256,
            "max_ttl": "600s",
            "no_store": False,
            "ttl": "600s",
        }
        policy = (
            f'path "pki/issue/{role}" {{ capabilities = ["update"] }}\n'
            f'path "sys/leases/revoke" {{ capabilities = ["update"]\n'
            f'  allowed_parameters = {{ "lease_id" = ["pki/issue/{role}/*"], "sync" = [] }} }}\n'
            'path "auth/token/revoke-self" { capabilities = ["update"] }\n'
        )
        writes += [
            Write(path=f"pki/roles/{role}", payload=engine),
            Write(path=f"sys/policies/acl/issue-{role}", payload={"policy": policy}),
        ]
    sweep = (
        'path "sys/leases/revoke" { capabilities = ["update"]\n'
        '  allowed_parameters = { "lease_id" = ["pki/issue/show/*", "pki/issue/apply/*"], "sync" = [] } }\n'
        'path "auth/token/revoke-accessor" { capabilities = ["update"] }\n'
        'path "auth/token/revoke-self" { capabilities = ["update"] }\n'
    )
    return [
        *writes,
        Write(path="sys/policies/acl/sweep-demo", payload={"policy": sweep}),
        _login("jwt-runner", "read-show", "issue-show", bound_subject=POOL),
        _login("jwt-grant", "grant-apply", "issue-apply", bound_claims={"tool": "apply", "target": "demo"}),
        _login("jwt-runner", "sweep-demo", "sweep-demo", bound_subject=f"{POOL}-sweeper", token_num_uses=0),
    ]


def _login(mount: str, role: str, policy: str, **changed: Any) -> Write:
    payload = {
        "role_type": "jwt",
        "user_claim": "sub",
        "bound_audiences": ["openbao"],
        "token_bound_cidrs": ["127.0.0.1/32"],
        "token_no_default_policy": True,
        "token_num_uses": 3,
        "token_policies": [policy],
        "token_ttl": 600,
        "token_max_ttl": 600,
        "token_type": "service",
    }
    return Write(path=f"auth/{mount}/role/{role}", payload={**payload, **changed})


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """A running OpenBao with that layout."""
    with running_openbao(folder / "openbao") as server:
        made = World(server=server, folder=folder)
        client = made.operator
        openbao_setup.prepare(made.calls, client, engines=["pki"], jwt_mounts=["jwt-runner", "jwt-grant"])
        openbao_setup.apply(layout(made), made.calls, client)
        yield made
