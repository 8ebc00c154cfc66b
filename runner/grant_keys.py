"""What makes a grant believable here: the bot's public keys, and the list of grants taken back."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from policy import signing
from policy.refusal import Code, Refused, refuse

_LARGEST_FILE = 64 * 1024
_BLOCK = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)
_GRANT_ID = re.compile(r"[0-9a-f]{64}")


def read_public_keys(path: Path) -> Mapping[str, Ed25519PublicKey]:
    """The keys in a file of PEM blocks, by key id; several while the bot's key is exchanged.

    Raises:
        Refused: `key_file`, without a key, with anything that is not one, or when others may write it.
    """
    content = _read(path, "the bot's public keys")
    if _BLOCK.sub(b"", content).strip():
        raise _no(path, "something that is not a public key stands in it", "Put PEM public keys into it.")
    keys: dict[str, Ed25519PublicKey] = {}
    for block in _BLOCK.findall(content):
        try:
            key = load_pem_public_key(block)
        except (ValueError, UnsupportedAlgorithm):
            raise _no(path, "a key can't be read", "Put PEM public keys into it.") from None
        if not isinstance(key, Ed25519PublicKey):
            raise _no(path, "a key is not an Ed25519 key", "The bot signs with Ed25519 keys.")
        keys[signing.key_id(key)] = key
    if not keys:
        raise _no(path, "there is no key in it", "Put the bot's public key into it, in PEM.")
    return MappingProxyType(keys)


def read_revoked(path: Path | None) -> frozenset[str]:
    """The ids of grants that were taken back, one a line; `#` begins a remark.

    Raises:
        Refused: `key_file`, when a file is named and can't be read, or has a line that is no id: a list
            that can't be read would otherwise take nothing back.
    """
    if path is None:
        return frozenset()
    content = _read(path, "the list of revoked grants").decode("utf-8", "replace")
    lines = [line.split("#", 1)[0].strip() for line in content.splitlines()]
    wrong = next((line for line in lines if line and not _GRANT_ID.fullmatch(line)), None)
    if wrong is not None:
        raise _no(path, f"the line {wrong[:80]!a} is no grant id", "A grant's id has 64 hexadecimal digits.")
    return frozenset(line for line in lines if line)


def _read(path: Path, what: str) -> bytes:
    try:
        mode = path.stat().st_mode
        content = path.read_bytes()[: _LARGEST_FILE + 1]
    except OSError as error:
        raise _no(path, f"{what} can't be read ({error.strerror})", "Name the file.") from None
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _no(path, f"others may write it (mode {mode & 0o777:04o})", f"Run: chmod 0644 {path}")
    if len(content) > _LARGEST_FILE:
        raise _no(path, f"it is larger than {_LARGEST_FILE} bytes", "Put only what belongs there into it.")
    return content


def _no(path: Path, why: str, remedy: str) -> Refused:
    return refuse(
        Code.KEY_FILE,
        f"{path}: {why}",
        rule="A grant counts only when it is signed by a key that this runner was given.",
        remedy=remedy,
    )
