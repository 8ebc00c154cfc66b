"""Signed statements: EdDSA tokens (RFC 7519, RFC 8037) of one type, by a key that is named.

A grant and a receipt are both signed, by different keys, for different readers. The `typ` header
keeps one from being taken for the other, and the key is looked up by its id among keys that the
verifier was configured with; a token never brings its own key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import cast

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from policy.canonical import Json
from policy.refusal import Code, Refused, refuse

ALGORITHM = "EdDSA"

LONGEST_TOKEN = 64 * 1024
"""Bytes; a longer token is refused before it is parsed."""


def key_id(key: Ed25519PublicKey) -> str:
    """The id of a key: the first 16 hexadecimal digits of the SHA-256 of its raw 32 bytes."""
    return hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]


def sign(claims: Mapping[str, Json], key: Ed25519PrivateKey, *, typ: str) -> str:
    """Signs claims as a compact token of the given type."""
    headers = {"kid": key_id(key.public_key()), "typ": typ}
    return jwt.encode(dict(claims), key, algorithm=ALGORITHM, headers=headers)


def verify(
    token: str, keys: Mapping[str, Ed25519PublicKey], *, typ: str, what: str, code: Code
) -> dict[str, Json]:
    """Checks type, key and signature, and returns the claims. Time and meaning are the caller's.

    Args:
        token: the compact token.
        keys: the keys that count, by `key_id`. Several while keys are rotated; none means no.
        typ: the type that the token must have.
        what: how to name the token in an error.
        code: the code of the refusal.

    Raises:
        Refused: with `code`, for a token that is not exactly such a token by one of the keys.
    """
    if len(token) > LONGEST_TOKEN:
        raise _no(what, code, f"it is longer than {LONGEST_TOKEN} bytes")
    try:
        header = jwt.get_unverified_header(token)
        if header.get("typ") != typ:
            raise _no(what, code, f"it is not of the type {typ}")
        key = keys.get(str(header.get("kid")))
        if key is None:
            raise _no(what, code, "it is signed by a key that is not trusted here")
        claims = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            options={
                "verify_signature": True,
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
                "verify_aud": False,
                "verify_iss": False,
                "verify_sub": False,
                "verify_jti": False,
            },
        )
    except jwt.InvalidTokenError:
        raise _no(what, code, "its signature or form is wrong") from None
    return cast("dict[str, Json]", claims)


def _no(what: str, code: Code, why: str) -> Refused:
    return refuse(
        code,
        f"{what}: {why}",
        rule="Only a statement signed by a configured key counts.",
        remedy="Have it issued anew; check that the signer's public key is configured here.",
    )
