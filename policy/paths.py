"""Paths inside a repository: which ones mean one thing to everybody who reads them.

Git, GitHub, CODEOWNERS, a Linux sandbox and the people who look at a diff must all see the same file
under a path, so only plain relative paths are taken.
"""

from __future__ import annotations

import unicodedata

LONGEST_PATH = 1024
"""Bytes of a path at most, in UTF-8."""

LONGEST_SEGMENT = 255
"""Bytes of one name at most, the limit of Linux file systems."""

RECORDS = ".ownergate"
"""Folder of the committed manifests and renderings; never part of a source."""


def problem(path: str) -> str | None:
    """Why a relative path of a file or folder can't be used; None when it can.

    A folder is written without its final slash.
    """
    if not path:
        return "it is empty"
    if path.startswith("/"):
        return "it is absolute"
    if len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
        return f"it is longer than {LONGEST_PATH} bytes"
    if not unicodedata.is_normalized("NFC", path):
        return "it is not in Unicode's NFC form"
    hidden = next((c for c in path if unicodedata.category(c)[0] == "C" or c in "\u2028\u2029"), None)
    if hidden is not None:
        return f"it holds {hidden!a}, which can't be seen"
    if "\\" in path:
        return "it holds a backslash"
    return next((reason for segment in path.split("/") if (reason := _segment(segment))), None)


def inside(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, which may be written with or without its final slash."""
    return path.startswith(folder.rstrip("/") + "/")


def is_record(path: str) -> bool:
    """Whether a path lies in a folder of manifests and renderings."""
    return RECORDS in path.casefold().split("/")


def _segment(segment: str) -> str | None:
    if segment == "":
        return "it holds an empty part (//, or a / at the end)"
    if segment in (".", ".."):
        return f"it holds {segment!r}"
    if segment != segment.strip():
        return "a part of it begins or ends with white space"
    if segment.casefold() == ".git":
        return "it leads into .git"
    if len(segment.encode("utf-8", "surrogatepass")) > LONGEST_SEGMENT:
        return f"a part of it is longer than {LONGEST_SEGMENT} bytes"
    return None
