"""Carries out one approved request, once. The order of these steps is the law of this package.

 1. the job belongs to this runner: clock, policy, tool, pool (`preflight`);
 2. the manifest is parsed strictly and its digest recomputed;
 3. request, repository, base, arguments, tool, target and owned path are its; it has not expired;
 4. the state is the one that the plan was made on, and OpenBao can be reached and is not sealed;
 5. the source is read at the pull request's head, and is the approved one, file by file;
 6. argv, environment, folder, image and limits are computed anew, and are the approved ones;
 7. the approval is read at GitHub with the runner's own App, and decided;
 8. the grant is claimed: from here on no other runner has it;
 9. the grant is verified against what was computed in 2 to 6, and against the approval read in 7;
10. the saved plan is unsealed; its bytes have the approved digest, a fresh sandbox reads from them the
    JSON with the approved digest, and nothing in it would run unseen;
11. the rendering is made anew, and is what the owners approved; the approval is decided on again;
12. the state has still not changed, the request and the grant have still not expired;
13. the bot's audit trail holds the intent, and then the grant's id is spent on this machine's disk;
14. the lease is got with the grant itself, the steps run, the lease is revoked and seen powerless;
15. a state that Terraform could not store is sealed and kept;
16. a second plan, with the plan's own lease, says what still differs;
17. the output is redacted, the receipt signed, the result kept on the disk and then sent.

Steps 1 to 7 need nothing that only the claim gives, so a refusal there leaves the grant unclaimed and
the request can still be carried out when the cause is gone. A refusal in 8 to 12 leaves it unspent.
After 13 the grant is gone whatever happens: an execution that ended without a known outcome is
`unknown`, and nobody tries it again.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import JsonValue

from policy.audit import Kind
from policy.refusal import Code, refuse
from policy.runner_protocol import ClaimRequest, Job, JobOutcome, JobResult
from policy.tools import Tool
from runner import execution_checks, permitted_run, reports, spent_grants
from runner.equipment import Equipment
from runner.execution_checks import Permitted
from runner.job_journal import JobInWork
from runner.permitted_run import Finished
from runner.secret_bytes import SecretBytes
from runner.trail import Trail

INTENT_SECONDS = 15.0
"""How long the intent may take to stand in the bot's audit trail; after that nothing is spent."""


def execute(
    equipment: Equipment,
    job: Job,
    tool: Tool,
    work: JobInWork,
    *,
    trail: Trail,
    cancelled: threading.Event,
) -> JobResult:
    """Carries out an execution job whose preflight passed.

    Args:
        equipment: the runner's own.
        job: the job.
        tool: the tool, from the runner's own policy.
        work: the job's record in the journal, rewritten with the grant before that is spent.
        trail: the job's events.
        cancelled: ends what happens before the grant is spent; later nothing is broken off halfway.

    Raises:
        Refused: nothing was spent.
        BotUnavailable, BotRefused: the grant could not be claimed, or the intent is not in the trail;
            nothing was spent.
        WentBack: the bot contradicts the audit chain; nothing was spent.
    """
    checked = execution_checks.before_claim(equipment, job, tool)
    claim = equipment.bot.claim(
        job.id,
        ClaimRequest(
            runner=equipment.settings.name,
            digest=checked.digest,
            policy_sha256=equipment.policy.sha256,
        ),
    )
    equipment.chain.see(claim.audit_tip)
    permitted = execution_checks.with_claim(equipment, checked, claim, cancelled)
    path = None if checked.source is None else checked.source.path
    with equipment.states.writing(equipment.states.folder(tool.target.name, path)):
        # Once more under the lock: until here, another execution may have changed the state.
        execution_checks.check_state(equipment, checked.approved, tool)
        _spend(equipment, permitted, work, fence=claim.fence, trail=trail, cancelled=cancelled)
        grant_jwt = SecretBytes(claim.grant.encode())
        finished = permitted_run.run(equipment, permitted, grant_jwt, trail=trail)
    trail.give_time()
    return _report(equipment, job, permitted, finished)


def _spend(
    equipment: Equipment,
    permitted: Permitted,
    work: JobInWork,
    *,
    fence: int,
    trail: Trail,
    cancelled: threading.Event,
) -> None:
    granted = permitted.grant
    equipment.journal.write(replace(work, grant_id=granted.jti, digest=granted.digest))
    if cancelled.is_set():
        raise refuse(
            Code.REQUEST_CANCELLED,
            "the request was cancelled",
            rule="A cancelled request is not carried out.",
            remedy="Ask for this change anew.",
        )
    if equipment.spent.is_spent(granted.jti):
        raise spent_grants.spent_before(granted.jti)
    trail.note(Kind.GRANT_SPENT, {"grant_id": granted.jti, "fence": fence})
    trail.settle(timeout_seconds=INTENT_SECONDS)
    equipment.spent.spend(
        granted.jti,
        digest=granted.digest,
        expires_at=datetime.fromtimestamp(granted.exp, UTC),
        now=equipment.now(),
    )


def _report(equipment: Equipment, job: Job, permitted: Permitted, finished: Finished) -> JobResult:
    checked = permitted.checked
    structure: JsonValue = None
    if finished.second_plan is not None:
        structure = {"second_plan": finished.second_plan}
    signed, reason = None, finished.reason
    try:
        signed = reports.sign(
            equipment,
            job,
            checked.tool,
            finished.outcome,
            finished.reason,
            ran=finished.ran,
            leases=finished.leases,
            output=finished.output,
            began=finished.began,
            image_sha256=checked.execution.image_sha256,
            digest=checked.digest,
            grant_id=permitted.grant.jti,
            residue=finished.residue,
            state_rescued=finished.state_rescued,
        )
    except OSError as error:
        # What was done is known; it must not be lost because the disk refuses the chain's tip.
        reason = f"{reason} There is no receipt: the runner's disk refuses ({error.strerror})."
    return reports.result(
        equipment.settings.name,
        JobOutcome(finished.outcome.value),
        reason,
        output=finished.output,
        structure=structure,
        receipt=signed,
    )
