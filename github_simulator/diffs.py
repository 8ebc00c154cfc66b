"""What changed between two commits, file by file, as GitHub lists it."""

import re
from dataclasses import dataclass

from github_simulator.git_store import ZERO, GitStore

LARGEST_PATCH_LINES = 20_000
LARGEST_PATCH_BYTES = 500_000
"""Larger single-file diffs have no patch (docs.github.com, "Limits for viewing content and diffs")."""

STATUSES = {"A": "added", "D": "removed", "M": "modified", "T": "changed", "R": "renamed", "C": "copied"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One file of a diff; ``patch`` is None for binary, empty or very large changes."""

    path: str
    previous_path: str | None
    status: str
    sha: str
    additions: int
    deletions: int
    patch: str | None


class Differ:
    """Diffs of one store, computed once for each pair of commits."""

    def __init__(self, store: GitStore) -> None:
        self._store = store
        self._known: dict[tuple[str, str], tuple[ChangedFile, ...]] = {}

    def between(self, old: str, new: str) -> tuple[ChangedFile, ...]:
        """The files that differ from one commit (or tree) to another, renames found, in git's order."""
        key = (old, new)
        if key not in self._known:
            self._known[key] = _changed_files(self._store, old, new)
        return self._known[key]


def _changed_files(store: GitStore, old: str, new: str) -> tuple[ChangedFile, ...]:
    options = ("diff-tree", "-r", "-M", "--full-index", "--no-color", "--no-ext-diff")
    _, raw = store.run(*options, "--raw", "--numstat", "-z", old, new)
    _, text = store.run(*options, "-p", old, new)
    patches = _patches(text)
    fields = raw.decode(errors="replace").split("\0")
    entries: list[tuple[str, str, str | None, str]] = []
    numbers: dict[str, tuple[int, int]] = {}
    at = 0
    while at < len(fields) and fields[at]:
        if fields[at].startswith(":"):
            _, _, before, after, status = fields[at][1:].split(" ")
            renamed = status[0] in "RC"
            previous = fields[at + 1] if renamed else None
            path = fields[at + 2] if renamed else fields[at + 1]
            entries.append((status[0], path, previous, before if after == ZERO else after))
            at += 3 if renamed else 2
        else:
            added, deleted, path = fields[at].split("\t")
            if not path:
                path = fields[at + 2]
                at += 2
            numbers[path] = (int(added) if added.isdigit() else 0, int(deleted) if deleted.isdigit() else 0)
            at += 1
    files = []
    remaining = iter(patches)
    for letter, path, previous, sha in entries:
        patch = next(remaining, None)
        if letter == "T":
            # A file that becomes a link is printed as a removal and an addition.
            next(remaining, None)
        additions, deletions = numbers.get(path, (0, 0))
        files.append(
            ChangedFile(
                path=path,
                previous_path=previous,
                status=STATUSES.get(letter, "changed"),
                sha=sha,
                additions=additions,
                deletions=deletions,
                patch=patch,
            )
        )
    return tuple(files)


def _patches(text: bytes) -> list[str | None]:
    """The hunks of each file in the output of ``git diff -p``, in order."""
    found: list[str | None] = []
    for section in re.split(rb"^diff --git .*\n", text, flags=re.MULTILINE)[1:]:
        start = re.search(rb"^@@ ", section, flags=re.MULTILINE)
        if start is None:
            found.append(None)
            continue
        hunks = section[start.start() :].decode(errors="replace").removesuffix("\n")
        too_large = len(hunks) > LARGEST_PATCH_BYTES or hunks.count("\n") > LARGEST_PATCH_LINES
        found.append(None if too_large else hunks)
    return found
