"""The source of a request in a commit's tree: its files, its modules, and whether it changed."""

from __future__ import annotations

from collections.abc import Mapping

from evidence.trees import Trees
from policy import paths, source
from policy.facts import TreeFile
from policy.manifest import Source
from policy.source import TreeEntry

_FOLDER = "040000"


def read_folder(trees: Trees, commit: str, path: str) -> Mapping[str, bytes]:
    """The regular files below a folder, without folders of requests.

    Raises:
        Refused: `source_invalid` or `source_too_large`, before any content is read.
        Unavailable: when GitHub can't be read.
    """
    entries = [*trees.below(commit, path)]
    own = trees.entry(commit, path)
    if own is not None and own.mode != _FOLDER:
        entries.append(own)
    return {entry.path: trees.content(entry.sha) for entry in source.check_entries(entries, path=path)}


def read_source(trees: Trees, commit: str, path: str) -> Mapping[str, bytes]:
    """A folder and every local module that it refers to, from the same commit.

    Raises:
        Refused: for a source that can't be read as one; see `policy.source`.
        Unavailable: when GitHub can't be read.
    """
    return with_modules(trees, commit, path, read_folder(trees, commit, path))


def with_modules(trees: Trees, commit: str, path: str, own: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """A folder's files and those of every local module that they refer to, read from a commit.

    Args:
        own: the folder's files, which need not be the commit's: a call may bring changes to them. It
            changes its own folder alone, so modules outside of it are always the commit's.

    Raises:
        Refused: for a source that can't be read as one; see `policy.source`.
        Unavailable: when GitHub can't be read.
    """
    files = dict(own)
    while True:
        missing = [
            module
            for module in sorted(source.local_modules(path, files))
            if not any(paths.inside(name, module) for name in files)
        ]
        if not missing:
            return files
        for module in missing:
            files |= read_folder(trees, commit, module)


def at_head(trees: Trees, commit: str, described: Source) -> Mapping[str, TreeFile]:
    """What stands in the source's folder, and at the path of each of its files elsewhere.

    Raises:
        Unavailable: when GitHub can't be read.
    """
    entries = [
        entry
        for entry in trees.below(commit, described.path)
        if entry.mode != _FOLDER and not paths.is_record(entry.path)
    ]
    for file in described.files:
        if not paths.inside(file.path, described.path):
            found = trees.entry(commit, file.path)
            entries += [found] if found is not None else []
    return {entry.path: TreeFile(mode=entry.mode, blob=entry.sha) for entry in entries}


def changed(trees: Trees, before: str, after: str, described: Source) -> frozenset[str]:
    """Paths of the source, or in a folder that holds one of its files, that differ between two commits.

    Raises:
        Unavailable: when GitHub can't be read.
    """
    if before == after:
        return frozenset()
    folders = {described.path} | {file.path.rpartition("/")[0] for file in described.files}
    differing: set[str] = set()
    for folder in folders:
        old, new = (_files(trees, commit, folder) for commit in (before, after))
        differing |= {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    return frozenset(differing)


def _files(trees: Trees, commit: str, folder: str) -> dict[str, tuple[str, str]]:
    listed: list[TreeEntry] = [*trees.below(commit, folder)]
    return {
        entry.path: (entry.mode, entry.sha)
        for entry in listed
        if entry.mode != _FOLDER and not paths.is_record(entry.path)
    }
