"""Sources: which files of a tree a call may work on, and the digest over them.

A source is regular files under repository paths and nothing else: no links, no submodules, no name that
two systems read differently, bounded in number and size. Its digest is over path, content and size of
every file, so it doesn't matter which commit, branch or call the bytes came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from policy import canonical, manifest, paths, source_request, terraform_source
from policy.canonical import Json
from policy.refusal import Code, Refused, refuse
from policy.source_request import SourceRequest
from policy.tools import Tool

MOST_FILES: Final = 2_000
"""Files of one source at most, modules included."""

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of one source at most, modules included."""

_REGULAR: Final = ("100644", "100755")
_KINDS: Final = MappingProxyType({"120000": "a symbolic link", "160000": "a submodule"})
_FOLDER: Final = "040000"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """One entry of a Git tree.

    Attributes:
        path: from the root of the repository.
        mode: Git's mode, six digits: 100644, 100755, 120000 (link), 160000 (submodule), 040000.
        size: bytes; 0 for folders and submodules.
        sha: Git's id of the object.
    """

    path: str
    mode: str
    size: int
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file: repository path, SHA-256 of its bytes, size in bytes, and the bytes."""

    path: str
    sha256: str
    size: int
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceArchive:
    """The source of one call.

    Attributes:
        path: the folder that the call works on.
        files: sorted by path; those of local modules too.
        sha256: digest of the canonical JSON `[{path, sha256, size}, …]`.
    """

    path: str
    files: tuple[SourceFile, ...]
    sha256: str

    def contents(self) -> Mapping[str, bytes]:
        """The bytes of every file by repository path."""
        return MappingProxyType({file.path: file.content for file in self.files})

    def described(self) -> manifest.Source:
        """The source as the manifest names it, without the bytes."""
        files = tuple(
            manifest.SourceFile(path=file.path, sha256=file.sha256, size=file.size) for file in self.files
        )
        return manifest.Source(path=self.path, sha256=self.sha256, files=files)


def check_entries(entries: Iterable[TreeEntry], *, path: str) -> tuple[TreeEntry, ...]:
    """The files of a folder in a Git tree that may be read as source.

    Folders of manifests and renderings (`.ownergate/`) are left out; what lies elsewhere is ignored.

    Args:
        entries: the tree, folders and files, with paths from the root of the repository.
        path: the folder.

    Raises:
        Refused: `source_invalid` or `source_too_large`, before any content is read.
    """
    files: list[TreeEntry] = []
    for entry in entries:
        if (entry.path != path and not paths.inside(entry.path, path)) or paths.is_record(entry.path):
            continue
        if entry.mode == _FOLDER:
            continue
        if entry.mode not in _REGULAR:
            kind = _KINDS.get(entry.mode, f"of mode {entry.mode}")
            raise _invalid(f"{_show(entry.path)} is {kind}", "Put a regular file in its place.")
        if entry.path == path:
            raise _invalid(f"{_show(path)} is a file, not a folder", "Name the folder that it lies in.")
        files.append(entry)
    _check_paths([entry.path for entry in files], path)
    _check_size(len(files), sum(entry.size for entry in files))
    return tuple(sorted(files, key=lambda entry: entry.path))


def archive(path: str, files: Mapping[str, bytes]) -> SourceArchive:
    """The source that consists of these files.

    Args:
        path: the folder that the call works on.
        files: content by repository path; local modules lie outside of `path`.

    Raises:
        Refused: `source_invalid` or `source_too_large`.
    """
    _check_paths(list(files), path)
    _check_size(len(files), sum(len(content) for content in files.values()))
    recorded = next((name for name in files if paths.is_record(name)), None)
    if recorded is not None:
        raise _invalid(f"{_show(recorded)} lies among the records of requests", "Leave it out.")
    described = tuple(
        SourceFile(
            path=name, sha256=canonical.sha256_bytes(files[name]), size=len(files[name]), content=files[name]
        )
        for name in sorted(files)
    )
    return SourceArchive(path=path, files=described, sha256=digest(described))


def digest(files: Iterable[SourceFile | manifest.SourceFile]) -> str:
    """The digest of a source's files, which must be sorted by path."""
    listed: list[Json] = [{"path": file.path, "sha256": file.sha256, "size": file.size} for file in files]
    return canonical.sha256(listed)


def overlay(
    base: Mapping[str, bytes], changes: Mapping[str, bytes | None], *, path: str
) -> Mapping[str, bytes]:
    """The files of a tree with the changes of a call: content replaces or adds a file, None removes it.

    Raises:
        Refused: `source_invalid` for a change outside of `path`, and for the removal of what isn't there.
    """
    result = dict(base)
    for name, content in changes.items():
        if not paths.inside(name, path) or paths.is_record(name):
            raise _invalid(f"{_show(name)} lies outside of {path}/", f"Change files of {path}/ only.")
        if content is not None:
            result[name] = content
        elif name in result:
            del result[name]
        else:
            raise _invalid(f"{_show(name)} can't be removed: it isn't there", "Leave it out of the call.")
    return MappingProxyType(result)


def local_modules(path: str, files: Mapping[str, bytes]) -> frozenset[str]:
    """Repository paths of the local modules that the Terraform code of a folder refers to.

    See `policy.terraform_source.local_modules`.
    """
    return terraform_source.local_modules(path, files)


def parse_source_request(value: Json, tool: Tool, arguments: Mapping[str, Json]) -> SourceRequest:
    """What a call says about its source. See `policy.source_request.parse`."""
    return source_request.parse(value, tool, arguments)


def _check_paths(names: list[str], path: str) -> None:
    if not any(paths.inside(name, path) for name in names):
        raise _invalid(f"{_show(path)} holds no file", "Name a folder that exists in the tree.")
    folded: dict[str, str] = {}
    for name in sorted(names):
        reason = paths.problem(name)
        if reason is not None:
            raise _invalid(f"the path {_show(name)}: {reason}", "Rename the file.")
        # A folder `A` beside a file `a` collides too, so every leading part counts.
        parts = name.split("/")
        for length in range(1, len(parts) + 1):
            part = "/".join(parts[:length])
            first = folded.setdefault(part.casefold(), part)
            if first != part:
                raise _invalid(f"{_show(part)} and {_show(first)} differ in case only", "Rename one of them.")


def _check_size(count: int, size: int) -> None:
    if count > MOST_FILES or size > LARGEST:
        raise refuse(
            Code.SOURCE_TOO_LARGE,
            f"a source of {count} files and {size} bytes",
            rule=f"A source has at most {MOST_FILES} files and {LARGEST} bytes, modules included.",
            remedy="Split the folder, or take out what the tool doesn't need.",
        )


def _invalid(what: str, remedy: str) -> Refused:
    return refuse(
        Code.SOURCE_INVALID,
        what,
        rule="A source is regular files with plain names, inside the folder of the call.",
        remedy=remedy,
    )


def _show(path: str) -> str:
    return path if path.isascii() and path.isprintable() and len(path) <= 200 else ascii(path[:200])
