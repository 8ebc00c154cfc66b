"""The receipt that comes with a result: signed by a runner, and about exactly this job."""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from bot.jobs import QueuedJob
from bot.request_store import Request
from policy import canonical, receipt
from policy.receipt import Outcome, Receipt
from policy.refusal import Code, Refused, refuse
from policy.runner_protocol import JobKind, JobOutcome, JobResult

_RECEIPT_OUTCOMES = {
    JobOutcome.SUCCEEDED: Outcome.SUCCEEDED,
    JobOutcome.FAILED: Outcome.FAILED,
    JobOutcome.UNKNOWN: Outcome.UNKNOWN,
}


def check(
    job: QueuedJob, request: Request, result: JobResult, keys: Mapping[str, Ed25519PublicKey]
) -> Receipt | None:
    """The verified receipt of a result; None for one that needs none.

    Raises:
        Refused: `result_invalid` for a success without a receipt; `receipt_signature`;
            `receipt_invalid` for a receipt about anything else.
    """
    if result.receipt is None:
        ran = result.outcome is JobOutcome.SUCCEEDED and job.kind is not JobKind.PLAN
        if ran:
            raise result_invalid("it succeeded and has no receipt")
        return None
    signed = receipt.verify(result.receipt, keys)
    output_sha256 = canonical.sha256_bytes(result.output.encode())
    fields: dict[str, tuple[object, object]] = {
        "request": (signed.request_id, request.id),
        "runner": (signed.runner, result.runner),
        "target": (signed.target, request.target),
        "output": (signed.output_sha256, output_sha256),
        "cut": (signed.output_cut_bytes, result.output_cut_bytes),
    }
    if job.kind is JobKind.EXECUTE:
        fields["digest"] = (signed.digest, request.digest)
    if job.kind is not JobKind.PLAN:
        fields["tool"] = (signed.tool, request.tool)
        fields["outcome"] = (signed.outcome, _RECEIPT_OUTCOMES.get(result.outcome, Outcome.REFUSED))
    for name, (said, known) in fields.items():
        if said != known:
            raise refuse(
                Code.RECEIPT_INVALID,
                f"the receipt: its {name} is not this job's",
                rule="A receipt is about exactly the job that it comes with.",
                remedy="Send the receipt of this job.",
            )
    return signed


def result_invalid(why: str) -> Refused:
    """The refusal of a result."""
    return refuse(
        Code.RESULT_INVALID,
        f"the result: {why}",
        rule="A result is taken once, from the runner that took the job, in a state that has place for it.",
        remedy="Ask for work; this job is over.",
    )
