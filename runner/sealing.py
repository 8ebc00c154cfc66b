"""Saved plans, sealed: only runners can open them, and only for the request they were made for.

A plan file can hold secrets, and the bot stores it between planning and execution. So the runner seals
it with ChaCha20-Poly1305 (RFC 8439) under a key that only runners hold. Request id, source digest and
plan digest are authenticated with it: the ciphertext of one request opens for no other. The format is
`OGS1`, eight bytes of key id, twelve bytes of nonce, ciphertext with its tag.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from policy import canonical
from policy.refusal import Code, Refused, refuse
from runner import key_files
from runner.secret_bytes import SecretBytes

MAGIC = b"OGS1"
KEY_BYTES = 32
_ID_BYTES = 8
_NONCE_BYTES = 12
_HEADER_BYTES = len(MAGIC) + _ID_BYTES + _NONCE_BYTES


def key_id(key: SecretBytes) -> str:
    """The id of a sealing key: 16 hexadecimal digits of a hash of it under a name of its own."""
    return hashlib.sha256(b"ownergate sealing key id\0" + key.reveal()).hexdigest()[: 2 * _ID_BYTES]


class SealingKeys:
    """The keys of this runner: the first seals, all of them open (rotation needs both for a while)."""

    def __init__(self, keys: Sequence[SecretBytes]) -> None:
        """Takes the keys, newest first.

        Raises:
            Refused: `sealing_key`, without a key or with one that is not 32 bytes.
        """
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise refuse(
                Code.SEALING_KEY,
                "the runner's sealing keys",
                rule=f"There must be at least one, each of exactly {KEY_BYTES} bytes.",
                remedy="Make one with: head -c 32 /dev/urandom > sealing.key && chmod 0600 sealing.key",
            )
        self._current = keys[0]
        self._keys = {key_id(key): key for key in keys}

    @classmethod
    def from_files(cls, paths: Sequence[Path]) -> SealingKeys:
        """Reads the keys from private files of 32 bytes each, newest first.

        Raises:
            Refused: `key_file` or `sealing_key`.
        """
        return cls([key_files.read_secret(path, what="the sealing key") for path in paths])

    def seal(self, plan: bytes, *, request: str, source: str | None, plan_sha256: str) -> bytes:
        """Seals a plan for one request.

        Args:
            plan: the plan file's bytes.
            request: the request's id.
            source: digest of the source that it was made from; None for a tool without source.
            plan_sha256: the plan's digest, which must be the one that people see.

        Raises:
            Refused: `plan_changed`, when the digest is not the plan's.
        """
        _check_digest(plan, plan_sha256)
        nonce = os.urandom(_NONCE_BYTES)
        bound = _bound(request, source, plan_sha256)
        ciphertext = ChaCha20Poly1305(self._current.reveal()).encrypt(nonce, plan, bound)
        return MAGIC + bytes.fromhex(key_id(self._current)) + nonce + ciphertext

    def open(self, sealed: bytes, *, request: str, source: str | None, plan_sha256: str) -> bytes:
        """The plan, if it was sealed by a runner for exactly this request, source and digest.

        Raises:
            Refused: `sealed_plan`, when it is not; `plan_changed`, when the digest is not the plan's.
        """
        if len(sealed) < _HEADER_BYTES or not sealed.startswith(MAGIC):
            raise _not_ours("it is not a sealed plan")
        identifier = sealed[len(MAGIC) : len(MAGIC) + _ID_BYTES].hex()
        key = self._keys.get(identifier)
        if key is None:
            raise _not_ours(f"it was sealed with the key {identifier}, which this runner does not hold")
        nonce = sealed[len(MAGIC) + _ID_BYTES : _HEADER_BYTES]
        try:
            plan = ChaCha20Poly1305(key.reveal()).decrypt(
                nonce, sealed[_HEADER_BYTES:], _bound(request, source, plan_sha256)
            )
        except InvalidTag:
            raise _not_ours("it was altered, or made for another request, source or plan") from None
        _check_digest(plan, plan_sha256)
        return plan


def _bound(request: str, source: str | None, plan_sha256: str) -> bytes:
    return canonical.encode({"request": request, "source": source, "plan_sha256": plan_sha256})


def _check_digest(plan: bytes, plan_sha256: str) -> None:
    if canonical.sha256_bytes(plan) != plan_sha256:
        raise refuse(
            Code.PLAN_CHANGED,
            "a saved plan whose bytes are not those that were shown",
            rule="Only the plan with the approved digest is executed.",
            remedy="Plan again and have the new plan approved.",
        )


def _not_ours(why: str) -> Refused:
    return refuse(
        Code.SEALED_PLAN,
        f"a sealed plan: {why}",
        rule="A saved plan opens only for the request that it was made for, with a runner's key.",
        remedy="Plan again on this runner.",
    )
