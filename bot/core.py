"""The life cycle of requests as one object: what the routes, the inbox and the rounds call.

It holds no rules of its own. Each method is one door of the bot; the modules behind it say what
happens there.
"""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from bot import cancelling, jobs, pools, request_store, stale, views
from bot.admission import Admission
from bot.approvals import Approvals
from bot.audit_log import AuditLog
from bot.base_tips import BaseTips
from bot.claims import Claims
from bot.clock import Clock
from bot.database import Database
from bot.delivery import Delivery
from bot.github_app import AppIdentity, GitHubApp
from bot.github_writer import GitHubWriter
from bot.handing_out import HandingOut
from bot.hints import Hints
from bot.intake import Intake
from bot.job_events import JobEvents
from bot.notifier import Notifier
from bot.outbox import Effect, Finish, OutboxWorker
from bot.parts import Limits, Parts
from bot.pause import Pause
from bot.planning import Planning
from bot.pull_request_channel import PullRequestChannel
from bot.readers import Readers
from bot.reconciler import Reconciler
from bot.results import Results
from bot.settings import BotSettings
from bot.tokens import Principal
from bot.unit_of_work import UnitOfWork, step
from evidence import GitHubReader
from policy.agent_protocol import CallRequest, RequestList, RequestView, SandboxStatus, ToolList, ToolView
from policy.receipt import AuditTip
from policy.runner_protocol import Claim, ClaimRequest, Job, JobEvent, JobResult, Poll
from policy.tools import Policy

MOST_LISTED = 50
"""Requests in one list."""


class Core:
    """One bot's requests. Safe for threads."""

    def __init__(
        self,
        *,
        database: Database,
        audit: AuditLog,
        policy: Policy,
        github_app: GitHubApp,
        identity: AppIdentity,
        clock: Clock,
        notifier: Notifier,
        settings: BotSettings,
        grant_key: Ed25519PrivateKey,
        receipt_keys: Mapping[str, Ed25519PublicKey],
        limits: Limits | None = None,
    ) -> None:
        """Puts the parts together; nothing is read or written yet.

        Args:
            identity: the App as GitHub tells it (`GitHubApp.identify`).
            limits: for tests; otherwise the settings' and the defaults.
        """
        self.parts = Parts(
            database=database,
            audit=audit,
            policy=policy,
            clock=clock,
            notifier=notifier,
            identity=identity,
            pause=Pause(database, audit, clock),
            reader=lambda: GitHubReader(
                github_app.client(),
                repository=identity.repository_name,
                app_id=identity.app_id,
                app_user_id=identity.app_user_id,
            ),
            writer=lambda: GitHubWriter(github_app.client(), repository=identity.repository_name),
            grant_key=grant_key,
            receipt_keys=receipt_keys,
            limits=limits or Limits(open_requests_per_agent=settings.limits.open_requests_per_agent),
        )
        tips = BaseTips(clock)
        readers = Readers(self.parts.reader)
        self._intake = Intake(self.parts, tips)
        self._admission = Admission(self.parts, readers, tips)
        self._approvals = Approvals(self.parts, readers)
        self._claims = Claims(self.parts, self._approvals)
        self._events = JobEvents(self.parts)
        self._results = Results(self.parts, Planning(self.parts))
        self._handing_out = HandingOut(self.parts)
        self._hints = Hints(self.parts, self._approvals, tips)
        self._reconciler = Reconciler(self.parts, self._admission, self._approvals, self._hints, tips)
        channel = PullRequestChannel(self.parts)
        self._outbox = OutboxWorker(
            self.parts, {**channel.carriers(), Effect.ADMIT: self._admit}, channel.given_up
        )

    # --- Agents -----------------------------------------------------------------------------------

    def tools(self) -> ToolList:
        """What the policy declares."""
        policy = self.parts.policy
        return ToolList(
            policy_sha256=policy.sha256,
            tools=tuple(
                ToolView(
                    name=tool.name,
                    title=tool.title,
                    description=tool.description,
                    tier=tool.tier,
                    arguments=tool.arguments,
                    source=tool.source is not None,
                )
                for tool in policy.tools.values()
            ),
        )

    def submit(self, principal: Principal, call: CallRequest) -> RequestView:
        """Takes a call: the new request, or the one that it belongs to.

        Raises:
            Refused: when the call itself is refused.
        """
        request = self._intake.take(principal, call)
        self._admission.admit(request.id)
        return self.view(principal, request.id)

    def view(self, principal: Principal, request_id: str) -> RequestView:
        """One of the caller's own requests.

        Raises:
            Refused: `not_found`, for anybody else's request too.
        """
        with self.parts.database.reading() as connection:
            request = cancelling.own_request(connection, principal, request_id)
            return views.view(self.parts, connection, request)

    def list(self, principal: Principal) -> RequestList:
        """The caller's own requests, newest first."""
        with self.parts.database.reading() as connection:
            found = request_store.of_principal(connection, principal.id, limit=MOST_LISTED)
            return RequestList(
                requests=tuple(views.view(self.parts, connection, request) for request in found)
            )

    def cancel(self, principal: Principal, request_id: str) -> RequestView:
        """Takes one of the caller's own requests back.

        Raises:
            Refused: `not_found` or `request_over`.
        """
        with step(self.parts) as unit:
            cancelling.cancel(unit, principal, request_id)
        return self.view(principal, request_id)

    def sandbox_status(self) -> SandboxStatus:
        """The runners, and whether claims are paused."""
        with self.parts.database.reading() as connection:
            return SandboxStatus(
                runners=pools.all_runners(self.parts, connection),
                paused=self.parts.pause.reason(connection) is not None,
            )

    # --- Runners ----------------------------------------------------------------------------------

    def poll(self, principal: Principal, poll: Poll) -> Job | None:
        """The next job for a runner, if there is one now; it does not wait."""
        return self._handing_out.next_job(principal, poll)

    def claim(self, principal: Principal, job_id: str, wanted: ClaimRequest) -> Claim:
        """Claims a job's grant; see `bot.claims`."""
        return self._claims.claim(principal, job_id, wanted)

    def event(self, principal: Principal, job_id: str, event: JobEvent) -> AuditTip:
        """Appends one step of a job to the audit trail."""
        return self._events.event(principal, job_id, event)

    def heartbeat(self, principal: Principal, job_id: str) -> bool:
        """Records that a job is still worked on; true when it should be given up.

        Raises:
            Refused: `not_found` or `job_not_yours`.
        """
        with step(self.parts) as unit:
            job = jobs.of_runner(unit.connection, principal, job_id)
            jobs.seen(unit, principal.id, [job_id])
        return job.cancelled or job.state != "taken"

    def result(self, principal: Principal, job_id: str, result: JobResult) -> AuditTip:
        """Takes a job's result."""
        return self._results.take(principal, job_id, result)

    def audit_at(self, sequence: int) -> AuditTip | None:
        """The audit chain's event at a sequence number."""
        with self.parts.database.reading() as connection:
            return self.parts.audit.at(connection, sequence)

    # --- Operators --------------------------------------------------------------------------------

    def replan(self, request_id: str) -> str:
        """Plans a request anew; returns the successor's id.

        Raises:
            Refused: `not_found` or `request_over`.
        """
        with step(self.parts) as unit:
            cancelling.known(unit.connection, request_id)
            return stale.replan(unit, request_id)

    def unlock(self, request_id: str) -> bool:
        """Frees the lock that an ended request still holds; false when it holds none.

        Raises:
            Refused: `not_found`, or `request_over` while the request is being carried out.
        """
        with step(self.parts) as unit:
            return cancelling.unlock(unit, request_id)

    # --- Rounds -----------------------------------------------------------------------------------

    def handle_delivery(self, delivery: Delivery) -> None:
        """Acts on one webhook from the inbox."""
        self._hints.handle(delivery)

    def reconcile_once(self) -> None:
        """One round of the reconciler."""
        self._reconciler.round()

    def run_outbox_once(self) -> int:
        """Carries out every effect at GitHub that is due; returns how many were done."""
        return self._outbox.run_once()

    def _admit(self, request_id: str, _again: bool) -> Finish:
        self._admission.admit(request_id)
        return _nothing


def _nothing(_unit: UnitOfWork) -> None:
    return
