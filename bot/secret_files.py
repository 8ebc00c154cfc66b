"""Reads the bot's secrets and keys from files: present, whole, and readable for nobody else.

Nothing of a file's content ever stands in an error.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from bot.webhook_signature import SHORTEST_SECRET
from policy import signing
from policy.refusal import Code, Refused, refuse

LARGEST = 64 * 1024
"""Bytes of a file at most."""

_PUBLIC_KEY = re.compile(rb"-----BEGIN PUBLIC KEY-----.+?-----END PUBLIC KEY-----", re.DOTALL)


def webhook_secrets(paths: Sequence[Path]) -> tuple[bytes, ...]:
    """The webhook secrets that are accepted, one a file, without a line break at the end.

    Raises:
        Refused: `secret_file_invalid`; no secret at all is refused too.
    """
    if not paths:
        raise _refuse(
            "github.webhook_secret_files", "no file is named", "Name a file with the webhook's secret."
        )
    return tuple(_webhook_secret(path) for path in paths)


def grant_key(path: Path) -> Ed25519PrivateKey:
    """The key that signs grants.

    Raises:
        Refused: `secret_file_invalid`.
    """
    try:
        key = load_pem_private_key(private(path, what="the grant key"), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise _refuse(
            f"the grant key {path}",
            "it is not an Ed25519 private key in PEM",
            "Make one with `ownergate keys`.",
        )
    return key


def app_key(path: Path) -> str:
    """The GitHub App's key, in PEM: GitHub makes RSA keys and accepts nothing else.

    Raises:
        Refused: `secret_file_invalid`.
    """
    what = "the GitHub App's private key"
    content = private(path, what=what)
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, RSAPrivateKey):
        remedy = "Download one from the App's settings at GitHub."
        raise _refuse(f"{what} {path}", "it is not an RSA private key in PEM", remedy)
    return content.decode("ascii")


def receipt_keys(path: Path) -> Mapping[str, Ed25519PublicKey]:
    """The runners' public keys, by `policy.signing.key_id`; at least one.

    Raises:
        Refused: `secret_file_invalid`.
    """
    what = f"the receipt keys {path}"
    remedy = "Put the runners' public keys there, each an Ed25519 key in PEM."
    blocks = _PUBLIC_KEY.findall(_content(path, what="the receipt keys"))
    if not blocks:
        raise _refuse(what, "there is no public key in it", remedy)
    keys: dict[str, Ed25519PublicKey] = {}
    for number, block in enumerate(blocks, 1):
        try:
            key = load_pem_public_key(block)
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise _refuse(what, f"key {number} is not an Ed25519 public key in PEM", remedy)
        keys[signing.key_id(key)] = key
    return keys


def private(path: Path, *, what: str) -> bytes:
    """The content of a file that only its owner may read (mode 0600 or less), not empty.

    Raises:
        Refused: `secret_file_invalid`.
    """
    content = _content(path, what=what)
    status = path.stat()
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise _refuse(f"{what} {path}", "others may read it", f"Run `chmod 600 {path}` and renew the secret.")
    if status.st_uid not in (0, os.geteuid()):
        raise _refuse(f"{what} {path}", "it belongs to another user", f"Run `chown` on {path}.")
    return content


def _webhook_secret(path: Path) -> bytes:
    what = "the webhook secret"
    secret = private(path, what=what).removesuffix(b"\n").removesuffix(b"\r")
    if len(secret) < SHORTEST_SECRET or not secret.strip():
        raise _refuse(
            f"{what} {path}",
            f"it has fewer than {SHORTEST_SECRET} bytes",
            "Make one with `openssl rand -hex 32` and set it in the App's webhook settings too.",
        )
    return secret


def _content(path: Path, *, what: str) -> bytes:
    try:
        if not path.is_file():
            raise _refuse(f"{what} {path}", "there is no such file", "Make the file or correct the path.")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        reason = error.strerror or "it can't be read"
        raise _refuse(f"{what} {path}", reason, "Let the bot's user read it.") from None
    if not content.strip():
        raise _refuse(f"{what} {path}", "it is empty", "Put the secret into it; the bot never runs without.")
    if len(content) > LARGEST:
        raise _refuse(f"{what} {path}", f"it has more than {LARGEST} bytes", "Name the right file.")
    return content


def _refuse(what: str, why: str, remedy: str) -> Refused:
    return refuse(
        Code.SECRET_FILE_INVALID,
        f"{what}: {why}",
        rule="The bot starts only with all its secrets and keys, each readable for its own user alone.",
        remedy=remedy,
    )
