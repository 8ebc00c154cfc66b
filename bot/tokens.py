"""Bearer tokens: one principal and one role each, stored as a hash, shown once.

A token is `og_<role>_<43 characters>`, 256 bits of the system's randomness. The role in its text is for
people and secret scanners; what counts is the role in the database. No role can approve.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import select

from bot import schema
from bot.clock import Clock
from bot.database import Database
from policy.refusal import Code, refuse


class Role(StrEnum):
    """What a token may do."""

    AGENT = "agent"
    RUNNER = "runner"
    AUDITOR = "auditor"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who calls.

    Attributes:
        person_id: numeric GitHub id of the person behind it; every agent has one.
        login: that person's login when the token was made, for people to read.
    """

    id: int
    name: str
    role: Role
    person_id: int | None
    login: str | None


FORM = re.compile(rf"og_(?:{'|'.join(Role)})_[A-Za-z0-9_-]{{43}}")
"""The form of every token, for finding tokens where they must not be."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,99}")


class Tokens:
    """Makes, finds and revokes tokens. Safe for threads."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def create(self, *, name: str, role: Role, person_id: int | None = None, login: str | None = None) -> str:
        """Makes a principal and returns its token's text, which is stored nowhere.

        Args:
            name: how people call it, for example "alice editor".
            person_id: numeric GitHub id of the person behind it; an agent needs one.
            login: that person's login.

        Raises:
            Refused: `token_invalid` for a principal that can't be.
        """
        if not _NAME.fullmatch(name):
            raise _no_principal(
                f"the name {name[:40]!r} is not plain", "Use letters, digits, spaces, . _ @ -."
            )
        if role is Role.AGENT and (person_id is None or person_id <= 0 or not login):
            raise _no_principal("no person stands behind the agent", "Give the GitHub user that it acts for.")
        token = f"og_{role.value}_{secrets.token_urlsafe(32)}"
        with self._database.transaction() as connection:
            connection.execute(
                schema.principals.insert().values(
                    name=name,
                    role=role.value,
                    token_sha256=_digest(token),
                    person_id=person_id,
                    login=login,
                    created_at=self._clock.now(),
                )
            )
        return token

    def find(self, token: str) -> Principal | None:
        """The principal of a token; None for one that is unknown, revoked or not a token at all."""
        if not FORM.fullmatch(token):
            return None
        digest = _digest(token)
        table = schema.principals
        # The lookup is by hash, so its time says nothing about a token; the comparison repeats it in
        # constant time because an index may compare as it likes.
        query = select(table).where(table.c.token_sha256 == digest, table.c.revoked_at.is_(None))
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        if row is None or not hmac.compare_digest(row.token_sha256.encode(), digest.encode()):
            return None
        return Principal(
            id=row.id, name=row.name, role=Role(row.role), person_id=row.person_id, login=row.login
        )

    def revoke(self, principal_id: int) -> bool:
        """Ends a principal's token at once; False when there is no such live token."""
        table = schema.principals
        with self._database.transaction() as connection:
            ended = connection.execute(
                table.update()
                .where(table.c.id == principal_id, table.c.revoked_at.is_(None))
                .values(revoked_at=self._clock.now())
            )
        return ended.rowcount == 1

    def principals(self) -> tuple[Principal, ...]:
        """Everyone whose token is live, oldest first."""
        table = schema.principals
        query = select(table).where(table.c.revoked_at.is_(None)).order_by(table.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return tuple(
            Principal(id=row.id, name=row.name, role=Role(row.role), person_id=row.person_id, login=row.login)
            for row in rows
        )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _no_principal(why: str, remedy: str) -> Exception:
    return refuse(
        Code.TOKEN_INVALID, f"the token: {why}", rule="Every token has one named principal.", remedy=remedy
    )
