"""A lease, how one logs in for it, and the protocol of whoever gives leases.

On one machine a lease is a client certificate from OpenBao's PKI engine; on Kubernetes it is a service
account's token. Both have an id, files, an end, and a way to see that they are dead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from policy.refusal import Code, Refusal, Refused
from runner.secret_bytes import SecretBytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerLogin:
    """A login by the runner's own identity, for read and planning leases.

    `role` is the auth method's role, as `policy.vault_roles.login_role` names it.
    """

    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantLogin:
    """A login by a grant, for a destructive lease: the engine checks the bot's signature and claims."""

    role: str
    grant_jwt: SecretBytes


Login: TypeAlias = RunnerLogin | GrantLogin


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One credential. Its `repr` shows no secret.

    Attributes:
        lease_id: the engine's id; it gives nobody anything.
        role: the engine's role.
        scope: what it is good for, in words.
        issued_at, expires_at: its life if nobody revoked it.
        files: what the tool gets, by file name.
        secrets: what must not be found in output.
    """

    lease_id: str
    role: str
    scope: str
    issued_at: datetime
    expires_at: datetime
    files: Mapping[str, SecretBytes] = field(repr=False)
    secrets: tuple[SecretBytes, ...] = field(repr=False)


class NotRevoked(Refused):
    """A lease could not be revoked. It stays in the journal, and output must not be released.

    Code `lease_not_revoked`; `cause` is `vault_unreachable`, `vault_sealed` or `vault_refused`.
    """

    def __init__(self, lease_id: str, cause: Refusal) -> None:
        super().__init__(
            Refusal(
                code=Code.LEASE_NOT_REVOKED,
                what=f"the end of the lease {lease_id}: {cause.what}",
                rule="Output is released only when the credential that the tool had is dead.",
                remedy=f"{cause.remedy} The lease is in the journal and is tried again.",
            )
        )
        self.lease_id = lease_id
        self.cause = cause.code


class StillPowerful(Refused):
    """A revoked credential was not seen to be refused. Code `credential_still_powerful`."""

    def __init__(self, lease_id: str, seen: str) -> None:
        super().__init__(
            Refusal(
                code=Code.CREDENTIAL_STILL_POWERFUL,
                what=f"the credential of the lease {lease_id}: {seen}",
                rule="A credential is dead when the engine was seen to say so, not when it was asked to.",
                remedy="Look at OpenBao's OCSP responder. The lease is in the journal and is tried again.",
            )
        )
        self.lease_id = lease_id


class LeaseBroker(Protocol):
    """Gives leases and ends them. Methods may be used from several threads."""

    def issue(
        self,
        *,
        call_id: str,
        mount: str,
        role: str,
        common_name: str,
        login: Login,
        ttl_seconds: int,
        parameters: Mapping[str, str],
        record: Callable[[str], None] | None = None,
    ) -> Lease:
        """Logs in and takes one lease, which was seen to be good.

        Args:
            call_id: the sandbox call that it is for; the sweeper leaves it alone while that runs.
            mount: mount of the secrets engine.
            role: the engine's role.
            common_name: the name in the credential, as `policy.vault_roles.common_name` makes it.
            login: who logs in.
            ttl_seconds: how long it must be able to live.
            parameters: what else the engine is asked.
            record: called with the lease's id when that is in the journal, before the credential is
                handed out; when it raises, the lease is revoked.

        Raises:
            Refused: `vault_unreachable`, `vault_sealed`, `vault_refused`, `lease_too_short`,
                `lease_not_recorded` or `vault_answer_invalid`. What may have been issued is revoked, or
                stands in the journal.
        """
        ...

    def revoke(self, lease_id: str) -> None:
        """Revokes a lease and waits for the engine to have done it. Doing it twice is fine.

        Raises:
            NotRevoked: it may still be good.
        """
        ...

    def powerless(self, lease: Lease | str, timeout_seconds: float) -> float:
        """Waits until the revoked credential is refused, and returns how many seconds that took.

        Only then does the lease leave the journal.

        Raises:
            StillPowerful: it was not refused within the time.
        """
        ...
