"""Logins at OpenBao: one for each execution, by the runner's identity or by a grant, and the sweeper's."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

from policy import vault_roles
from policy.refusal import Code, Refused, refuse
from runner.lease.identity import RunnerIdentity
from runner.lease.interface import GrantLogin, Login, RunnerLogin
from runner.lease.vault_calls import VaultCalls
from runner.secret_bytes import SecretBytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A login. Its token is in the client and shows in no `repr`."""

    client: Any = field(repr=False)
    accessor: str
    ends_at: datetime


class Logins:
    """Makes logins and ends them."""

    def __init__(
        self, calls: VaultCalls, identity: RunnerIdentity, *, runner_mount: str, grant_mount: str
    ) -> None:
        self._calls = calls
        self._identity = identity
        self._runner_mount = runner_mount
        self._grant_mount = grant_mount

    def log_in(self, login: Login) -> Session:
        """Logs in for one lease; raises as `VaultCalls.write`, or `vault_answer_invalid`."""
        match login:
            case RunnerLogin():
                return self._login_at(self._runner_mount, login.role, self._identity.token())
            case GrantLogin():
                return self._login_at(self._grant_mount, login.role, login.grant_jwt)
            case _:
                assert_never(login)

    def sweeper(self) -> Session:
        """Logs in as the pool's sweeper; raises alike."""
        role = vault_roles.sweeper_role(self._identity.pool)
        return self._login_at(self._runner_mount, role, self._identity.sweeper_token())

    def _login_at(self, mount: str, role: str, token: SecretBytes) -> Session:
        body = {"role": role, "jwt": token.reveal().decode("ascii")}
        answer = self._calls.write(self._calls.client(), f"auth/{mount}/login", dict(body))
        try:
            auth = answer["auth"]
            session = SecretBytes(str(auth["client_token"]).encode("ascii"))
            return Session(
                client=self._calls.client(session),
                accessor=str(auth["accessor"]),
                ends_at=datetime.now(UTC) + timedelta(seconds=int(auth["lease_duration"])),
            )
        except (KeyError, TypeError, ValueError):
            raise refuse(
                Code.VAULT_ANSWER_INVALID,
                f"the answer to a login at auth/{mount}: it holds no token",
                rule="A lease hangs on a login of its own.",
                remedy="Look at what stands between the runner and OpenBao.",
            ) from None

    def end(self, session: Session) -> None:
        """Ends a login that is of no more use; if that fails it ends by itself, and it can't do a thing."""
        with contextlib.suppress(Refused):
            self._calls.write(session.client, "auth/token/revoke-self", {})
