"""One sandbox run with its lease: issue → run → revoke → seen powerless → only then release the output.

Untrusted code can always print a credential that it was given; a dead one is worthless. So whatever a
sandbox printed leaves this module only after its lease was revoked and was seen to be refused. If that
can't be seen, the output is withheld, the lease stays in the journal, and the sweeper goes on trying.

A lease is never revoked while a process of its sandbox may still run: a tool that loses its credential
halfway does more harm than one that keeps it for the seconds until it is gone.
"""

from __future__ import annotations

import threading
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pydantic import JsonValue

from policy import argv, pki_role, timestamps, vault_roles
from policy.audit import Kind
from policy.canonical import Json
from policy.receipt import LeaseRecord
from policy.refusal import Refused
from policy.tools import CredentialRule, Tool
from runner import redaction
from runner.equipment import Equipment
from runner.lease.interface import GrantLogin, Lease, Login, RunnerLogin
from runner.sandbox.interface import SandboxCall, SandboxOutcome, StillRunning
from runner.secret_bytes import SecretBytes
from runner.trail import Trail

POWERLESS_WITHIN_SECONDS = 10.0
"""How long the revoked credential is tried until it is refused."""

REVOKE_TRIES = 4
_REVOKE_PAUSE_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What lease a run needs: the tool and its rule, the parameters filled in, and who logs in."""

    tool: Tool
    rule: CredentialRule
    parameters: Mapping[str, str]
    login: Login


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The output, redacted and capped; its lease is dead."""

    text: str
    cut_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """The output is not released; `why` is a sentence."""

    why: str


Output: TypeAlias = Released | Withheld


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run that is over: no process of it is left.

    Attributes:
        lease: None without one, or when it is not known to be dead.
        secrets: what the run was given and must not be found in anything that leaves the runner.
    """

    outcome: SandboxOutcome
    lease: LeaseRecord | None
    output: Output
    secrets: tuple[SecretBytes, ...] = field(repr=False, default=())


def run(
    equipment: Equipment,
    call: SandboxCall,
    *,
    credential: Credential | None,
    trail: Trail,
    purpose: str,
    cancelled: threading.Event,
) -> Ran:
    """Runs a call with its lease.

    Args:
        equipment: the runner's own.
        call: the call, without credential.
        credential: the lease that it needs; None for none.
        trail: gets an event before and after each step.
        purpose: what the run is for, in the events: `read`, `plan`, `execute`, `second plan`.
        cancelled: when set, the tool is asked to stop.

    Raises:
        Refused: nothing was started, and a lease that was issued is revoked or left to the sweeper.
        StillRunning: the end can't be confirmed; the lease stays until it can.
    """
    lease = None if credential is None else _issue(equipment, call.id, credential, trail)
    ready = call if lease is None else replace(call, credential=lease.files)

    def started(kernel: str) -> None:
        data: dict[str, JsonValue] = {"purpose": purpose, "kernel": kernel, "image": call.image}
        trail.note(Kind.SANDBOX_STARTED, data)

    try:
        outcome = equipment.sandbox.run(ready, started=started, cancelled=cancelled)
    except StillRunning:
        raise
    except BaseException:
        # The sandbox says that nothing runs, or is made to; then the lease has no use any more.
        equipment.sandbox.destroy(call.id)
        if lease is not None:
            _revoke(equipment, lease, trail)
        raise
    trail.note(Kind.SANDBOX_COMPLETED, _ending(outcome, purpose))
    if lease is None:
        return Ran(outcome=outcome, lease=None, output=_release(outcome, None))
    dead = _revoke(equipment, lease, trail)
    if isinstance(dead, Refused):
        why = f"its credential could not be seen to be dead: {dead.refusal.what}"
        return Ran(outcome=outcome, lease=None, output=Withheld(why=why), secrets=lease.secrets)
    output = _release(outcome, lease)
    return Ran(outcome=outcome, lease=dead, output=output, secrets=lease.secrets)


def holds_credential(ran: Ran, data: bytes) -> bool:
    """Whether what a run left holds the credential that it was given, in any usual coding."""
    return redaction.LEASE_MARK in redaction.redact_bytes(data, ran.secrets).found


def credential_of(
    tool: Tool, arguments: Mapping[str, Json], *, grant_jwt: SecretBytes | None
) -> Credential | None:
    """The lease that a call of a tool needs; None for a tool without one.

    Args:
        tool: the tool.
        arguments: its validated arguments.
        grant_jwt: the grant, for a destructive tool: OpenBao gives its lease to nothing else.

    Raises:
        Refused: `path_invalid`, for a parameter that can't be filled in.
    """
    rule = tool.credential
    if rule is None:
        return None
    role = vault_roles.login_role(tool)
    return Credential(
        tool=tool,
        rule=rule,
        parameters={name: argv.fill(template, arguments) for name, template in rule.parameters.items()},
        login=RunnerLogin(role=role) if grant_jwt is None else GrantLogin(role=role, grant_jwt=grant_jwt),
    )


def _issue(equipment: Equipment, call_id: str, credential: Credential, trail: Trail) -> Lease:
    rule = credential.rule
    trail.note(Kind.CREDENTIAL_REQUESTED, {"role": rule.role, "ttl_seconds": rule.ttl_seconds})
    lease = equipment.leases.issue(
        call_id=call_id,
        mount=credential.tool.target.vault,
        role=rule.role,
        common_name=pki_role.common_name(credential.tool),
        login=credential.login,
        ttl_seconds=rule.ttl_seconds,
        parameters=credential.parameters,
    )
    trail.note(
        Kind.CREDENTIAL_ISSUED,
        {
            "lease_id": lease.lease_id,
            "role": lease.role,
            "scope": lease.scope,
            "expires_at": timestamps.format_timestamp(lease.expires_at),
        },
    )
    return lease


def _revoke(equipment: Equipment, lease: Lease, trail: Trail) -> LeaseRecord | Refused:
    """Revokes a lease and watches it die; the reason when that can't be seen."""
    begun = time.monotonic()
    for attempt in range(REVOKE_TRIES):
        try:
            equipment.leases.revoke(lease.lease_id)
            equipment.leases.powerless(lease, timeout_seconds=POWERLESS_WITHIN_SECONDS)
            break
        except Refused as refused:
            if attempt == REVOKE_TRIES - 1:
                return refused
            time.sleep(_REVOKE_PAUSE_SECONDS * 2**attempt)
    milliseconds = round((time.monotonic() - begun) * 1000)
    trail.note(Kind.CREDENTIAL_REVOKED, {"lease_id": lease.lease_id, "powerless_after_ms": milliseconds})
    return LeaseRecord(
        lease_id=lease.lease_id,
        role=lease.role,
        scope=lease.scope,
        issued_at=lease.issued_at,
        expires_at=lease.expires_at,
        revoked_at=equipment.now(),
        powerless_after_ms=milliseconds,
    )


def _release(outcome: SandboxOutcome, lease: Lease | None) -> Released:
    released = redaction.redact(outcome.steps, () if lease is None else lease.secrets)
    # What travels is in one normal form, because everything that is hashed is.
    return Released(text=unicodedata.normalize("NFC", released.text), cut_bytes=released.cut_bytes)


def _ending(outcome: SandboxOutcome, purpose: str) -> dict[str, JsonValue]:
    exit_code = outcome.steps[-1].exit_code if outcome.steps else None
    return {
        "purpose": purpose,
        "ended": outcome.ended.value,
        "exit_code": exit_code,
        "image_sha256": outcome.image_sha256,
    }
