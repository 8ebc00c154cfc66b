"""A runner that does what a test tells it: it speaks the protocol, signs receipts, and runs nothing.

Its steps and digests are those that an honest runner would send, computed from the same policy. A test
changes what it wants to be wrong.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

from bot.tokens import Role
from policy import argv, canonical, manifest, receipt, record, terraform_plan
from policy.audit import Kind
from policy.receipt import AuditTip, LeaseRecord, Outcome, Receipt, Residue
from policy.refusal import Code
from policy.runner_protocol import (
    Claim,
    ClaimRequest,
    Heartbeat,
    Job,
    JobEvent,
    JobKind,
    JobOutcome,
    JobResult,
    PlanResult,
    Poll,
)
from policy.source import SourceArchive
from policy.tools import Tool
from tests.living_bot import LivingBot

PLANS = Path(__file__).parent / "unit" / "policy" / "fixtures" / "plans"
IMAGE = "e" * 64
KERNEL = "Linux version 4.4.0 (gVisor)"
SEALED = base64.b64encode(b"a sealed plan").decode()


@dataclass(slots=True)
class ScriptedRunner:
    """One runner with one token."""

    bot: LivingBot
    name: str = "runner-1"
    pool: str = "demo"
    client: httpx2.Client = field(init=False)
    remembered: AuditTip | None = None

    def __post_init__(self) -> None:
        self.client = self.bot.client(self.bot.token(self.name, Role.RUNNER))

    # --- The protocol, call by call ---------------------------------------------------------------

    def post(self, path: str, body: object) -> httpx2.Response:
        """One call."""
        return self.client.post(
            f"/api/v1/runner/{path}",
            content=record.encode(body),
            headers={"Content-Type": "application/json"},
        )

    def poll(self, *, running: tuple[str, ...] = (), wait_seconds: int = 0, **changes: Any) -> Job | None:
        """Asks for work."""
        poll = Poll(
            runner=self.name,
            pool=self.pool,
            policy_sha256=self.bot.base.policy.sha256,
            sandbox="runsc",
            kernel=KERNEL,
            proved_at=datetime.now(UTC),
            running=running,
            remembered=self.remembered,
            wait_seconds=wait_seconds,
        )
        answer = self.post("poll", replace(poll, **changes))
        if answer.status_code == 204:
            return None
        assert answer.status_code == 200, answer.text
        job = record.read(Job, answer.content, what="the job", code=Code.RESULT_INVALID)
        self.remembered = job.audit_tip
        return job

    def need_job(self, kind: JobKind) -> Job:
        """The next job, which must be of that kind."""
        job = self.poll()
        assert job is not None, "there is no job"
        assert job.kind is kind
        return job

    def event(self, job: Job, kind: Kind, **data: Any) -> httpx2.Response:
        """Reports one step."""
        return self.post(f"jobs/{job.id}/events", JobEvent(runner=self.name, kind=kind, data=data))

    def tell(self, job: Job, *kinds: Kind) -> None:
        """Reports steps that the bot must take."""
        for number, kind in enumerate(kinds):
            answer = self.event(job, kind, step=number, lease_id="pki/issue/x/1")
            assert answer.status_code == 200, answer.text

    def claim(self, job: Job, **changes: Any) -> httpx2.Response:
        """Claims the job's grant."""
        wanted = ClaimRequest(
            runner=self.name,
            digest=manifest.digest(manifest.parse(job.manifest or "")),
            policy_sha256=self.bot.base.policy.sha256,
        )
        return self.post(f"jobs/{job.id}/claim", replace(wanted, **changes))

    def heartbeat(self, job: Job) -> httpx2.Response:
        """Says that it is alive."""
        return self.post(f"jobs/{job.id}/heartbeat", Heartbeat(runner=self.name))

    def result(self, job: Job, result: JobResult) -> httpx2.Response:
        """Sends a job's end."""
        return self.post(f"jobs/{job.id}/result", result)

    # --- What an honest runner would send ---------------------------------------------------------

    def planned(self, job: Job, case: str = "create", **changes: Any) -> JobResult:
        """The result of a planning job, with a plan from the fixtures."""
        tool = self.tool(job)
        source = self.source(job)
        plan, masked = None, None
        if tool.preview is not None:
            masked = terraform_plan.mask((PLANS / case / "plan.json").read_bytes())
            plan = _bound(masked, case)
        result = PlanResult(
            source=source.described() if source else None,
            plan=plan,
            masked_plan=masked.decode() if masked else None,
            sealed_plan=SEALED if plan else None,
            execution=execution(tool, job.arguments, source),
        )
        return self.ended(JobOutcome.PLANNED, "Planned.", plan=replace(result, **changes))

    def ended(self, outcome: JobOutcome, reason: str = "It ended.", **changes: Any) -> JobResult:
        """The plainest result."""
        plain = JobResult(
            runner=self.name,
            outcome=outcome,
            reason=reason,
            refusal=None,
            output="",
            output_cut_bytes=0,
            structure=None,
            plan=None,
            receipt=None,
        )
        return replace(plain, **changes)

    def ran(
        self, job: Job, outcome: Outcome = Outcome.SUCCEEDED, output: str = "done\n", **changes: Any
    ) -> JobResult:
        """The result of something that ran, with its signed receipt."""
        signed = receipt.sign(self.receipt(job, outcome, output, **changes), self.bot.receipt_key)
        return self.ended(JobOutcome(outcome.value), output=output, receipt=signed)

    def receipt(self, job: Job, outcome: Outcome, output: str, **changes: Any) -> Receipt:
        """What an honest runner states."""
        now = datetime.now(UTC).replace(microsecond=0)
        document = manifest.parse(job.manifest) if job.manifest else None
        plain = Receipt(
            request_id=job.request_id,
            digest=manifest.digest(document) if document else None,
            grant_id=None,
            tool=job.tool,
            target="demo",
            runner=self.name,
            outcome=outcome,
            exit_code=0 if outcome is Outcome.SUCCEEDED else 1,
            reason="every step ended with exit code 0",
            kernel=KERNEL,
            image_sha256=IMAGE,
            started_at=now,
            ended_at=now,
            leases=(
                LeaseRecord(
                    lease_id="pki/issue/terraform-apply/abc",
                    role="terraform-apply",
                    scope="terraform_apply on demo",
                    issued_at=now,
                    expires_at=now,
                    revoked_at=now,
                    powerless_after_ms=12,
                ),
            ),
            output_sha256=canonical.sha256_bytes(output.encode()),
            output_cut_bytes=0,
            residue=Residue.NONE,
            state_rescued=False,
            audit_tip=job.audit_tip,
        )
        return replace(plain, **changes)

    def tool(self, job: Job) -> Tool:
        """The job's tool by the policy."""
        return self.bot.base.policy.tool(job.tool)

    def source(self, job: Job) -> SourceArchive | None:
        """The job's source, as the runner's own reading would find it."""
        from bot.source_reading import read
        from policy import source as sources

        tool = self.tool(job)
        if tool.source is None:
            return None
        arguments = dict(job.arguments)
        asked = sources.parse_source_request(
            dict(job.source) if job.source is not None else None,
            tool,
            arguments,  # type: ignore[arg-type]
        )
        branch = dict(job.source or {}).get("branch")
        reader = self.bot.core.parts.reader()
        found = read(
            reader,
            asked,
            path=argv.fill(tool.source, arguments),  # type: ignore[arg-type]
            base_sha=job.base.sha,
            branch_sha=reader.branch_tip(str(branch)) if branch else None,
        )
        return found.archive

    # --- Whole jobs -------------------------------------------------------------------------------

    def plan(self, case: str = "create", **changes: Any) -> Job:
        """Takes a planning job and plans."""
        job = self.need_job(JobKind.PLAN)
        self.tell(job, Kind.PLAN_STARTED)
        answer = self.result(job, self.planned(job, case, **changes))
        assert answer.status_code == 200, answer.text
        return job

    def start(self) -> tuple[Job, Claim]:
        """Takes an execution, claims its grant and starts."""
        job = self.need_job(JobKind.EXECUTE)
        answer = self.claim(job)
        assert answer.status_code == 200, answer.text
        claim = record.read(Claim, answer.content, what="the claim", code=Code.RESULT_INVALID)
        self.tell(
            job,
            Kind.GRANT_SPENT,
            Kind.CREDENTIAL_REQUESTED,
            Kind.CREDENTIAL_ISSUED,
            Kind.SANDBOX_STARTED,
        )
        return job, claim

    def execute(self, outcome: Outcome = Outcome.SUCCEEDED, **changes: Any) -> Job:
        """Takes an execution and carries it out."""
        job, _ = self.start()
        self.tell(job, Kind.SANDBOX_COMPLETED, Kind.CREDENTIAL_REVOKED)
        answer = self.result(job, self.ran(job, outcome, **changes))
        assert answer.status_code == 200, answer.text
        return job

    def read(self, output: str = "Linux\n") -> Job:
        """Takes a read and answers it."""
        job = self.need_job(JobKind.READ)
        self.tell(
            job,
            Kind.CREDENTIAL_REQUESTED,
            Kind.CREDENTIAL_ISSUED,
            Kind.SANDBOX_STARTED,
            Kind.SANDBOX_COMPLETED,
            Kind.CREDENTIAL_REVOKED,
        )
        answer = self.result(job, self.ran(job, output=output))
        assert answer.status_code == 200, answer.text
        return job


def execution(tool: Tool, arguments: Mapping[str, Any], source: SourceArchive | None) -> manifest.Execution:
    """What a call runs, as every runner computes it."""
    return manifest.Execution(
        image=tool.image,
        image_sha256=IMAGE,
        steps=tuple(
            manifest.Step(
                argv=step.argv,
                cwd=f"/work/src/{source.path}" if source else "/work",
                environment={**tool.environment, "TF_IN_AUTOMATION": "1"},
                network=step.network.value,
                lease=step.credential,
            )
            for step in argv.render(tool, arguments)
        ),
        timeout_seconds=tool.limits.timeout_seconds,
        grace_seconds=tool.limits.grace_seconds,
        providers_lock=None,
    )


def _bound(masked: bytes, case: str) -> manifest.Plan:
    plan = terraform_plan.read(masked)
    return manifest.Plan(
        kind=plan.kind,
        sha256=canonical.sha256_bytes(case.encode()),
        masked_json_sha256=canonical.sha256_bytes(masked),
        summary={name: int(str(count)) for name, count in plan.summary.as_json().items()},
        state=manifest.TerraformState(lineage="a-lineage", serial=3),
        objects=None,
    )
