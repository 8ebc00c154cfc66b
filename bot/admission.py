"""Admission: what a received request needs from GitHub before a runner may work on it.

A read needs a commit of the base branch. A destructive request needs its base commit, its exact source
and owners for every path that decides: a change that nobody could approve is refused before anything
is planned. When GitHub can't be read the request stays received and is taken up again.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from bot import endings, jobs, request_papers, request_store, source_reading, wording
from bot.base_tips import BaseTips
from bot.parts import Parts
from bot.readers import Readers
from bot.request_store import Request, TransitionRefused
from bot.source_reading import ReadSource
from bot.unit_of_work import UnitOfWork, request_topic, step
from evidence import GitHubReader, Unavailable
from policy import argv, record, source
from policy.canonical import Json
from policy.refusal import Code, Refused, refuse
from policy.runner_protocol import JobKind
from policy.states import State, Tier
from policy.tools import Tool

logger = logging.getLogger(__name__)


class Admission:
    """Takes received requests on. Safe for threads; taking one on twice does it once."""

    def __init__(self, parts: Parts, readers: Readers, tips: BaseTips) -> None:
        self._parts = parts
        self._readers = readers
        self._tips = tips

    def admit(self, request_id: str) -> None:
        """Takes one request on, refuses it, or leaves it for later when GitHub can't be read."""
        with self._parts.database.reading() as connection:
            request = request_store.need(connection, request_id)
            waiting = jobs.waits_for_work(connection, request_id)
        if request.state is not State.RECEIVED or waiting:
            return
        try:
            if request.tier is Tier.READ:
                self._admit_read(request)
            else:
                self._admit_change(request)
        except Refused as refused:
            self._refuse(request, refused)
        except Unavailable as error:
            logger.warning("%s waits for GitHub: %s", request.id, error)
            self._put_off(request)

    def _admit_read(self, request: Request) -> None:
        tip = self._tips.read(self._parts.reader(), request.base_ref)
        with step(self._parts) as unit:
            current = request_store.need(unit.connection, request.id)
            if current.state is not State.RECEIVED or jobs.waits_for_work(unit.connection, request.id):
                return
            request_store.note(unit.connection, request.id, base_sha=tip, cause=wording.RECEIVED)
            jobs.add(unit, current, JobKind.READ)
            unit.wake(request_topic(request.id))

    def _admit_change(self, request: Request) -> None:
        tool = self._parts.policy.tool(request.tool)
        with self._readers.of(request.id) as reader:
            base_sha = self._tips.read(reader, request.base_ref)
            read = self._read_source(reader, tool, request, base_sha)
            routing = self._route(reader, request, base_sha, read)
        with step(self._parts) as unit:
            self._start_planning(unit, request, base_sha, read, routing)

    def _read_source(
        self, reader: GitHubReader, tool: Tool, request: Request, base_sha: str
    ) -> ReadSource | None:
        if tool.source is None:
            return None
        asked = source.parse_source_request(request.source, tool, request.arguments)
        return source_reading.read(
            reader,
            asked,
            path=argv.fill(tool.source, request.arguments),
            base_sha=base_sha,
            branch_sha=request.branch_sha,
        )

    def _route(self, reader: GitHubReader, request: Request, base_sha: str, read: ReadSource | None) -> Json:
        paths = set(request.owned)
        if read is not None:
            paths |= {file.path for file in read.archive.files} | set(read.changes)
        rule = self._parts.policy.tool(request.tool).approval
        barred = [] if rule is not None and rule.allow_self_approval else [request.person_id]
        routing = reader.routing(base_sha, sorted(paths), barred=barred)
        if routing.faults:
            reasons = " ".join(finding.reason for finding in routing.faults[:5])
            raise refuse(
                Code.OWNERS_MISSING,
                f"the call of {request.tool}: {reasons}",
                rule="Every path that decides must have owners in CODEOWNERS who can approve.",
                remedy="Ask for these paths to be given owners in CODEOWNERS on the base branch.",
            )
        return record.to_json(routing.owned)

    def _start_planning(
        self, unit: UnitOfWork, request: Request, base_sha: str, read: ReadSource | None, routing: Json
    ) -> None:
        if request_store.need(unit.connection, request.id).state is not State.RECEIVED:
            return
        if read is not None:
            request_papers.keep_source(unit.connection, request.id, read.archive.contents(), read.changes)
        planning = request_store.transition(
            unit.connection,
            request,
            State.PLANNING,
            cause=wording.PLANNING,
            at=unit.now,
            base_sha=base_sha,
            routing=routing,
            changes_source=bool(read is not None and read.changes),
        )
        jobs.add(unit, planning, JobKind.PLAN)
        unit.wake(request_topic(request.id))

    def _refuse(self, request: Request, refused: Refused) -> None:
        with step(self._parts) as unit:
            try:
                endings.end(
                    unit,
                    request,
                    State.REFUSED,
                    cause=refused.refusal.what,
                    refusal=refused.refusal,
                )
            except TransitionRefused:
                return

    def _put_off(self, request: Request) -> None:
        waited = self._parts.clock.now() - request.created_at
        if waited > timedelta(seconds=self._parts.limits.received_seconds):
            self._refuse(
                request,
                refuse(
                    Code.GITHUB_UNAVAILABLE,
                    f"the call of {request.tool}: GitHub could not be read",
                    rule="Nothing is asked of people before the source and its owners were read whole.",
                    remedy="Ask again when GitHub can be reached.",
                ),
            )
            return
        with step(self._parts) as unit:
            request_store.note(unit.connection, request.id, cause=wording.GITHUB_SILENT)
