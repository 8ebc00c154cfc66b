"""Names of Git branches, by the rules of git-check-ref-format and a few of ours."""

from __future__ import annotations

import re
from typing import Final

OWN_PREFIX: Final = "ownergate/"
"""Branches that the App itself makes; nobody's source."""

_CHARACTERS: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]{0,199}")


def problem(name: str) -> str | None:
    """Why a branch can't be named so; None when it can. Names are written without `refs/heads/`."""
    if _CHARACTERS.fullmatch(name) is None:
        return "a branch name is at most 200 letters, digits and _ . / + -, and begins with none of . / + -"
    if name.startswith("refs/"):
        return "a branch is named without refs/heads/"
    if ".." in name or name.endswith("."):
        return "it holds '..' or ends with a dot"
    for part in name.split("/"):
        if part == "" or part.startswith(".") or part.endswith(".lock"):
            return "a part of it is empty, begins with a dot or ends with .lock"
    return None
