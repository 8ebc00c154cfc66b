"""The CODEOWNERS file that counts at a commit."""

from __future__ import annotations

from evidence.trees import Trees
from policy import git_objects
from policy.codeowners import LOCATIONS, SIZE_LIMIT
from policy.facts import CodeownersFact

_FOLDER = "040000"


def read(trees: Trees, commit: str) -> CodeownersFact:
    """The first of GitHub's three places where a file stands, and its bytes.

    Raises:
        Unavailable: when GitHub can't be read.
    """
    for path in LOCATIONS:
        found = trees.entry(commit, path)
        if found is None or found.mode == _FOLDER:
            continue
        usable = found.mode in git_objects.REGULAR_MODES and found.size < SIZE_LIMIT
        return CodeownersFact(commit=commit, path=path, text=trees.content(found.sha) if usable else None)
    return CodeownersFact(commit=commit, path=None, text=None)
