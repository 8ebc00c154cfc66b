"""The tables of requests: what was asked, by whom, what is being done about it, what was approved.

A request's row is the only place where its state stands. Every table here hangs on it, and the state
changes only through `bot.request_store.transition`, which holds the one table of `policy.states`.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from bot.column_types import Document
from bot.schema import Moment, metadata, one_of
from policy.runner_protocol import JobKind
from policy.states import State, Tier, is_final

FINAL = tuple(state for state in State if is_final(state))
"""The states that nothing follows."""

OPEN = tuple(state for state in State if not is_final(state))
"""The states of requests that something may still happen to."""

requests = Table(
    "requests",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("cause", Text, nullable=False),
    Column("tier", String(16), nullable=False),
    # What was asked.
    Column("tool", String(64), nullable=False),
    Column("tool_digest", String(64), nullable=False),
    Column("arguments", Document, nullable=False),
    Column("source", Document),
    Column("expect", Document),
    Column("reason", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("principal_id", ForeignKey("principals.id"), nullable=False),
    Column("person_id", BigInteger, nullable=False),
    Column("login", Text, nullable=False),
    Column("same_key", String(64), nullable=False),
    # Where it acts.
    Column("target", String(64), nullable=False),
    Column("runner_pool", String(64), nullable=False),
    Column("lock_key", Text, nullable=False),
    Column("owned", Document, nullable=False),
    Column("base_ref", Text, nullable=False),
    Column("base_sha", String(40)),
    Column("branch_sha", String(40)),
    Column("routing", Document),
    # What was planned, and what people are asked to approve.
    Column("planned_at", Moment),
    Column("verdict", Text),
    Column("structure", Document),
    Column("digest", String(64)),
    Column("required", Integer),
    Column("required_because", Document),
    Column("changes_source", Boolean, nullable=False, default=False),
    # The pull request.
    Column("pull_request", Integer),
    Column("link", Text),
    Column("head_sha", String(40)),
    Column("check_run_id", BigInteger),
    Column("comment_id", BigInteger),
    Column("comment_sha256", String(64)),
    Column("merged", String(16)),
    # What people said, as last read: the decision's findings, who may still approve.
    Column("decision", Document),
    Column("looked_at", Moment),
    # How it ended.
    Column("refusal", Document),
    Column("result", Document),
    Column("receipt", Text),
    Column("predecessor_id", String(32)),
    Column("successor_id", String(32)),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("changed_at", Moment, nullable=False),
    Column("fence", Integer, unique=True),
    one_of("state", tuple(State), name="state"),
    one_of("tier", tuple(Tier), name="tier"),
    Index("requests_by_state", "state"),
    Index("requests_by_pull_request", "pull_request"),
    Index("requests_by_lock", "lock_key", "state"),
)
"""One row a call. Columns without `nullable=False` are filled when the request has come that far."""

_OPEN_AND_DESTRUCTIVE = (requests.c.tier == Tier.DESTRUCTIVE.value) & requests.c.state.in_(
    [state.value for state in OPEN]
)

Index(
    "requests_open_once",
    requests.c.same_key,
    unique=True,
    sqlite_where=_OPEN_AND_DESTRUCTIVE,
    postgresql_where=_OPEN_AND_DESTRUCTIVE,
)
# Two equal destructive calls can't both be open, whatever the code believes: the second joins the first.

papers = Table(
    "papers",
    metadata,
    Column("request_id", ForeignKey("requests.id"), primary_key=True),
    Column("manifest", Text, nullable=False),
    Column("rendering", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("masked_plan", Text),
    Column("sealed_plan", Text),
)
"""The long texts of a planned request, apart from its row because few steps read them."""

participants = Table(
    "participants",
    metadata,
    Column("request_id", ForeignKey("requests.id"), primary_key=True),
    Column("principal_id", ForeignKey("principals.id"), primary_key=True),
    Column("person_id", BigInteger, nullable=False),
    Column("login", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("asked_first", Boolean, nullable=False),
    Column("joined_at", Moment, nullable=False),
    Index("participants_by_principal", "principal_id"),
)
"""Who asked for a request: the first, and everyone who asked for the same and joined. All are barred."""

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("principal_id", ForeignKey("principals.id"), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("call_sha256", String(64), nullable=False),
    Column("request_id", ForeignKey("requests.id"), nullable=False),
)
"""A key of a principal, the call that it was first used for, and the request that answered it."""

source_files = Table(
    "source_files",
    metadata,
    Column("request_id", ForeignKey("requests.id"), primary_key=True),
    Column("path", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
"""The exact bytes of a request's source, modules included, as the bot read them itself."""

source_changes = Table(
    "source_changes",
    metadata,
    Column("request_id", ForeignKey("requests.id"), primary_key=True),
    Column("path", Text, primary_key=True),
    Column("content", LargeBinary),
)
"""What the pull request changes in the source; no content means that the file is deleted."""

jobs = Table(
    "jobs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("request_id", ForeignKey("requests.id"), nullable=False),
    Column("pool", String(64), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("cancelled", Boolean, nullable=False, default=False),
    Column("runner", Text),
    Column("principal_id", ForeignKey("principals.id")),
    Column("not_before", Moment, nullable=False),
    Column("taken_at", Moment),
    Column("seen_at", Moment),
    Column("result_sha256", String(64)),
    Column("created_at", Moment, nullable=False),
    one_of("kind", tuple(JobKind), name="kind"),
    one_of("state", ("queued", "taken", "done"), name="state"),
    Index("jobs_by_pool", "pool", "state"),
    Index("jobs_by_request", "request_id"),
)
"""Work for runners. A job is handed out once; a lost one is done, and a new row is its next attempt."""

job_events = Table(
    "job_events",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("data_sha256", String(64), nullable=False),
    Column("sequence", Integer, nullable=False),
)
"""The steps that a job reported, in order, and where each stands in the audit chain."""

grants = Table(
    "grants",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("request_id", ForeignKey("requests.id"), nullable=False, unique=True),
    Column("digest", String(64), nullable=False),
    Column("claims", Document, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("fence", Integer),
    Column("claimed_by", Text),
    Column("claimed_at", Moment),
)
"""One grant a request at most, as claims; the signed form exists only in the answer to its claim."""

locks = Table(
    "locks",
    metadata,
    Column("key", Text, primary_key=True),
    Column("target", String(64), nullable=False),
    Column("request_id", ForeignKey("requests.id")),
    Column("fence", Integer),
    Column("taken_at", Moment),
    Column("freed_at", Moment),
)
"""Who works on which state or target. A free lock has no request and keeps when it was freed."""

outbox = Table(
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("request_id", ForeignKey("requests.id"), nullable=False),
    Column("effect", String(32), nullable=False),
    Column("done", Boolean, nullable=False, default=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("not_before", Moment, nullable=False),
    Column("trouble", Text),
    Index("outbox_waiting", "done", "request_id", "id"),
)
"""Effects at GitHub that must still happen, in order for each request."""

witnesses = Table(
    "witnesses",
    metadata,
    Column("request_id", ForeignKey("requests.id"), primary_key=True),
    Column("review_id", BigInteger, primary_key=True),
    Column("commit", String(40), nullable=False),
    Column("seen_in", String(16), nullable=False),
    Column("seen_at", Moment, nullable=False),
)
"""The commit of each review as the bot first saw it. It is written once and never changed."""

reported_reviews = Table(
    "reported_reviews",
    metadata,
    Column("request_id", ForeignKey("requests.id"), primary_key=True),
    Column("subject", String(200), primary_key=True),
    Column("code", String(64), primary_key=True),
)
"""The approvals and refused approvals that already stand in the audit trail."""

runners = Table(
    "runners",
    metadata,
    Column("name", Text, primary_key=True),
    Column("principal_id", ForeignKey("principals.id"), nullable=False),
    Column("pool", String(64), nullable=False),
    Column("last_seen_at", Moment, nullable=False),
    Column("sandbox", Text, nullable=False),
    Column("kernel", Text, nullable=False),
    Column("proved_at", Moment),
    Column("policy_sha256", String(64), nullable=False),
)
"""Every runner that ever asked for work, as it last described itself."""
