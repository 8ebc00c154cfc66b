"""Names that git gives to content: how a committed file is compared without fetching it."""

from __future__ import annotations

import hashlib

REGULAR_MODES = frozenset({"100644", "100755"})
"""Modes of regular files in a git tree; links (120000) and submodules (160000) are none."""


def blob_id(content: bytes) -> str:
    """The id of a blob: SHA-1 over "blob", its size and its bytes ("Git Internals - Git Objects").

    It only compares a commit's tree with bytes whose SHA-256 is already bound by the digest.
    """
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
