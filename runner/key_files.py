"""Keys read from files that nobody else can read.

A key file must be a regular file (no link), owned by this user or root, and closed to group and others.
Anything looser is refused: a key that others could read is not a key. Nothing that is wrong with a key
file is ever answered with a part of its content.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from policy.refusal import Code, Refused, refuse
from runner.secret_bytes import SecretBytes

LARGEST_KEY_FILE = 64 * 1024
"""Bytes; no key is larger, and a device or a log named by mistake is not read to its end."""


def read_secret(path: Path, *, what: str) -> SecretBytes:
    """The content of a private file.

    Args:
        path: the file.
        what: how to name it in an error, for example "the runner's identity key".

    Raises:
        Refused: `key_file`, when it is missing, a link, not a regular file, owned by somebody else,
            open to group or others, empty or larger than `LARGEST_KEY_FILE`.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise _no(what, path, "it does not exist", "Create it, with mode 0600.") from None
    except OSError as error:
        raise _no(what, path, f"it can't be opened ({error.strerror})", "Name a regular file.") from None
    try:
        _check_private(os.fstat(descriptor), path, what)
        content = os.read(descriptor, LARGEST_KEY_FILE + 1)
    finally:
        os.close(descriptor)
    if not content or len(content) > LARGEST_KEY_FILE:
        size = "empty" if not content else f"larger than {LARGEST_KEY_FILE} bytes"
        raise _no(what, path, f"it is {size}", "Put the key, and nothing else, into it.")
    return SecretBytes(content)


def read_ed25519_private_key(path: Path, *, what: str) -> Ed25519PrivateKey:
    """An Ed25519 private key in PEM (PKCS#8, not encrypted).

    Raises:
        Refused: `key_file`, as `read_secret`, or when the content is not such a key.
    """
    content = read_secret(path, what=what)
    try:
        key = load_pem_private_key(content.reveal(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _not_a_key(what, path) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _not_a_key(what, path)
    return key


def read_ed25519_public_key(path: Path, *, what: str) -> Ed25519PublicKey:
    """An Ed25519 public key in PEM. It may be readable by all, but only its owner may write it.

    Raises:
        Refused: `key_file`, when it is missing, writable by others, or not such a key.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(LARGEST_KEY_FILE)
    except OSError as error:
        raise _no(what, path, f"it can't be read ({error.strerror})", "Name the public key.") from None
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _no(what, path, f"others may write it (mode {mode & 0o777:04o})", f"Run: chmod 0644 {path}")
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise _not_a_key(what, path) from None
    if not isinstance(key, Ed25519PublicKey):
        raise _not_a_key(what, path)
    return key


def _check_private(found: os.stat_result, path: Path, what: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _no(what, path, "it is not a regular file", "Name a regular file.")
    if found.st_uid not in (0, os.geteuid()):
        raise _no(what, path, f"it belongs to user {found.st_uid}", f"Run: chown {os.geteuid()} {path}")
    if found.st_mode & 0o077:
        mode = f"{found.st_mode & 0o777:04o}"
        raise _no(what, path, f"group or others may read it (mode {mode})", f"Run: chmod 0600 {path}")


def _not_a_key(what: str, path: Path) -> Refused:
    return _no(
        what,
        path,
        "it is not an Ed25519 key in PEM form",
        "Make one with: openssl genpkey -algorithm ed25519",
    )


def _no(what: str, path: Path, why: str, remedy: str) -> Refused:
    return refuse(
        Code.KEY_FILE,
        f"{what} in {path}: {why}",
        rule="Keys are read only from regular files that nobody else can read.",
        remedy=remedy,
    )
