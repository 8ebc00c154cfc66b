"""Leases from OpenBao's PKI engine: a client certificate for one call, with one login.

The login that took a lease is also what can revoke it, and the lease dies with it: OpenBao revokes the
leases of a token that is revoked or expires. So the login has just the uses it needs (issue, revoke,
revoke itself) and lives as long as the lease may. What that login can no longer do, the pool's sweeper
login can: it may revoke the pool's leases and nothing else.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509

from policy.refusal import Code, Refused, refuse
from runner.lease import ocsp
from runner.lease.identity import RunnerIdentity
from runner.lease.interface import Lease, Login, NotRevoked, StillPowerful
from runner.lease.journal import Entry, LeaseJournal
from runner.lease.logins import Logins, Session
from runner.lease.vault_calls import VaultCalls
from runner.secret_bytes import SecretBytes

CERTIFICATE_FILE = "certificate.pem"
KEY_FILE = "key.pem"
ISSUER_FILE = "ca.pem"

_TTL_TOLERANCE_SECONDS = 5
_CLOCK_TOLERANCE = timedelta(seconds=60)
_LOOK_AGAIN_SECONDS = 0.02


class OpenBaoLeases:
    """Implements `runner.lease.interface.LeaseBroker`."""

    def __init__(
        self,
        calls: VaultCalls,
        *,
        identity: RunnerIdentity,
        journal: LeaseJournal,
        runner_mount: str = "jwt-runner",
        grant_mount: str = "jwt-grant",
    ) -> None:
        """Takes where OpenBao is, who the runner is, and where leases are written down.

        Args:
            calls: how OpenBao is called.
            identity: the runner's own.
            journal: the lease journal.
            runner_mount, grant_mount: mounts of the two JWT auth methods.
        """
        self._calls = calls
        self._journal = journal
        self._logins = Logins(calls, identity, runner_mount=runner_mount, grant_mount=grant_mount)
        self._lock = threading.Lock()
        self._in_use: dict[str, Session] = {}
        """By journal entry: logins of leases that are in use and that nobody has tried to revoke yet."""

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
        """See `LeaseBroker.issue`."""
        if parameters:
            raise refuse(
                Code.VAULT_REFUSED,
                f"a lease of {mount}/{role} with {', '.join(sorted(parameters))}",
                rule="A certificate takes no parameters; a scope that is not enforced must not be promised.",
                remedy="Take the parameters out of the tool's credential in policy.yaml.",
            )
        session = self._logins.log_in(login)
        now = datetime.now(UTC)
        if session.ends_at < now + timedelta(seconds=ttl_seconds - _TTL_TOLERANCE_SECONDS):
            self._logins.end(session)
            raise _too_short(f"{mount}/{role}", "login", session.ends_at - now, ttl_seconds)
        try:
            entry = self._journal.intend(
                call_id=call_id,
                mount=mount,
                role=role,
                accessor=session.accessor,
                now=now,
                ends_at=session.ends_at,
            )
        except Refused:
            self._logins.end(session)
            raise
        with self._lock:
            self._in_use[entry.id] = session
        return self._issue(session, entry, common_name, ttl_seconds, record)

    def revoke(self, lease_id: str) -> None:
        """See `LeaseBroker.revoke`."""
        try:
            entry = self._journal.find(lease_id)
            with self._lock:
                session = self._in_use.pop(entry.id, None) if entry else None
            if session is None or not self._revoke_with(session, lease_id):
                sweeper = self._logins.sweeper()
                self._revoke(sweeper.client, lease_id)
                self._logins.end(sweeper)
        except Refused as refused:
            raise NotRevoked(lease_id, refused.refusal) from None

    def powerless(self, lease: Lease | str, timeout_seconds: float) -> float:
        """See `LeaseBroker.powerless`."""
        lease_id = lease if isinstance(lease, str) else lease.lease_id
        entry = self._journal.find(lease_id)
        if entry is None or entry.certificate is None or entry.issuer is None:
            # Only what was seen to be dead is forgotten, so it was seen before, or it never was ours.
            raise StillPowerful(lease_id, "it is not in this runner's journal")
        began = time.monotonic()
        certificate, issuer = _parse(entry.certificate), _parse(entry.issuer)
        while True:
            try:
                seen = ocsp.standing(self._calls, entry.mount, certificate, issuer).value
            except Refused as refused:
                seen = refused.refusal.what
            elapsed = time.monotonic() - began
            if seen == ocsp.Standing.REVOKED.value:
                self._journal.forget(entry)
                return elapsed
            if elapsed + _LOOK_AGAIN_SECONDS > timeout_seconds:
                raise StillPowerful(lease_id, f"after {elapsed:.1f} seconds the engine's word is: {seen}")
            time.sleep(_LOOK_AGAIN_SECONDS)

    def in_use(self, entry: Entry) -> bool:
        """Whether this process took the lease and has not yet tried to end it."""
        with self._lock:
            return entry.id in self._in_use

    def end_login_of(self, entry: Entry) -> None:
        """Revokes the login that an entry names, and with it whatever it was given.

        Raises:
            Refused: as `VaultCalls.write`.
        """
        sweeper = self._logins.sweeper()
        self._calls.write(sweeper.client, "auth/token/revoke-accessor", {"accessor": entry.accessor})
        self._logins.end(sweeper)

    def _issue(
        self,
        session: Session,
        entry: Entry,
        common_name: str,
        ttl_seconds: int,
        record: Callable[[str], None] | None,
    ) -> Lease:
        try:
            answer = self._calls.write(
                session.client,
                f"{entry.mount}/issue/{entry.role}",
                {"common_name": common_name, "ttl": f"{ttl_seconds}s"},
            )
            lease, known = self._record(entry, answer, common_name)
            self._check(lease, known, ttl_seconds)
            if record is not None:
                record(lease.lease_id)
        except BaseException:
            self._abandon(session, entry)
            raise
        return lease

    def _record(self, entry: Entry, answer: Mapping[str, Any], common_name: str) -> tuple[Lease, Entry]:
        try:
            data = answer["data"]
            certificate, key, issuer = (
                str(data[name]) for name in ("certificate", "private_key", "issuing_ca")
            )
            lease_id, seconds = str(answer["lease_id"]), int(answer["lease_duration"])
            ends_at = _parse(certificate).not_valid_after_utc
        except (KeyError, TypeError, ValueError):
            raise _invalid(entry, "it holds no certificate") from None
        if not lease_id.startswith(f"{entry.mount}/issue/{entry.role}/"):
            raise _invalid(
                entry, "it has no lease, so nobody could revoke it (set generate_lease on the role)"
            )
        known = self._journal.record(
            entry, lease_id=lease_id, certificate=certificate, issuer=issuer, ends_at=ends_at
        )
        secret = SecretBytes(key.encode("ascii"))
        lease = Lease(
            lease_id=lease_id,
            role=entry.role,
            scope=f"client certificate for {common_name}",
            issued_at=entry.intended_at,
            expires_at=min(ends_at, entry.intended_at + timedelta(seconds=seconds)),
            files={
                CERTIFICATE_FILE: SecretBytes(certificate.encode("ascii")),
                KEY_FILE: secret,
                ISSUER_FILE: SecretBytes(issuer.encode("ascii")),
            },
            secrets=(secret,),
        )
        return lease, known

    def _check(self, lease: Lease, entry: Entry, ttl_seconds: int) -> None:
        """It lives long enough, and the engine says now that it is good: the positive control."""
        life = lease.expires_at - lease.issued_at
        if life < timedelta(seconds=ttl_seconds - _TTL_TOLERANCE_SECONDS):
            raise _too_short(f"{entry.mount}/{entry.role}", "lease", life, ttl_seconds)
        if entry.certificate is None or entry.issuer is None:
            raise _invalid(entry, "it holds no certificate")
        seen = ocsp.standing(self._calls, entry.mount, _parse(entry.certificate), _parse(entry.issuer))
        if seen is not ocsp.Standing.GOOD:
            raise _invalid(entry, f"its OCSP responder calls a new certificate {seen.value}")

    def _abandon(self, session: Session, entry: Entry) -> None:
        """Something went wrong after the intention: ends the login, and with it what it may have taken.

        When even that fails the entry stays for the sweeper.
        """
        with self._lock:
            self._in_use.pop(entry.id, None)
        with contextlib.suppress(Refused):
            self._calls.write(session.client, "auth/token/revoke-self", {})
            if self._journal.find_by_id(entry.id) is not None:
                self._confirm_abandoned(entry)

    def _confirm_abandoned(self, entry: Entry) -> None:
        known = self._journal.find_by_id(entry.id)
        if known is None or known.lease_id is None:
            # The engine's answer to revoke-self came after it had revoked the login's leases.
            self._journal.forget(entry)
        else:
            self.powerless(known.lease_id, timeout_seconds=2)

    def _revoke_with(self, session: Session, lease_id: str) -> bool:
        """Revokes with the lease's own login; False when that login may not any more."""
        try:
            self._revoke(session.client, lease_id)
        except Refused as refused:
            if refused.refusal.code is Code.VAULT_REFUSED:
                return False
            raise
        self._logins.end(session)
        return True

    def _revoke(self, client: Any, lease_id: str) -> None:
        # Without `sync` OpenBao answers before it has tried, and a failure would never be seen.
        self._calls.write(client, "sys/leases/revoke", {"lease_id": lease_id, "sync": True})


def is_over(entry: Entry, now: datetime) -> bool:
    """Whether a lease is dead by its own end, with room for clocks that differ."""
    return now > entry.ends_at + _CLOCK_TOLERANCE


def _parse(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode("ascii"))


def _too_short(role: str, what: str, life: timedelta, wanted: int) -> Refused:
    return refuse(
        Code.LEASE_TOO_SHORT,
        f"a lease of {role}: the {what} lives {life.total_seconds():.0f} seconds, {wanted} are needed",
        rule="A credential must outlive the tool's timeout and grace.",
        remedy="Set the role's and the login's times to live as the policy wants: ownergate vault apply.",
    )


def _invalid(entry: Entry, why: str) -> Refused:
    return refuse(
        Code.VAULT_ANSWER_INVALID,
        f"the answer of {entry.mount}/issue/{entry.role}: {why}",
        rule="A lease is used only when it can be revoked and its death can be seen.",
        remedy="Compare OpenBao with the policy: ownergate vault plan.",
    )
