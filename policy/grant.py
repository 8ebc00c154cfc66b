"""The grant: the bot's signed statement that one digest is approved, once, for a while.

A grant alone does nothing: the runner recomputes the digest from what it will really run and reads
the approval at GitHub itself, and OpenBao gives the destructive credential only to a grant for that
tool and target. Claims are named as RFC 7519 names them where it has a name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from policy import record, signing
from policy.canonical import Json
from policy.manifest import RequestId
from policy.record import CommitId, Digest
from policy.refusal import Code, Refused, refuse

TYPE = "ownergate-grant+jwt"
AUDIENCE = "openbao"
"""Who may accept a grant at a login: OpenBao's and Vault's `bound_audiences`."""

CLOCK_TOLERANCE_SECONDS = 30
"""How far the runner's clock may be behind the bot's. An expiry is never stretched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One owner's approval: the review, the person by number, the commit, CODEOWNERS lines that matched."""

    __pydantic_config__ = record.STRICT

    review_id: int
    person_id: int
    login: str
    commit: CommitId
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Where at GitHub the approval stands, so that the runner and an auditor can read it again."""

    __pydantic_config__ = record.STRICT

    channel: Literal["pull_request", "issue"]
    number: int
    head_sha: CommitId
    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One grant. `sub` is the request's id, `jti` the grant's; times are seconds since the epoch."""

    __pydantic_config__ = record.STRICT

    iss: str
    aud: str
    sub: RequestId
    jti: Digest
    iat: int
    nbf: int
    exp: int
    digest: Digest
    tool: str
    target: str
    policy_sha256: Digest
    evidence: Evidence


def issuer(repository_id: int) -> str:
    """The issuer of a bot's grants: one for each repository, by its numeric id."""
    return f"ownergate:repository:{repository_id}"


def sign(grant: Grant, key: Ed25519PrivateKey) -> str:
    """Signs a grant.

    Raises:
        Refused: `grant_invalid` for a grant without approvals or that ends before it starts.
    """
    if not grant.evidence.approvals:
        raise _no("it names no approval")
    if not grant.nbf < grant.exp:
        raise _no("it ends before it starts")
    return signing.sign(cast("dict[str, Json]", record.to_json(grant)), key, typ=TYPE)


def verify(
    token: str,
    keys: Mapping[str, Ed25519PublicKey],
    *,
    now: datetime,
    repository_id: int,
    request_id: str,
    digest: str,
    tool: str,
    target: str,
    revoked: Collection[str] = (),
) -> Grant:
    """Checks a grant against what is really to be run.

    Args:
        token: the signed grant.
        keys: the bot's public keys by `signing.key_id`.
        now: the present, aware.
        repository_id: the repository whose bot may grant here.
        request_id: the request at hand.
        digest: the digest recomputed by the caller, never one it was told.
        tool, target: what the caller is about to run, and where.
        revoked: ids of grants that were taken back.

    Raises:
        Refused: `grant_signature`, `grant_invalid`, `grant_expired`, `grant_revoked` or
            `grant_other_request`.
    """
    claims = signing.verify(token, keys, typ=TYPE, what="the grant", code=Code.GRANT_SIGNATURE)
    grant = record.from_json(Grant, claims, what="the grant", code=Code.GRANT_INVALID)
    if not grant.evidence.approvals:
        raise _no("it names no approval")
    expected = {
        "iss": (grant.iss, issuer(repository_id)),
        "aud": (grant.aud, AUDIENCE),
        "request": (grant.sub, request_id),
        "digest": (grant.digest, digest),
        "tool": (grant.tool, tool),
        "target": (grant.target, target),
    }
    for name, (granted, real) in expected.items():
        if granted != real:
            raise refuse(
                Code.GRANT_OTHER_REQUEST,
                f"the grant is for {name} {granted!r}, and this is {real!r}",
                rule="A grant permits exactly the request that was approved.",
                remedy="Ask for this change anew, and have it approved.",
            )
    seconds = int(now.timestamp())
    if seconds < grant.nbf - CLOCK_TOLERANCE_SECONDS:
        raise _time(f"it starts {grant.nbf - seconds} seconds from now")
    if seconds >= grant.exp:
        raise _time(f"it ended {seconds - grant.exp} seconds ago")
    if grant.jti in revoked:
        raise refuse(
            Code.GRANT_REVOKED,
            "the grant was revoked",
            rule="A revoked grant permits nothing.",
            remedy="Ask for this change anew.",
        )
    return grant


def _no(why: str) -> Refused:
    return refuse(
        Code.GRANT_INVALID,
        f"the grant: {why}",
        rule="A grant names its approvals and its time.",
        remedy="Have it issued anew.",
    )


def _time(why: str) -> Refused:
    return refuse(
        Code.GRANT_EXPIRED,
        f"the grant: {why}",
        rule="A grant permits nothing before its start and from its end on.",
        remedy="Ask for a replan; check the clocks of bot and runner.",
    )
