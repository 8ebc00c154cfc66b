"""What an agent sees of a request: state, cause, what to do next. Nothing that was written at GitHub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sqlalchemy import Connection

from bot import outbox, participants, status_reading, wording
from bot.parts import Parts
from bot.request_store import Request
from policy.agent_protocol import ApprovalView, LeaseView, RefusalView, RequestView, ResultView
from policy.canonical import Json
from policy.next_action import SENTENCES, NextAction
from policy.receipt import Receipt
from policy.refusal import Code
from policy.states import State

FIXABLE = frozenset(
    {
        Code.ARGUMENTS_INVALID,
        Code.ARGV_INVALID,
        Code.CREDENTIAL_LITERAL,
        Code.EXPECTATION_EXCEEDED,
        Code.EXPECTATION_INVALID,
        Code.PATH_INVALID,
        Code.PLAN_UNSEEN,
        Code.SOURCE_INVALID,
        Code.TERRAFORM_SOURCE,
    }
)
"""Refusals that the agent can do something about by itself."""

TO_SPLIT = frozenset({Code.CANNOT_BE_SHOWN_WHOLE, Code.SOURCE_TOO_LARGE})


def view(parts: Parts, connection: Connection, request: Request) -> RequestView:
    """One request as its own agent sees it."""
    action = next_action(request)
    return RequestView(
        id=request.id,
        tool=request.tool,
        tier=request.tier,
        state=request.state,
        final=request.final,
        cause=cause(parts, connection, request),
        next_action=action,
        next_action_text=SENTENCES[action],
        created_at=request.created_at,
        expires_at=request.expires_at,
        link=request.link,
        digest=request.digest,
        verdict=request.verdict,
        plan=request.structure,
        approval=_approval(request),
        refusal=_refusal(request.refusal),
        result=_result(parts, request),
        successor_id=request.successor_id,
    )


def next_action(request: Request) -> NextAction:
    """What the agent should do now."""
    code = request.refusal.get("code") if request.refusal else None
    if request.successor_id is not None:
        return NextAction.CHECK_REQUEST
    if request.state is State.REFUSED and code in TO_SPLIT:
        return NextAction.SPLIT
    return wording.next_action(
        request.tier, request.state, has_link=request.link is not None, fixable=code in FIXABLE
    )


def cause(parts: Parts, connection: Connection, request: Request) -> str:
    """Why the request is where it is, and what it waits for."""
    sentences = [request.cause]
    waits_for = status_reading.waits_for(parts, connection, request)
    if waits_for is not None:
        sentences.append(waits_for)
    publishing = request.state is State.PLANNING and request.digest is not None
    if publishing and outbox.trouble(connection, request.id) is not None:
        sentences.append(wording.GITHUB_TROUBLE)
    if request.final and request.result is not None:
        sentences.append(str(request.result.get("reason", "")))
    if request.successor_id is not None:
        sentences.append(f"It goes on as {request.successor_id}.")
    joined = [person for person in participants.asked_by(connection, request.id) if not person.asked_first]
    if joined and not request.final:
        sentences.append("Other agents asked for the same and share this request.")
    return " ".join(sentence for sentence in sentences if sentence)


def _approval(request: Request) -> ApprovalView | None:
    if request.required is None:
        return None
    decision = request.decision or {}
    may_approve = cast("Mapping[str, list[str]]", decision.get("may_approve") or {})
    logins = {str(login) for people in may_approve.values() for login in people}
    if request.decision is None:
        logins = _routed(request.routing)
    return ApprovalView(
        required=request.required,
        given=int(str(decision.get("given", 0))),
        may_approve=tuple(sorted(logins)),
    )


def _routed(routing: Json) -> set[str]:
    rows = routing if isinstance(routing, list) else []
    found: set[str] = set()
    for row in rows:
        people = row.get("people") if isinstance(row, dict) else None
        for person in people if isinstance(people, list) else []:
            found |= {str(person["login"])} if isinstance(person, dict) else set()
    return found


def _refusal(refusal: dict[str, Json] | None) -> RefusalView | None:
    if refusal is None:
        return None
    return RefusalView(**{name: str(refusal[name]) for name in ("code", "what", "rule", "remedy")})


def _result(parts: Parts, request: Request) -> ResultView | None:
    if request.result is None:
        return None
    receipt = status_reading.verified_receipt(parts, request)
    if receipt is None:
        return _without_receipt(request)
    return ResultView(
        exit_code=receipt.exit_code,
        output=str(request.result["output"]),
        output_cut_bytes=receipt.output_cut_bytes,
        kernel=receipt.kernel,
        started_at=receipt.started_at,
        ended_at=receipt.ended_at,
        leases=_leases(receipt),
        residue=receipt.residue.value,
    )


def _without_receipt(request: Request) -> ResultView:
    result = request.result or {}
    return ResultView(
        exit_code=None,
        output=str(result.get("output", "")),
        output_cut_bytes=int(str(result.get("output_cut_bytes", 0))),
        kernel="",
        started_at=request.changed_at,
        ended_at=request.changed_at,
        leases=(),
        residue="not_planned",
    )


def _leases(receipt: Receipt) -> tuple[LeaseView, ...]:
    return tuple(
        LeaseView(
            lease_id=lease.lease_id,
            scope=lease.scope,
            expires_at=lease.expires_at,
            revoked_at=lease.revoked_at,
            powerless_after_ms=lease.powerless_after_ms,
        )
        for lease in receipt.leases
    )
