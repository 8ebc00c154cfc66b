"""What OpenBao or Vault must hold for a policy's tools, computed from the policy alone.

A tool's scope is written once, in `policy.yaml`; these writes carry it into the engine. `ownergate vault
plan` shows them, `ownergate vault apply` makes them with an operator's token, and the runner never can.
The sentence that matters: a destructive role's lease is given only to a login by grant (`auth/<grant
mount>`), whose claims `tool` and `target` must be that tool's. A read or planning role's lease is given
to the runner's own identity.

Paths and fields: OpenBao's API documentation, "PKI secrets engine", "JWT/OIDC auth method", "Policies"
and "sys/leases".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from policy import grant, pki_role, policy_rules
from policy.canonical import Json
from policy.refusal import Code, refuse
from policy.states import Tier
from policy.tools import Policy, Target, Tool

AUDIENCE: Final = grant.AUDIENCE
"""The audience of every login token, the runner's own and the grants."""

LOGIN_USES: Final = 3
"""Requests that a login may make: issue, revoke its lease, revoke itself."""

LOGIN_HEADROOM_SECONDS: Final = 60
"""How much longer than the lease a login may live: OpenBao cuts a lease to what is left of its login."""

SWEEPER_TTL_SECONDS: Final = 300


class Engine(StrEnum):
    """Kinds of secrets engine that leases can come from."""

    PKI = "pki"


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSettings:
    """What the operator's side of the engine looks like.

    Attributes:
        engines: kind of engine by mount.
        runner_mount: mount of the JWT auth method for the runner's own identity.
        grant_mount: mount of the JWT auth method for grants.
        runner_issuer: issuer in the runner's tokens.
        grant_issuer: issuer in the bot's grants.
        runner_keys: PEM public keys (Ed25519) of the runner's identity.
        grant_keys: PEM public keys (Ed25519) that the bot signs grants with, old and new ones.
        runner_cidrs: addresses that runners come from, at least one.
    """

    runner_issuer: str
    grant_issuer: str
    runner_keys: tuple[str, ...]
    grant_keys: tuple[str, ...]
    runner_cidrs: tuple[str, ...]
    runner_mount: str = "jwt-runner"
    grant_mount: str = "jwt-grant"
    engines: Mapping[str, Engine] = field(default_factory=lambda: MappingProxyType({"pki": Engine.PKI}))


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultWrite:
    """One write: the API path below `/v1/`, the body, and why it is needed, in one sentence."""

    path: str
    payload: Mapping[str, Json]
    why: str


def desired(policy: Policy, settings: VaultSettings) -> tuple[VaultWrite, ...]:
    """Every write that the policy needs, in an order in which they can be made.

    Mounts themselves and the engine's root certificate are the operator's.

    Raises:
        Refused: with code `vault_layout` when a key or an address is missing, or a target's mount is of
            no known kind.
    """
    _check(policy, settings)
    holders = [tool for tool in policy.tools.values() if tool.credential is not None]
    pools = {tool.target.runner for tool in holders}
    writes: list[VaultWrite] = list(_auth_methods(settings))
    roles: set[str] = set()
    for tool in holders:
        role = issue_role(tool)
        if role in roles:
            # Read tools may share a role; policy.policy_rules lets no destructive tool do so.
            continue
        roles.add(role)
        sharing = [other for other in holders if issue_role(other) == role]
        writes += [_engine_role(tool, sharing, settings), _issue_policy(tool)]
        writes.append(
            _grant_role(tool, settings) if _needs_grant(tool) else _read_role(tool, sharing, settings)
        )
    for pool in sorted(pools):
        writes += _sweeper(pool, [tool for tool in holders if tool.target.runner == pool], settings)
    return tuple(writes)


def login_role(tool: Tool) -> str:
    """The role that a login for this tool names: `grant-<role>` or `read-<role>`.

    Raises:
        Refused: `vault_layout` when the tool has no credential.
    """
    return f"{'grant' if _needs_grant(tool) else 'read'}-{issue_role(tool)}"


def issue_role(tool: Tool) -> str:
    """The engine's role that the tool's lease comes from.

    Raises:
        Refused: `vault_layout` when the tool has no credential.
    """
    if tool.credential is None:
        raise refuse(
            Code.VAULT_LAYOUT,
            f"a lease for {tool.name}",
            rule="Only a tool that declares a credential gets a lease.",
            remedy="Declare its credential in policy.yaml.",
        )
    return tool.credential.role


def sweeper_role(pool: str) -> str:
    """The role that the sweeper of a runner pool logs in with."""
    return f"sweep-{pool}"


def sweeper_subject(pool: str) -> str:
    """The subject of the sweeper's own tokens; `policy.policy_rules` lets no pool have such a name."""
    return f"{pool}{policy_rules.SWEEPER_SUFFIX}"


def common_name(tool: Tool) -> str:
    """The name in the credential that a tool's lease is. See `policy.pki_role.common_name`."""
    return pki_role.common_name(tool)


def _needs_grant(tool: Tool) -> bool:
    return tool.tier is Tier.DESTRUCTIVE


def _check(policy: Policy, settings: VaultSettings) -> None:
    for name, values in (
        ("runner_keys", settings.runner_keys),
        ("grant_keys", settings.grant_keys),
        ("runner_cidrs", settings.runner_cidrs),
    ):
        if not values:
            raise refuse(
                Code.VAULT_LAYOUT,
                f"a layout without {name}",
                rule="A login that is bound to no key or address would be open to everybody.",
                remedy=f"Name at least one of {name}.",
            )
    if set(settings.runner_keys) & set(settings.grant_keys):
        raise refuse(
            Code.VAULT_LAYOUT,
            "one key for both the runner's identity and the grants",
            rule="A runner that could sign grants would need nobody's approval.",
            remedy="Give the bot a key of its own.",
        )
    for target in policy.targets.values():
        _engine(target, settings)


def _engine(target: Target, settings: VaultSettings) -> Engine:
    engine = settings.engines.get(target.vault)
    if engine is None:
        known = ", ".join(f"{mount} ({kind})" for mount, kind in settings.engines.items())
        raise refuse(
            Code.VAULT_LAYOUT,
            f"the mount {target.vault} of the target {target.name}",
            rule="Leases come from an engine whose kind is known.",
            remedy=f"Known mounts: {known}.",
        )
    return engine


def _auth_methods(settings: VaultSettings) -> Iterator[VaultWrite]:
    for mount, issuer, keys, why in (
        (
            settings.runner_mount,
            settings.runner_issuer,
            settings.runner_keys,
            "The runner proves who it is with a token that it signs itself, for read and plan leases only.",
        ),
        (
            settings.grant_mount,
            settings.grant_issuer,
            settings.grant_keys,
            "Only the bot's signature under an approval opens a destructive role.",
        ),
    ):
        payload: dict[str, Json] = {
            "bound_issuer": issuer,
            "jwt_supported_algs": ["EdDSA"],
            "jwt_validation_pubkeys": list(keys),
        }
        yield VaultWrite(path=f"auth/{mount}/config", payload=payload, why=why)


def _engine_role(tool: Tool, sharing: list[Tool], settings: VaultSettings) -> VaultWrite:
    path = f"{tool.target.vault}/roles/{issue_role(tool)}"
    users = " and ".join(other.name for other in sharing)
    match _engine(tool.target, settings):
        case Engine.PKI:
            names = " or ".join(map(common_name, sharing))
            why = f"{users} gets a client certificate for {names}, and for nothing else."
            return VaultWrite(path=path, payload=pki_role.payload(sharing), why=why)


def _issue_policy(tool: Tool) -> VaultWrite:
    role, mount = issue_role(tool), tool.target.vault
    rules: dict[str, Json] = {
        f"{mount}/issue/{role}": {"capabilities": ["update"]},
        "sys/leases/revoke": {
            "capabilities": ["update"],
            "allowed_parameters": {"lease_id": [f"{mount}/issue/{role}/*"], "sync": []},
            "required_parameters": ["lease_id"],
        },
        "auth/token/revoke-self": {"capabilities": ["update"]},
    }
    why = f"A login for {role} can issue that lease, revoke it, and end itself."
    return _policy(f"issue-{role}", rules, why)


def _policy(name: str, rules: dict[str, Json], why: str) -> VaultWrite:
    # JSON is valid policy syntax; sorted keys make the same policy the same text.
    text = json.dumps({"path": rules}, indent=1, sort_keys=True)
    return VaultWrite(path=f"sys/policies/acl/{name}", payload={"policy": text}, why=why)


def _read_role(tool: Tool, sharing: list[Tool], settings: VaultSettings) -> VaultWrite:
    role = issue_role(tool)
    payload = _login(settings, f"issue-{role}", ttl_seconds=max(map(_login_ttl, sharing)))
    payload["bound_subject"] = tool.target.runner
    why = f"Runners of the pool {tool.target.runner} may take the lease {role} themselves: it is for reading."
    return VaultWrite(path=f"auth/{settings.runner_mount}/role/{login_role(tool)}", payload=payload, why=why)


def _grant_role(tool: Tool, settings: VaultSettings) -> VaultWrite:
    role = issue_role(tool)
    payload = _login(settings, f"issue-{role}", ttl_seconds=_login_ttl(tool))
    payload["bound_claims"] = {"tool": tool.name, "target": tool.target.name}
    why = f"The lease {role} needs a grant for the tool {tool.name} on the target {tool.target.name}."
    return VaultWrite(path=f"auth/{settings.grant_mount}/role/{login_role(tool)}", payload=payload, why=why)


def _sweeper(pool: str, tools: list[Tool], settings: VaultSettings) -> list[VaultWrite]:
    name = sweeper_role(pool)
    leases = sorted({f"{tool.target.vault}/issue/{issue_role(tool)}/*" for tool in tools})
    rules: dict[str, Json] = {
        "sys/leases/revoke": {
            "capabilities": ["update"],
            "allowed_parameters": {"lease_id": list[Json](leases), "sync": []},
            "required_parameters": ["lease_id"],
        },
        # A crash between a lease's issue and its record leaves only the login's accessor to end it by.
        # Accessors are random, and the runner's journal holds none but its own.
        "auth/token/revoke-accessor": {"capabilities": ["update"]},
        "auth/token/revoke-self": {"capabilities": ["update"]},
    }
    payload = _login(settings, name, ttl_seconds=SWEEPER_TTL_SECONDS)
    # After a crash there may be many leases to revoke in one go, so the uses are not counted.
    payload["token_num_uses"] = 0
    payload["bound_subject"] = sweeper_subject(pool)
    return [
        _policy(name, rules, f"The sweeper of {pool} can revoke the leases of its pool, and nothing else."),
        VaultWrite(
            path=f"auth/{settings.runner_mount}/role/{name}",
            payload=payload,
            why=f"The sweeper of {pool} logs in with its own subject.",
        ),
    ]


def _login(settings: VaultSettings, policy: str, *, ttl_seconds: int) -> dict[str, Json]:
    return {
        "role_type": "jwt",
        "user_claim": "sub",
        "bound_audiences": [AUDIENCE],
        "token_bound_cidrs": list(settings.runner_cidrs),
        "token_max_ttl": ttl_seconds,
        "token_no_default_policy": True,
        "token_num_uses": LOGIN_USES,
        "token_policies": [policy],
        "token_ttl": ttl_seconds,
        "token_type": "service",
    }


def _login_ttl(tool: Tool) -> int:
    """A lease dies with the login that took it, so the login outlives it."""
    return LOGIN_HEADROOM_SECONDS + (tool.credential.ttl_seconds if tool.credential is not None else 0)
