"""Grants: for one digest, by a known key, for a while."""

from __future__ import annotations

import base64
import json
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from policy import grant, manifest, receipt, signing
from policy.refusal import Code, Refused
from tests.unit.policy.examples import NOW, REQUEST_ID, a_grant, a_manifest, a_receipt

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))


def keys(*private: Ed25519PrivateKey) -> dict[str, Ed25519PublicKey]:
    return {signing.key_id(key.public_key()): key.public_key() for key in private}


def verify(token: str, **changes: object) -> grant.Grant:
    arguments: dict[str, object] = {
        "now": NOW,
        "repository_id": 7,
        "request_id": REQUEST_ID,
        "digest": manifest.digest(a_manifest()),
        "tool": "terraform_apply",
        "target": "demo",
        "revoked": (),
    }
    trusted = changes.pop("keys", keys(KEY))
    return grant.verify(token, trusted, **{**arguments, **changes})  # type: ignore[arg-type]


def code_of(token: str, **changes: object) -> Code:
    with pytest.raises(Refused) as caught:
        verify(token, **changes)
    return caught.value.refusal.code


def test_a_right_grant_is_accepted_by_either_key_during_a_rotation() -> None:
    for key in (KEY, OTHER_KEY):
        assert verify(grant.sign(a_grant(), key), keys=keys(KEY, OTHER_KEY)) == a_grant()


def test_signing_twice_gives_the_same_token() -> None:
    assert grant.sign(a_grant(), KEY) == grant.sign(a_grant(), KEY)


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "e" * 64},
        {"tool": "terraform_destroy"},
        {"target": "production"},
        {"request_id": "og-" + "z" * 26},
        {"repository_id": 8},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_grant_for_something_else_is_refused(change: dict[str, object]) -> None:
    assert code_of(grant.sign(a_grant(), KEY), **change) is Code.GRANT_OTHER_REQUEST


def test_a_grant_for_another_audience_is_refused() -> None:
    assert code_of(grant.sign(a_grant(aud="elsewhere"), KEY)) is Code.GRANT_OTHER_REQUEST


@pytest.mark.parametrize(
    ("seconds", "accepted"),
    [(-31, False), (-30, True), (0, True), (1799, True), (1800, False), (99999, False)],
)
def test_it_counts_only_in_its_time(seconds: int, *, accepted: bool) -> None:
    token = grant.sign(a_grant(), KEY)
    now = NOW + timedelta(seconds=seconds)
    if accepted:
        assert verify(token, now=now).jti == "a" * 64
    else:
        assert code_of(token, now=now) is Code.GRANT_EXPIRED


def test_a_revoked_grant_is_refused() -> None:
    assert code_of(grant.sign(a_grant(), KEY), revoked={"a" * 64}) is Code.GRANT_REVOKED


def test_a_key_that_is_not_trusted_signs_nothing() -> None:
    assert code_of(grant.sign(a_grant(), OTHER_KEY)) is Code.GRANT_SIGNATURE
    assert code_of(grant.sign(a_grant(), KEY), keys={}) is Code.GRANT_SIGNATURE


def test_a_stolen_key_id_does_not_help() -> None:
    forged = jwt.encode(
        jwt.decode(grant.sign(a_grant(), KEY), options={"verify_signature": False}),
        OTHER_KEY,
        algorithm="EdDSA",
        headers={"kid": signing.key_id(KEY.public_key()), "typ": grant.TYPE},
    )
    assert code_of(forged) is Code.GRANT_SIGNATURE


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_no_other_algorithm_is_accepted(algorithm: str) -> None:
    header = {"alg": algorithm, "typ": grant.TYPE, "kid": signing.key_id(KEY.public_key())}
    body = grant.sign(a_grant(), KEY).split(".")[1]
    forged = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode() + f".{body}."
    assert code_of(forged) is Code.GRANT_SIGNATURE


def test_every_altered_character_is_noticed() -> None:
    token = grant.sign(a_grant(), KEY)
    for index in range(0, len(token), 7):
        if token[index] != ".":
            altered = token[:index] + ("A" if token[index] != "A" else "B") + token[index + 1 :]
            # The last character of a part carries unused bits, so another one may decode alike.
            if index + 1 < len(token) and token[index + 1] != ".":
                assert code_of(altered) in {Code.GRANT_SIGNATURE, Code.GRANT_INVALID}


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "é.é.é", "." * 99, "A" * 100_000])
def test_what_is_no_token_is_refused(token: str) -> None:
    assert code_of(token) is Code.GRANT_SIGNATURE


def test_a_receipt_is_not_a_grant_even_by_the_same_key() -> None:
    assert code_of(receipt.sign(a_receipt(), KEY)) is Code.GRANT_SIGNATURE


def test_a_grant_without_approvals_is_neither_signed_nor_accepted() -> None:
    empty = a_grant(
        evidence=grant.Evidence(channel="pull_request", number=1, head_sha="c" * 40, approvals=())
    )
    with pytest.raises(Refused, match="names no approval"):
        grant.sign(empty, KEY)
    claims = jwt.decode(grant.sign(a_grant(), KEY), options={"verify_signature": False})
    claims["evidence"]["approvals"] = []
    assert code_of(signing.sign(claims, KEY, typ=grant.TYPE)) is Code.GRANT_INVALID


def test_an_unknown_claim_is_refused() -> None:
    claims = jwt.decode(grant.sign(a_grant(), KEY), options={"verify_signature": False}) | {"admin": True}
    assert code_of(signing.sign(claims, KEY, typ=grant.TYPE)) is Code.GRANT_INVALID


def test_a_grant_that_ends_before_it_starts_is_not_signed() -> None:
    with pytest.raises(Refused, match="ends before"):
        grant.sign(a_grant(exp=int(NOW.timestamp())), KEY)


def test_a_receipt_is_read_back_and_only_by_its_key() -> None:
    token = receipt.sign(a_receipt(), KEY)
    assert receipt.verify(token, keys(KEY)) == a_receipt()
    for trusted in (keys(OTHER_KEY), {}):
        with pytest.raises(Refused) as caught:
            receipt.verify(token, trusted)
        assert caught.value.refusal.code is Code.RECEIPT_SIGNATURE
    with pytest.raises(Refused):
        receipt.verify(grant.sign(a_grant(), KEY), keys(KEY))
