"""The receipt: the runner's signed statement of what ran, with which leases, and how it ended.

It repeats the tip of the bot's audit chain as the runner saw it. So the bot can't rewrite its history
without contradicting a signature that it can't make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from policy import record, signing
from policy.canonical import Json
from policy.manifest import RequestId
from policy.record import Digest, Moment
from policy.refusal import Code

TYPE = "ownergate-receipt+jwt"


class Outcome(StrEnum):
    """How an execution ended. `UNKNOWN` is never retried."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Residue(StrEnum):
    """What a second plan after the execution said."""

    NONE = "none"
    DIFFERS = "differs"
    NOT_PLANNED = "not_planned"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """One lease's life. `powerless_after_ms`: from the start of the revocation until it was refused."""

    __pydantic_config__ = record.STRICT

    lease_id: str
    role: str
    scope: str
    issued_at: Moment
    expires_at: Moment
    revoked_at: Moment
    powerless_after_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTip:
    """The newest event of the audit chain: its sequence number and hash."""

    __pydantic_config__ = record.STRICT

    sequence: int
    hash: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What the runner states. `output_sha256` is over the redacted output that it released."""

    __pydantic_config__ = record.STRICT

    request_id: RequestId
    digest: Digest | None
    grant_id: Digest | None
    tool: str
    target: str
    runner: str
    outcome: Outcome
    exit_code: int | None
    reason: str
    kernel: str
    image_sha256: Digest
    started_at: Moment
    ended_at: Moment
    leases: tuple[LeaseRecord, ...]
    output_sha256: Digest
    output_cut_bytes: int
    residue: Residue
    state_rescued: bool
    audit_tip: AuditTip


def sign(receipt: Receipt, key: Ed25519PrivateKey) -> str:
    """Signs a receipt with the runner's receipt key."""
    return signing.sign(cast("dict[str, Json]", record.to_json(receipt)), key, typ=TYPE)


def verify(token: str, keys: Mapping[str, Ed25519PublicKey]) -> Receipt:
    """Checks a receipt's signature and form.

    Raises:
        Refused: `receipt_signature` or `receipt_invalid`.
    """
    claims = signing.verify(token, keys, typ=TYPE, what="the receipt", code=Code.RECEIPT_SIGNATURE)
    return record.from_json(Receipt, claims, what="the receipt", code=Code.RECEIPT_INVALID)
