"""Planning ends: a runner's plan becomes a request that people can decide, or goes back to the agent."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection

from bot import (
    composition,
    endings,
    jobs,
    locks,
    outbox,
    participants,
    request_papers,
    request_store,
    wording,
)
from bot.composition import Asked, Composed
from bot.identifiers import new_digest
from bot.jobs import QueuedJob
from bot.outbox import Effect
from bot.parts import Parts
from bot.request_papers import Papers
from bot.request_store import Request
from bot.unit_of_work import UnitOfWork, request_topic
from policy import agent_protocol, argv, canonical, manifest, source, terraform_plan
from policy.audit import Kind
from policy.canonical import Json
from policy.refusal import Code, Refusal, Refused
from policy.runner_protocol import JobKind, JobOutcome, JobResult, PlanResult
from policy.states import State

MOST_PLANS = 3
"""How often a request is planned at most, when its state keeps changing meanwhile."""


class Planning:
    """Takes planning results. Safe for threads."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def prepare(self, request: Request, result: JobResult) -> Composed | Refused | None:
        """Works out what a result means, outside of any step: a large plan takes a while to read.

        Returns:
            None for a result without a plan.
        """
        if result.outcome is not JobOutcome.PLANNED or result.plan is None:
            return None
        with self._parts.database.reading() as connection:
            asked = self._asked(connection, request)
        try:
            plan = composition.read_plan(asked, result.plan)
            return composition.compose(asked, result.plan, plan)
        except Refused as refused:
            return refused

    def receive(
        self,
        unit: UnitOfWork,
        job: QueuedJob,
        request: Request,
        result: JobResult,
        prepared: Composed | Refused | None,
    ) -> None:
        """Takes the result of a planning job if its request still waits for it."""
        if request.state is not State.PLANNING:
            return
        began = job.taken_at or job.created_at
        if job.attempt < MOST_PLANS and locks.used_since(unit.connection, request, began):
            # Somebody changed the state while this plan was made.
            jobs.add(unit, request, JobKind.PLAN, attempt=job.attempt + 1)
            return
        match result.outcome:
            case JobOutcome.PLANNED if result.plan is not None and prepared is not None:
                self._planned(unit, request, result.plan, prepared)
            case JobOutcome.NO_CHANGE:
                request_store.note(unit.connection, request.id, structure=result.structure)
                endings.end(unit, request, State.NO_CHANGE, cause=wording.NO_CHANGE)
            case JobOutcome.REFUSED:
                refusal = refusal_of(result.refusal)
                cause = refusal.what if refusal else result.reason
                endings.end(unit, request, State.REFUSED, cause=cause, refusal=refusal)
            case _:
                endings.end(
                    unit,
                    request,
                    State.FAILED,
                    cause=wording.PLAN_FAILED,
                    refusal=refusal_of(result.refusal),
                    result=_failure(result),
                )

    def _planned(
        self, unit: UnitOfWork, request: Request, result: PlanResult, prepared: Composed | Refused
    ) -> None:
        if isinstance(prepared, Refused):
            # The agent learns the plan's shape, so that it can correct the change or its expectation.
            structure = _structure(result) if prepared.refusal.code in _ABOUT_THE_PLAN else None
            request_store.note(unit.connection, request.id, structure=structure)
            refusal = prepared.refusal
            endings.end(unit, request, State.REFUSED, cause=refusal.what, refusal=refusal)
            return
        self._keep(unit, request, result, prepared)

    def _keep(self, unit: UnitOfWork, request: Request, result: PlanResult, composed: Composed) -> None:
        document = composed.manifest
        request_papers.keep_papers(
            unit.connection,
            request.id,
            Papers(
                manifest=manifest.encode(document).decode(),
                rendering=composed.rendering.document,
                title=composed.rendering.title,
                body=composed.rendering.body,
                masked_plan=result.masked_plan,
                sealed_plan=result.sealed_plan,
            ),
        )
        request_store.note(
            unit.connection,
            request.id,
            cause=wording.PUBLISHING,
            digest=composed.digest,
            structure=terraform_plan.structure(composed.plan) if composed.plan else None,
            verdict=composed.plan.summary.verdict() if composed.plan else wording.NO_PREVIEW,
            required=document.approvals_required,
            required_because=list(composed.because),
            expires_at=document.expires_at,
            planned_at=document.created_at,
        )
        unit.append(
            Kind.PLAN_READY,
            request.id,
            {
                "digest": composed.digest,
                "plan_sha256": result.plan.sha256 if result.plan else None,
                "sealed_plan_sha256": _sha256(result.sealed_plan),
                "image_sha256": result.execution.image_sha256,
                "required": document.approvals_required,
            },
        )
        outbox.enqueue(unit, request.id, Effect.PUBLISH)
        unit.wake(request_topic(request.id))

    def _asked(self, connection: Connection, request: Request) -> Asked:
        tool = self._parts.policy.tool(request.tool)
        people = participants.asked_by(connection, request.id)
        identity = self._parts.identity
        return Asked(
            id=request.id,
            tool=tool,
            policy=self._parts.policy,
            arguments=request.arguments,
            expect=cast("Json", request.expect),
            requester=manifest.Requester(
                agent=request.agent, person_id=request.person_id, login=request.login
            ),
            barred=sorted({person.login for person in people}),
            reason=request.reason,
            repository=manifest.Repository(id=identity.repository_id, name=identity.repository_name),
            base=manifest.Base(ref=request.base_ref, sha=request.base_sha or ""),
            source=_source(connection, request, tool.source),
            owners=composition.path_owners(request.routing),
            nonce=new_digest(),
            now=self._parts.clock.now(),
        )


_ABOUT_THE_PLAN = frozenset({Code.EXPECTATION_EXCEEDED, Code.CANNOT_BE_SHOWN_WHOLE})


def _structure(result: PlanResult) -> Json:
    return terraform_plan.structure(terraform_plan.read((result.masked_plan or "").encode()))


def _source(connection: Connection, request: Request, template: str | None) -> source.SourceArchive | None:
    if template is None:
        return None
    files = request_papers.source_of(connection, request.id)
    return source.archive(argv.fill(template, request.arguments), files)


def refusal_of(view: agent_protocol.RefusalView | None) -> Refusal | None:
    """A runner's refusal as one of ours; None for one whose code this bot does not know."""
    if view is None:
        return None
    try:
        code = Code(view.code)
    except ValueError:
        return None
    return Refusal(code=code, what=view.what, rule=view.rule, remedy=view.remedy)


def _failure(result: JobResult) -> dict[str, Json]:
    return {"output": result.output, "output_cut_bytes": result.output_cut_bytes, "reason": result.reason}


def _sha256(text: str | None) -> str | None:
    return None if text is None else canonical.sha256_bytes(text.encode())
