"""Grants: issued when a request is approved, signed only in the answer to the one claim that wins.

The database holds a grant's claims and never its signed form, so a stolen database permits nothing. A
signature with Ed25519 is deterministic: signing again gives the same token.

A claim reads GitHub again first, without holding anything. What it read then counts only if one atomic
statement still finds the request granted: that statement is the race's only judge, and its fencing
number grows with every claim.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from sqlalchemy import Connection, func, insert, select, update

from bot import locks, request_store, wording
from bot.identifiers import new_digest
from bot.parts import Parts
from bot.request_store import Request
from bot.request_tables import grants, requests
from bot.unit_of_work import UnitOfWork, request_topic
from policy import grant, record
from policy.approval import Approved
from policy.audit import Kind
from policy.canonical import Json
from policy.grant import Evidence, Grant
from policy.refusal import Code, Refused, refuse
from policy.states import State

STATUS_DELAY_SECONDS = 2
"""From approval to start usually takes less; one edit of the status comment then says both."""


def issue(parts: Parts, unit: UnitOfWork, request: Request, decision: Approved) -> datetime:
    """Stores the grant of an approved request and returns when it ends."""
    tool = parts.policy.tool(request.tool)
    now = unit.now.replace(microsecond=0)
    ends = [now + timedelta(seconds=tool.grant_seconds)]
    if request.expires_at is not None:
        ends.append(request.expires_at)
    if request.planned_at is not None:
        ends.append(request.planned_at + timedelta(seconds=tool.plan_age_seconds))
    expires_at = min(ends)
    claims = Grant(
        iss=grant.issuer(parts.identity.repository_id),
        aud=grant.AUDIENCE,
        sub=request.id,
        jti=new_digest(),
        iat=int(now.timestamp()),
        nbf=int(now.timestamp()),
        exp=int(expires_at.timestamp()),
        digest=request.digest or "",
        tool=request.tool,
        target=request.target,
        policy_sha256=parts.policy.sha256,
        evidence=evidence_of(request, decision),
    )
    unit.connection.execute(
        insert(grants).values(
            id=claims.jti,
            request_id=request.id,
            digest=claims.digest,
            claims=record.to_json(claims),
            expires_at=expires_at,
        )
    )
    unit.append(
        Kind.GRANT_ISSUED,
        request.id,
        {
            "grant_id": claims.jti,
            "digest": claims.digest,
            "expires_at": record.to_json(expires_at),
            "evidence": record.to_json(claims.evidence),
        },
    )
    return expires_at


def evidence_of(request: Request, decision: Approved) -> Evidence:
    """Where the approvals of a decision stand at GitHub."""
    return Evidence(
        channel="pull_request",
        number=request.pull_request or 0,
        head_sha=request.head_sha or "",
        approvals=tuple(
            grant.Approval(
                review_id=approval.review_id,
                person_id=approval.person.id,
                login=approval.person.login,
                commit=approval.commit,
                lines=approval.lines,
            )
            for approval in decision.approvals
        ),
    )


def of_request(connection: Connection, request_id: str) -> Grant | None:
    """The claims of a request's grant; None before it was approved."""
    claims = connection.execute(select(grants.c.claims).where(grants.c.request_id == request_id)).scalar()
    if claims is None:
        return None
    return record.from_json(Grant, cast("Json", claims), what="a stored grant", code=Code.GRANT_INVALID)


def claim(parts: Parts, unit: UnitOfWork, request_id: str, *, runner: str, digest: str) -> tuple[Grant, int]:
    """Claims a request's grant for a runner: the race that exactly one wins.

    Returns:
        The grant's claims and the fencing number.

    Raises:
        Refused: `claim_refused`, with the reason; nothing was changed then.
    """
    request = request_store.need(unit.connection, request_id)
    claims = of_request(unit.connection, request_id)
    why = why_not(parts, unit.connection, request, claims, digest=digest, now=unit.now)
    if why is not None or claims is None:
        raise refused(request, why or "it has no grant")
    fence = _win(unit, request, claims)
    locks.take(unit, request, fence)
    unit.connection.execute(
        update(grants)
        .where(grants.c.id == claims.jti)
        .values(fence=fence, claimed_by=runner, claimed_at=unit.now)
    )
    data: dict[str, Json] = {"grant_id": claims.jti, "fence": fence, "runner": runner, "digest": digest}
    unit.append(Kind.GRANT_CLAIMED, request_id, data)
    unit.wake(request_topic(request_id))
    return claims, fence


def _win(unit: UnitOfWork, request: Request, claims: Grant) -> int:
    next_fence = select(func.coalesce(func.max(requests.c.fence), 0) + 1).scalar_subquery()
    won = unit.connection.execute(
        update(requests)
        .where(
            requests.c.id == request.id,
            requests.c.state == State.GRANTED.value,
            requests.c.digest == claims.digest,
            requests.c.fence.is_(None),
        )
        .values(state=State.CLAIMED.value, cause=wording.CLAIMED, changed_at=unit.now, fence=next_fence)
        .returning(requests.c.fence)
    ).first()
    if won is None:
        raise refused(request, "somebody else was faster")
    return int(won[0])


def why_not(
    parts: Parts,
    connection: Connection,
    request: Request,
    claims: Grant | None,
    *,
    digest: str,
    now: datetime,
) -> str | None:
    """Why a request can't be claimed now, as half a sentence; None when it can.

    Everything here is read in the claim's own transaction.
    """
    if request.state is not State.GRANTED or claims is None:
        return f"it is {request.state.value}, not granted"
    if digest != request.digest or digest != claims.digest:
        return "the runner's digest is not the approved one"
    if now.timestamp() >= claims.exp:
        return "the grant's time is over"
    tool = parts.policy.tools.get(request.tool)
    if tool is None or tool.sha256 != request.tool_digest:
        return "the tool's declaration changed"
    planned_at = request.planned_at
    if planned_at is None or now >= planned_at + timedelta(seconds=tool.plan_age_seconds):
        return "its plan is too old"
    if parts.pause.reason(connection) is not None:
        return "claims are paused"
    held = locks.held_against(connection, request)
    if held is not None:
        return f"{held.request_id} holds the lock {held.key}"
    return None


def refused(request: Request, why: str) -> Refused:
    """The refusal of a claim."""
    return refuse(
        Code.CLAIM_REFUSED,
        f"the claim of {request.id}: {why}",
        rule="A grant is claimed once, while its approval, its plan and its lock hold.",
        remedy="Take other work; the request's own state says how it goes on.",
    )
