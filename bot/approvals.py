"""Approvals: reads GitHub once, lets the policy decide over what was read, and stores the verdict.

A webhook, the reconciler and a claim all come through `look`; none of them is believed about anything
else than that there is something to read. The commit of each review is stored as it was first seen,
because GitHub may later name another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from bot import endings, grants, jobs, outbox, participants, request_papers, request_store, verdicts, wording
from bot.outbox import Effect
from bot.parts import Parts
from bot.readers import Readers
from bot.request_store import Request
from bot.request_tables import reported_reviews, witnesses
from bot.unit_of_work import UnitOfWork, request_topic, step
from evidence import GitHubReader
from policy import approval, facts, manifest
from policy.approval import Approved, Decision, Denied, Requirement, Void, Waiting
from policy.facts import Facts
from policy.findings import Finding, FindingCode
from policy.requirement import CommitEvidence
from policy.runner_protocol import JobKind
from policy.states import State
from policy.tools import ApprovalRule

UNDECIDED = frozenset({State.PENDING, State.GRANTED})
"""The states in which people's word still changes something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one reading gave."""

    facts: Facts = field(repr=False)
    decision: Decision


class Approvals:
    """Reads and decides. Safe for threads: one request is read by one thread at a time."""

    def __init__(self, parts: Parts, readers: Readers) -> None:
        self._parts = parts
        self._readers = readers

    def look(self, request_id: str) -> Look | None:
        """Reads one request's pull request and acts on what it says; None when it has nothing to decide.

        Raises:
            Unavailable: when GitHub could not be read whole; then nothing was decided.
        """
        with self._readers.of(request_id) as reader:
            with self._parts.database.reading() as connection:
                request = request_store.need(connection, request_id)
            if request.state not in UNDECIDED or request.pull_request is None:
                return None
            look = self._read(reader, request)
            with step(self._parts) as unit:
                self._act(unit, request_id, look.decision)
            return look

    def witness(self, request_id: str, review_id: int, commit: str) -> None:
        """Stores the commit that a `submitted` event names for a review, if it is the first to say so."""
        with step(self._parts) as unit:
            _store_witnesses(unit, request_id, {review_id: commit}, seen_in="event")

    def _read(self, reader: GitHubReader, request: Request) -> Look:
        with self._parts.database.reading() as connection:
            papers = request_papers.papers_of(connection, request.id)
            seen = _witnessed(connection, request.id)
            source = request_papers.source_of(connection, request.id)
            asked_by = participants.asked_by(connection, request.id)
        if papers is None or request.pull_request is None or request.head_sha is None:
            raise LookupError(f"{request.id} was not published")
        document = manifest.parse(papers.manifest)
        read = reader.collect(request.pull_request, manifest=document, witnessed=seen)
        first_read = {
            review.id: review.commit
            for review in read.reviews
            if review.id not in seen and review.commit is not None
        }
        if first_read:
            with step(self._parts) as unit:
                _store_witnesses(unit, request.id, first_read, seen_in="read")
                seen = _witnessed(unit.connection, request.id)
            read = facts.witness(read, seen)
        rule = self._rule(request)
        requirement = Requirement(
            digest=request.digest or "",
            manifest=document,
            rendering=papers.rendering.encode(),
            source=source if document.source is not None else None,
            head_sha=request.head_sha,
            required=max(document.approvals_required, rule.required),
            barred=frozenset({request.person_id, *(person.person_id for person in asked_by)}),
            allow_self_approval=rule.allow_self_approval,
            app_user_id=self._parts.identity.app_user_id,
            body=papers.body,
            commit_evidence=CommitEvidence.WITNESSED,
            now=self._parts.clock.now(),
        )
        return Look(facts=read, decision=approval.decide(read, requirement))

    def _rule(self, request: Request) -> ApprovalRule:
        rule = self._parts.policy.tool(request.tool).approval
        if rule is None:
            raise LookupError(f"{request.tool} needs no approval")
        return rule

    def _act(self, unit: UnitOfWork, request_id: str, decision: Decision) -> None:
        request = request_store.need(unit.connection, request_id)
        if request.state not in UNDECIDED:
            return
        shown = verdicts.stored(decision)
        changed = shown != request.decision
        request_store.note(unit.connection, request_id, decision=shown, looked_at=unit.now)
        _report(unit, request_id, decision)
        match decision:
            case Approved():
                if request.state is State.PENDING:
                    self._grant(unit, request, decision)
            case Waiting():
                self._wait(unit, request, decision, changed=changed)
            case Denied():
                endings.end(unit, request, State.DENIED, cause=wording.DENIED)
            case Void():
                self._void(unit, request, decision)
            case _:
                assert_never(decision)

    def _grant(self, unit: UnitOfWork, request: Request, decision: Approved) -> None:
        expires_at = grants.issue(self._parts, unit, request, decision)
        granted = request_store.transition(
            unit.connection,
            request,
            State.GRANTED,
            cause=wording.GRANTED,
            at=unit.now,
            expires_at=expires_at,
        )
        jobs.add(unit, granted, JobKind.EXECUTE)
        outbox.enqueue(unit, request.id, Effect.STATUS, delay_seconds=grants.STATUS_DELAY_SECONDS)
        unit.wake(request_topic(request.id))

    def _wait(self, unit: UnitOfWork, request: Request, decision: Waiting, *, changed: bool) -> None:
        if request.state is State.GRANTED:
            endings.end(unit, request, State.VOID, cause=wording.APPROVAL_LOST)
            return
        if changed:
            given = verdicts.given(decision)
            cause = wording.PENDING_PARTLY if given else wording.PENDING
            request_store.note(unit.connection, request.id, cause=cause)
            outbox.enqueue(unit, request.id, Effect.STATUS)
            unit.wake(request_topic(request.id))

    def _void(self, unit: UnitOfWork, request: Request, decision: Void) -> None:
        codes = {finding.code for finding in decision.reasons}
        if codes == {FindingCode.EXPIRED}:
            endings.end(unit, request, State.EXPIRED, cause=wording.EXPIRED_WAIT)
            return
        endings.end(unit, request, State.VOID, cause=wording.VOID)


def _witnessed(connection: Connection, request_id: str) -> dict[int, str]:
    rows = connection.execute(
        select(witnesses.c.review_id, witnesses.c.commit).where(witnesses.c.request_id == request_id)
    )
    return {int(review_id): str(commit) for review_id, commit in rows}


def _store_witnesses(unit: UnitOfWork, request_id: str, commits: Mapping[int, str], *, seen_in: str) -> None:
    for review_id, commit in commits.items():
        unit.connection.execute(
            insert(witnesses)
            .values(
                request_id=request_id, review_id=review_id, commit=commit, seen_in=seen_in, seen_at=unit.now
            )
            .on_conflict_do_nothing()
        )


def _report(unit: UnitOfWork, request_id: str, decision: Decision) -> None:
    """Appends each approval that counts, and each that doesn't, to the audit trail, once."""
    for finding in decision.findings:
        kind = verdicts.event_of(finding)
        if kind is None or not _first_time(unit, request_id, finding):
            continue
        data = {"subject": finding.subject, "code": finding.code.value, "reason": finding.reason}
        unit.append(kind, request_id, dict(data))


def _first_time(unit: UnitOfWork, request_id: str, finding: Finding) -> bool:
    row = unit.connection.execute(
        insert(reported_reviews)
        .values(request_id=request_id, subject=finding.subject[:200], code=finding.code.value)
        .on_conflict_do_nothing()
    )
    return row.rowcount == 1
