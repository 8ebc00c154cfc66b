"""Sets OpenBao up with an operator's token: mounts once, then the writes that the policy computes.

`plan` compares what is there with what should be, `apply` writes what differs. Only a person with an
operator's token runs this; the runner has neither the token nor the rights.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from policy.canonical import Json
from policy.refusal import Code, Refused
from runner.lease.vault_calls import VaultCalls

_DURATION = re.compile(r"(\d+)([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


class Write(Protocol):
    """One write, as `policy.vault_roles.VaultWrite` has it."""

    @property
    def path(self) -> str: ...
    @property
    def payload(self) -> Mapping[str, Json]: ...
    @property
    def why(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One write and how it compares with what is there.

    Attributes:
        path: of the API, below `/v1/`.
        why: the write's reason.
        new: nothing is there yet.
        fields: names of the fields that differ; empty when nothing does.
    """

    path: str
    why: str
    new: bool
    fields: tuple[str, ...]

    @property
    def needed(self) -> bool:
        """Whether applying it would change anything."""
        return self.new or bool(self.fields)


def prepare(
    calls: VaultCalls, client: Any, *, engines: Collection[str], jwt_mounts: Collection[str]
) -> tuple[str, ...]:
    """Makes the mounts that the writes need, where they are missing; returns what was made.

    Each PKI engine gets a root certificate of its own inside OpenBao, for a trial or a test. Who has a
    certificate authority already mounts and sets up the engine before.

    Raises:
        Refused: `vault_unreachable`, `vault_sealed`, `vault_refused`.
    """
    made: list[str] = []
    mounts = calls.read(client, "sys/mounts") or {}
    for mount in engines:
        if f"{mount}/" not in _data(mounts):
            calls.write(client, f"sys/mounts/{mount}", {"type": "pki", "config": {"max_lease_ttl": "87600h"}})
            root: dict[str, Json] = {
                "common_name": f"ownergate {mount}",
                "key_type": "ec",
                "key_bits": 256,
                "ttl": "87600h",
            }
            calls.write(client, f"{mount}/root/generate/internal", root)
            # OCSP answers from the store; rebuilding the whole list at each revocation would only cost time.
            crl: dict[str, Json] = {
                "auto_rebuild": True,
                "auto_rebuild_grace_period": "12h",
                "ocsp_expiry": "1m",
            }
            calls.write(client, f"{mount}/config/crl", crl)
            made.append(mount)
    methods = calls.read(client, "sys/auth") or {}
    for mount in jwt_mounts:
        if f"{mount}/" not in _data(methods):
            calls.write(client, f"sys/auth/{mount}", {"type": "jwt"})
            made.append(f"auth/{mount}")
    return tuple(made)


def plan(writes: Iterable[Write], calls: VaultCalls, client: Any) -> tuple[Change, ...]:
    """Compares each write with what is there.

    Raises:
        Refused: `vault_unreachable`, `vault_sealed`, `vault_refused`.
    """
    return tuple(_compare(write, _current(calls, client, write.path)) for write in writes)


def apply(writes: Iterable[Write], calls: VaultCalls, client: Any) -> tuple[Change, ...]:
    """Makes the writes that change something, in their order; returns those.

    Raises:
        Refused: `vault_unreachable`, `vault_sealed`, `vault_refused`: what came before stays written.
    """
    made: list[Change] = []
    for write in writes:
        change = _compare(write, _current(calls, client, write.path))
        if change.needed:
            calls.write(client, write.path, write.payload)
            made.append(change)
    return tuple(made)


def _current(calls: VaultCalls, client: Any, path: str) -> Mapping[str, Json] | None:
    try:
        answer = calls.read(client, path)
    except Refused as refused:
        # A method that has no configuration yet answers its read with an error, not with nothing.
        if refused.refusal.code is Code.VAULT_REFUSED and path.endswith("/config"):
            return None
        raise
    return None if answer is None else _data(answer)


def _compare(write: Write, current: Mapping[str, Json] | None) -> Change:
    if current is None:
        return Change(path=write.path, why=write.why, new=True, fields=())
    differing = (
        name
        for name, value in write.payload.items()
        if _normal(name, current.get(name)) != _normal(name, value)
    )
    return Change(path=write.path, why=write.why, new=False, fields=tuple(sorted(differing)))


def _normal(name: str, value: Json) -> Json:
    """One form for what OpenBao gives back in another than it takes: durations, policies, addresses."""
    match value:
        case str() if match := _DURATION.fullmatch(value):
            return int(match[1]) * _SECONDS[match[2]]
        case str() if name == "policy":
            try:
                return cast("Json", json.loads(value))
            except ValueError:
                return value
        case list() if name == "token_bound_cidrs":
            return [str(item).removesuffix("/32").removesuffix("/128") for item in value]
        case list() if name == "jwt_validation_pubkeys":
            return [str(item).strip() for item in value]
        case _:
            return value


def _data(answer: Mapping[str, Any]) -> Mapping[str, Json]:
    data = answer.get("data")
    return cast("Mapping[str, Json]", data if isinstance(data, dict) else {})
