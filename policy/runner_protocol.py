"""What runners and the bot say to each other: `/api/v1/runner`.

The runner always calls; the bot never reaches a runner. Nothing here is trusted by the runner beyond
"please look at this": it recomputes and reads again whatever decides.

| call | body | answer |
|---|---|---|
| `POST /api/v1/runner/poll` | `Poll` | `Job`, or 204 when nothing came within `wait_seconds` |
| `POST /api/v1/runner/jobs/{id}/claim` | `ClaimRequest` | `Claim`, or 409 with a `Problem` |
| `POST /api/v1/runner/jobs/{id}/events` | `JobEvent` | `EventReceived` |
| `POST /api/v1/runner/jobs/{id}/heartbeat` | `Heartbeat` | `HeartbeatReceived` |
| `POST /api/v1/runner/jobs/{id}/result` | `JobResult` | `ResultReceived`; twice the same is one |
| `GET /api/v1/runner/audit/{sequence}` | – | `AuditTip` of that event, or 404 |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from policy import manifest, record
from policy.agent_protocol import RefusalView
from policy.audit import Kind
from policy.manifest import Base
from policy.receipt import AuditTip
from policy.record import CommitId, Digest, Moment


class JobKind(StrEnum):
    """What a runner is asked for."""

    READ = "read"
    PLAN = "plan"
    EXECUTE = "execute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """A runner asks for work.

    Attributes:
        running: ids of the jobs that this runner still works on.
        sandbox, kernel, proved_at: how its isolation was last proved.
        remembered: the audit tip that it saw last, null before its first work.
    """

    __pydantic_config__ = record.STRICT

    runner: str
    pool: str
    policy_sha256: Digest
    sandbox: str
    kernel: str
    proved_at: Moment | None
    running: tuple[str, ...]
    remembered: AuditTip | None
    wait_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of work.

    Attributes:
        at: the bot's clock, for the runner's clock check.
        audit_tip: the chain's tip now.
        audit_at_remembered: the chain's event at the sequence that the runner remembered, null when
            the chain no longer has it.
        base: the commit of the base branch that the source is read at.
        source: the call's own source request (`policy.source`), null for the base branch's tree.
        manifest: the manifest's canonical text (execute only).
        pull_request, head_sha: where the approval stands (execute only).
        barred: numeric ids of those who asked for the same change and so can't approve it.
    """

    __pydantic_config__ = record.STRICT

    id: str
    kind: JobKind
    request_id: str
    at: Moment
    audit_tip: AuditTip
    audit_at_remembered: AuditTip | None
    tool: str
    tool_digest: Digest
    policy_sha256: Digest
    arguments: Mapping[str, JsonValue]
    base: Base
    source: Mapping[str, JsonValue] | None
    manifest: str | None
    pull_request: int | None
    head_sha: CommitId | None
    barred: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """The runner's preflight passed and it wants the grant."""

    __pydantic_config__ = record.STRICT

    runner: str
    digest: Digest
    policy_sha256: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The grant, claimed by this runner alone. `fence` grows with every claim; `sealed_plan` is base64."""

    __pydantic_config__ = record.STRICT

    grant: str
    fence: int
    sealed_plan: str | None
    audit_tip: AuditTip


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """One step for the audit trail; `data` without secrets."""

    __pydantic_config__ = record.STRICT

    runner: str
    kind: Kind
    data: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReceived:
    """The event stands in the chain."""

    __pydantic_config__ = record.STRICT

    audit_tip: AuditTip


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The job is still worked on."""

    __pydantic_config__ = record.STRICT

    runner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatReceived:
    """Whether the job was cancelled meanwhile."""

    __pydantic_config__ = record.STRICT

    cancel: bool


class JobOutcome(StrEnum):
    """How a job ended."""

    SUCCEEDED = "succeeded"
    PLANNED = "planned"
    NO_CHANGE = "no_change"
    REFUSED = "refused"
    STALE = "stale"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """What planning found. The manifest is composed of it; `sealed_plan` is base64 and opaque to the bot."""

    __pydantic_config__ = record.STRICT

    source: manifest.Source | None
    plan: manifest.Plan | None
    masked_plan: str | None
    sealed_plan: str | None
    execution: manifest.Execution


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """A job's end. `receipt` is signed (`policy.receipt`); `output` is redacted and capped."""

    __pydantic_config__ = record.STRICT

    runner: str
    outcome: JobOutcome
    reason: str
    refusal: RefusalView | None
    output: str
    output_cut_bytes: int
    structure: JsonValue
    plan: PlanResult | None
    receipt: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultReceived:
    """The result is stored."""

    __pydantic_config__ = record.STRICT

    audit_tip: AuditTip
