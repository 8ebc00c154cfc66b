"""Intake: one call of a tool becomes one request, or joins one, or is refused.

Everything that the call alone can tell is checked here, before anything is stored: tool, arguments,
source, expectation, words that look like a secret. What needs GitHub is `bot.admission`'s, after the
request is stored, so that a crash between the two loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from bot import jobs, locks, outbox, participants, request_store, wording
from bot.base_tips import BaseTips
from bot.identifiers import new_request_id
from bot.outbox import Effect
from bot.parts import Parts
from bot.request_store import Request
from bot.tokens import Principal
from bot.unit_of_work import UnitOfWork, request_topic, step
from policy import arguments, argv, canonical, expectation, secret_shapes, source
from policy.agent_protocol import CallRequest
from policy.audit import Kind
from policy.canonical import Json
from policy.refusal import Code, Refused, refuse
from policy.runner_protocol import JobKind
from policy.source_request import Branch, SourceRequest
from policy.states import State, Tier
from policy.tools import Tool, Via

LONGEST_AGENT = 100
LONGEST_REASON = 4_000
LONGEST_KEY = 200
"""Characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCall:
    """A call whose own content is in order."""

    tool: Tool
    arguments: dict[str, Json]
    source: SourceRequest = field(repr=False)
    branch_sha: str | None
    call: CallRequest = field(repr=False)

    @property
    def source_path(self) -> str | None:
        """The folder that the call works on; None for a tool without source."""
        return argv.fill(self.tool.source, self.arguments) if self.tool.source else None

    @property
    def sha256(self) -> str:
        """What makes two calls with one idempotency key the same call."""
        call = self.call
        same: dict[str, Json] = {
            "tool": call.tool,
            "arguments": self.arguments,
            "expect": cast("Json", dict(call.expect) if call.expect is not None else None),
            "source": cast("Json", dict(call.source) if call.source is not None else None),
        }
        return canonical.sha256(same)

    @property
    def same_key(self) -> str:
        """What makes two calls of anyone one request: tool, arguments, source, target, declaration."""
        call = self.call
        same: dict[str, Json] = {
            "tool": self.tool.name,
            "tool_digest": self.tool.sha256,
            "arguments": self.arguments,
            "source": cast("Json", dict(call.source) if call.source is not None else None),
            "branch_sha": self.branch_sha,
            "target": self.tool.target.name,
        }
        return canonical.sha256(same)


class Intake:
    """Takes calls in. Safe for threads."""

    def __init__(self, parts: Parts, tips: BaseTips) -> None:
        self._parts = parts
        self._tips = tips

    def take(self, principal: Principal, call: CallRequest) -> Request:
        """Stores a call, or finds the request that it belongs to.

        Raises:
            Refused: the call is refused and nothing but that was stored.
        """
        try:
            return self._take(principal, call)
        except Refused as refused:
            self._record_refusal(principal, call, refused)
            raise

    def _take(self, principal: Principal, call: CallRequest) -> Request:
        tool = self._parts.policy.tool(call.tool)
        checked = arguments.validate(tool, cast("Json", dict(call.arguments)))
        asked = source.parse_source_request(cast("Json", call.source), tool, checked)
        _check_words(call)
        _check_expectation(tool, call)
        _check_channel(tool)
        known = CheckedCall(tool=tool, arguments=checked, source=asked, branch_sha=None, call=call)
        if call.idempotency_key is not None:
            found = self._keyed(principal, known)
            if found is not None:
                return found
        if isinstance(asked, Branch):
            # A branch moves; the request is about the commit that it named when it was asked for.
            tip = self._parts.reader().branch_tip(asked.name)
            known = CheckedCall(tool=tool, arguments=checked, source=asked, branch_sha=tip, call=call)
        with step(self._parts) as unit:
            return self._store(unit, principal, known)

    def _keyed(self, principal: Principal, checked: CheckedCall) -> Request | None:
        with self._parts.database.reading() as connection:
            found = participants.keyed(connection, principal.id, str(checked.call.idempotency_key))
            if found is None:
                return None
            call, request_id = found
            if call == checked.sha256:
                return request_store.need(connection, request_id)
        raise refuse(
            Code.IDEMPOTENCY_KEY_REUSED,
            "the idempotency key: it was used for another call",
            rule="One key stands for one call.",
            remedy="Use a new key for a new call.",
        )

    def _store(self, unit: UnitOfWork, principal: Principal, checked: CheckedCall) -> Request:
        tool = checked.tool
        request = None
        if tool.tier is Tier.DESTRUCTIVE:
            request = request_store.same_open(unit.connection, checked.same_key)
        if request is not None:
            _join(unit, request, principal, checked)
        else:
            self._check_open(unit, principal, tool.tier)
            request = self._add(unit, principal, checked)
        key = checked.call.idempotency_key
        if key is not None and participants.keyed(unit.connection, principal.id, key) is None:
            participants.remember_key(unit.connection, principal.id, key, checked.sha256, request.id)
        return request

    def _check_open(self, unit: UnitOfWork, principal: Principal, tier: Tier) -> None:
        limits = self._parts.limits
        most = limits.open_reads_per_agent if tier is Tier.READ else limits.open_requests_per_agent
        if request_store.open_count(unit.connection, principal.id, tier) >= most:
            raise refuse(
                Code.TOO_MANY_OPEN,
                f"the call: this agent has {most} open requests already",
                rule="People's attention is limited, so an agent's open requests are, too.",
                remedy="Wait until one of them is decided, or cancel one with cancel_request.",
            )

    def _add(self, unit: UnitOfWork, principal: Principal, checked: CheckedCall) -> Request:
        tool, call = checked.tool, checked.call
        base = tool.target.base
        tip = self._tips.known(base, youngest_seconds=None) if tool.tier is Tier.READ else None
        request = request_store.add(
            unit.connection,
            {
                "id": new_request_id(),
                "state": State.RECEIVED.value,
                "cause": wording.RECEIVED if tip else wording.READING_SOURCE,
                "tier": tool.tier.value,
                "tool": tool.name,
                "tool_digest": tool.sha256,
                "arguments": checked.arguments,
                "source": dict(call.source) if call.source is not None else None,
                "branch_sha": checked.branch_sha,
                "expect": dict(call.expect) if call.expect is not None else None,
                "reason": call.reason,
                "agent": call.agent,
                "principal_id": principal.id,
                "person_id": principal.person_id or 0,
                "login": principal.login or "",
                "same_key": checked.same_key,
                "target": tool.target.name,
                "runner_pool": tool.target.runner,
                "lock_key": locks.key(tool, checked.source_path),
                "owned": [argv.fill(tool.approval.owned, checked.arguments)] if tool.approval else [],
                "base_ref": base,
                "base_sha": tip,
                "created_at": unit.now,
                "changed_at": unit.now,
            },
        )
        unit.append(Kind.TOOL_REQUEST, request.id, _asked(principal, checked))
        unit.append(
            Kind.POLICY_DECISION,
            request.id,
            {"decision": "accepted", "tier": tool.tier.value, "policy_sha256": self._parts.policy.sha256},
        )
        if tip is not None:
            jobs.add(unit, request, JobKind.READ)
        return request

    def _record_refusal(self, principal: Principal, call: CallRequest, refused: Refused) -> None:
        # What was sent is not repeated: it may be the very secret that it was refused for.
        data: dict[str, Json] = {
            "decision": "refused",
            "code": refused.refusal.code.value,
            "tool": call.tool[:64],
            "principal_id": principal.id,
            "person_id": principal.person_id,
        }
        with step(self._parts) as unit:
            unit.append(Kind.POLICY_DECISION, None, data)


def _asked(principal: Principal, checked: CheckedCall) -> dict[str, Json]:
    return {
        "tool": checked.tool.name,
        "tool_digest": checked.tool.sha256,
        "arguments_sha256": canonical.sha256(checked.arguments),
        "target": checked.tool.target.name,
        "principal_id": principal.id,
        "person": principal.login,
        "person_id": principal.person_id,
        "agent": checked.call.agent,
    }


def _join(unit: UnitOfWork, request: Request, principal: Principal, checked: CheckedCall) -> None:
    joined = participants.join(
        unit.connection,
        request.id,
        principal.id,
        principal.person_id or 0,
        principal.login or "",
        checked.call.agent,
        first=False,
        at=unit.now,
    )
    if not joined:
        return
    data: dict[str, Json] = {
        "principal_id": principal.id,
        "person": principal.login,
        "person_id": principal.person_id,
        "agent": checked.call.agent,
    }
    unit.append(Kind.REQUEST_JOINED, request.id, data)
    if request.pull_request is not None:
        outbox.enqueue(unit, request.id, Effect.STATUS)
    unit.wake(request_topic(request.id))


def _check_words(call: CallRequest) -> None:
    lengths = {
        "agent": (call.agent, LONGEST_AGENT),
        "reason": (call.reason, LONGEST_REASON),
        "idempotency_key": (call.idempotency_key or "", LONGEST_KEY),
    }
    for name, (text, longest) in lengths.items():
        if len(text) > longest:
            raise refuse(
                Code.ARGUMENTS_INVALID,
                f"the call: {name} has {len(text)} characters",
                rule=f"It has at most {longest}.",
                remedy="Say it in fewer words.",
            )
        shape = secret_shapes.find(text)
        if shape is not None:
            raise refuse(
                Code.CREDENTIAL_LITERAL,
                f"the call: {name} looks like {shape}",
                rule="What an agent sends is committed and shown, so no secret may be in it.",
                remedy="Take it out; revoke the secret if it is real.",
            )


def _check_expectation(tool: Tool, call: CallRequest) -> None:
    if call.expect is None:
        return
    if tool.preview is None:
        raise refuse(
            Code.EXPECTATION_INVALID,
            f"the call of {tool.name}: it has `expect`, and the tool has no plan to compare it with",
            rule="An expectation is about a plan.",
            remedy="Call it without `expect`.",
        )
    expectation.parse(cast("Json", dict(call.expect)))


def _check_channel(tool: Tool) -> None:
    if tool.approval is not None and tool.approval.via is not Via.PULL_REQUEST:
        raise refuse(
            Code.CHANNEL_UNAVAILABLE,
            f"the call of {tool.name}: it is approved in an issue",
            rule="This bot asks in pull requests only.",
            remedy="Ask an owner of policy.yaml to declare `via: pull_request` for the tool.",
        )
