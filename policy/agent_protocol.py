"""What agents' servers and the bot say to each other: `/api/v1/tools` and `/api/v1/requests`.

Both sides read the other through these records, so there is one definition and no drift. Answers
never carry text from a pull request, an issue or a comment: whatever people or programs wrote at
GitHub must not reach a language model as if it were an instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from policy import record
from policy.next_action import NextAction
from policy.record import Digest, Moment
from policy.states import State, Tier

LONGEST_WAIT_SECONDS = 45
"""A long poll never waits longer: known clients give up at 60 seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolView:
    """One tool as an agent may call it. `source`: whether the call may bring files or name a branch."""

    __pydantic_config__ = record.STRICT

    name: str
    title: str
    description: str
    tier: Tier
    arguments: Mapping[str, JsonValue]
    source: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolList:
    """`GET /api/v1/tools`: what the policy declares for this bot, and the policy's digest."""

    __pydantic_config__ = record.STRICT

    policy_sha256: Digest
    tools: tuple[ToolView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """`POST /api/v1/requests`: one tool call.

    Attributes:
        agent: the agent's name for itself; shown as unverified.
        reason: why, in the agent's words; shown as unverified.
        expect: what the agent expects the plan to do (`policy.expectation`), or null.
        source: files or a branch (`policy.source`), or null for the base branch.
        idempotency_key: the same key and call give the same request; null means none.
        wait_seconds: how long a read call or a plan may be waited for, at most 45.
    """

    __pydantic_config__ = record.STRICT

    tool: str
    arguments: Mapping[str, JsonValue]
    agent: str
    reason: str
    expect: Mapping[str, JsonValue] | None
    source: Mapping[str, JsonValue] | None
    idempotency_key: str | None
    wait_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalView:
    """Why something was refused; see `policy.refusal`."""

    __pydantic_config__ = record.STRICT

    code: str
    what: str
    rule: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalView:
    """How far the approval is. `may_approve` are logins, for people to read."""

    __pydantic_config__ = record.STRICT

    required: int
    given: int
    may_approve: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseView:
    """The lease of a call: enough to find it in OpenBao's audit log, nothing that could be used."""

    __pydantic_config__ = record.STRICT

    lease_id: str
    scope: str
    expires_at: Moment
    revoked_at: Moment
    powerless_after_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView:
    """What ran and how it ended. `output` is redacted and capped; `output_cut_bytes` says by how much."""

    __pydantic_config__ = record.STRICT

    exit_code: int | None
    output: str
    output_cut_bytes: int
    kernel: str
    started_at: Moment
    ended_at: Moment
    leases: tuple[LeaseView, ...]
    residue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
    """One request as its own agent sees it.

    Attributes:
        cause: one sentence on why it is in this state.
        next_action, next_action_text: what to do now, from `policy.next_action`.
        link: the pull request's page, null without one.
        verdict: the plan's verdict in words, null without a plan.
        plan: the plan's structure (addresses, actions, attribute names), never its values.
        successor_id: the request that replaced this one.
    """

    __pydantic_config__ = record.STRICT

    id: str
    tool: str
    tier: Tier
    state: State
    final: bool
    cause: str
    next_action: NextAction
    next_action_text: str
    created_at: Moment
    expires_at: Moment | None
    link: str | None
    digest: Digest | None
    verdict: str | None
    plan: JsonValue
    approval: ApprovalView | None
    refusal: RefusalView | None
    result: ResultView | None
    successor_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestList:
    """`GET /api/v1/requests`: the caller's own requests, newest first."""

    __pydantic_config__ = record.STRICT

    requests: tuple[RequestView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerView:
    """One runner as `sandbox_status` shows it."""

    __pydantic_config__ = record.STRICT

    name: str
    pool: str
    last_seen_at: Moment
    sandbox: str
    kernel: str
    proved_at: Moment | None
    policy_agrees: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxStatus:
    """`GET /api/v1/sandbox`: the runners, whether their isolation is proved, whether claims are paused."""

    __pydantic_config__ = record.STRICT

    runners: tuple[RunnerView, ...]
    paused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Every answer of 4xx and 5xx: a refusal and what to do next."""

    __pydantic_config__ = record.STRICT

    refusal: RefusalView
    next_action: NextAction
    next_action_text: str
