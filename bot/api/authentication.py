"""Who calls: a bearer token's principal, for routes that ask for a role.

    from bot.api.authentication import Agent, Runner

    @router.get("/api/v1/tools")
    def tools(principal: Agent, request: Request) -> Response: ...

A missing or wrong token is answered 401, a right one of another role 403 (RFC 9110 sections 15.5.2,
15.5.4; RFC 6750 section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request

from bot.api import problems, wiring
from bot.tokens import Principal, Role
from policy.next_action import NextAction
from policy.refusal import Code, Refusal


def principal(request: Request) -> Principal:
    """The caller.

    Raises:
        ProblemRaised: 401.
    """
    headers = request.headers.getlist("authorization")
    scheme, _, token = (headers[0] if len(headers) == 1 else "").partition(" ")
    found = wiring.of(request).tokens.find(token.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        raise problems.ProblemRaised(
            401,
            Refusal(
                code=Code.TOKEN_INVALID,
                what="the call: it has no valid bearer token",
                rule="Every call names its principal by one token that is known and not revoked.",
                remedy="Send `Authorization: Bearer og_…`; ask an admin for a token.",
            ),
            next_action=NextAction.ASK_A_PERSON,
            headers={"WWW-Authenticate": 'Bearer realm="ownergate"'},
        )
    return found


def allow(*roles: Role) -> Callable[[Principal], Principal]:
    """A dependency that lets only these roles through."""

    def check(caller: Annotated[Principal, Depends(principal)]) -> Principal:
        if caller.role not in roles:
            wanted = " or ".join(roles)
            raise problems.ProblemRaised(
                403,
                Refusal(
                    code=Code.FORBIDDEN,
                    what=f"the call: the token is of the role {caller.role}",
                    rule=f"This call is for the role {wanted} alone.",
                    remedy=f"Use a token of the role {wanted}.",
                ),
                next_action=NextAction.ASK_A_PERSON,
                headers={"WWW-Authenticate": 'Bearer realm="ownergate", error="insufficient_scope"'},
            )
        return caller

    return check


Agent = Annotated[Principal, Depends(allow(Role.AGENT))]
Runner = Annotated[Principal, Depends(allow(Role.RUNNER))]
Admin = Annotated[Principal, Depends(allow(Role.ADMIN))]
Auditor = Annotated[Principal, Depends(allow(Role.AUDITOR, Role.ADMIN))]
"""Admins may read what auditors read; auditors change nothing."""
