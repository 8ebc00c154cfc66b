"""New ids, all from the operating system's randomness."""

from __future__ import annotations

import secrets

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: no i, l, o, u, so that an id can be read out loud."""


def new_request_id() -> str:
    """`og-` and 26 characters, 130 random bits (`policy.manifest.RequestId`)."""
    return "og-" + _characters(26)


def new_job_id() -> str:
    """`job-` and 26 characters."""
    return "job-" + _characters(26)


def new_digest() -> str:
    """256 random bits in the form of a digest: a grant's id, a manifest's nonce."""
    return secrets.token_hex(32)


def _characters(count: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(count))
