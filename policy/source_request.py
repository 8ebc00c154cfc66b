"""What a call says about its source, beside its arguments: files, a branch, or nothing.

| `source` of the call | meaning |
|---|---|
| absent or null | the tree of the target's base branch |
| `{"branch": "name"}` | the tree of that branch of the same repository |
| `{"files": {"path": "text", "other": null}}` | the base tree, with these files written or removed |

Files are confined to the tool's source folder. Nothing that decides who approves, how a diff is shown or
what a later request may do can be among them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from policy import argv, branches, paths, secret_shapes
from policy.canonical import Json
from policy.refusal import Code, Refused, refuse
from policy.tools import Tool

MOST_FILES: Final = 200
"""Files in one call at most."""

LARGEST_FILE: Final = 512 * 1024
"""Bytes of one file at most."""

LARGEST: Final = 2 * 1024 * 1024
"""Bytes of all files together at most."""

_GIT_FILES: Final = frozenset({".gitattributes", ".gitmodules", ".gitignore"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseTree:
    """The tree of the target's base branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """The tree of a branch of the same repository."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesInCall:
    """The base tree with changes: content by repository path, None for a removed file."""

    files: Mapping[str, bytes | None] = field(repr=False)


SourceRequest = BaseTree | Branch | FilesInCall


def parse(value: Json, tool: Tool, arguments: Mapping[str, Json]) -> SourceRequest:
    """Reads the source of a call.

    Args:
        value: the call's `source`, None when it has none.
        tool: the tool that is called.
        arguments: the call's checked arguments, which choose the folder.

    Raises:
        Refused: `source_invalid`, `source_too_large`, `path_invalid` or `credential_literal`.
    """
    if value is None:
        return BaseTree()
    if tool.source is None:
        raise _invalid(f"{tool.name} takes no source", "Call it without `source`.")
    match value:
        case {"branch": str() as name, **rest} if not rest:
            return _branch(name)
        case {"files": dict() as files, **rest} if not rest:
            return _files(files, argv.fill(tool.source, arguments))
        case _:
            raise _invalid(
                "the call's source has another form",
                'Send {"branch": name} or {"files": {path: text or null}}.',
            )


def _branch(name: str) -> Branch:
    reason = branches.problem(name)
    if reason is None and name.startswith(branches.OWN_PREFIX):
        reason = "it is a branch of ownergate's own"
    if reason is not None:
        raise _invalid(f"the branch {name[:200]!a}: {reason}", "Name a branch of the repository.")
    return Branch(name=name)


def _files(files: dict[str, Json], folder: str) -> FilesInCall:
    if not files:
        raise _invalid("the call's source has no files", "Send at least one file, or no `source`.")
    if len(files) > MOST_FILES:
        raise _too_large(f"{len(files)} files in one call")
    result: dict[str, bytes | None] = {}
    for path, text in files.items():
        _check_path(path, folder)
        match text:
            case None:
                result[path] = None
            case str():
                result[path] = _content(path, text)
            case _:
                raise _invalid(f"{path} is neither text nor null", "Send its content as text, or null.")
    size = sum(len(content) for content in result.values() if content is not None)
    if size > LARGEST:
        raise _too_large(f"{size} bytes of files in one call")
    return FilesInCall(files=MappingProxyType(result))


def _check_path(path: str, folder: str) -> None:
    shown = path if path.isascii() and path.isprintable() and len(path) <= 200 else ascii(path[:200])
    reason = paths.problem(path)
    parts = path.casefold().split("/")
    if reason is None and paths.is_record(path):
        reason = f"{paths.RECORDS}/ holds the records of requests"
    elif reason is None and not paths.inside(path, folder):
        reason = f"it lies outside of {folder}/, the source of this call"
    elif reason is None and (parts[0] == ".github" or parts[-1] == "codeowners"):
        reason = "it decides who approves, or what runs in the repository"
    elif reason is None and parts[-1] in _GIT_FILES:
        reason = "it decides what Git and GitHub show of a change"
    if reason is not None:
        raise _invalid(f"the file {shown}: {reason}", f"Send files of {folder}/ only.")


def _content(path: str, text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")
    if len(content) > LARGEST_FILE:
        raise _too_large(f"the file {path} of {len(content)} bytes")
    hidden = next((character for character in text if _is_hidden(character)), None)
    if hidden is not None:
        raise _invalid(f"the file {path} holds {hidden!a}, which can't be seen", "Send visible text.")
    if not unicodedata.is_normalized("NFC", text):
        raise _invalid(f"the file {path} is not in Unicode's NFC form", "Send it in NFC.")
    shape = secret_shapes.find(text)
    if shape is not None:
        raise refuse(
            Code.CREDENTIAL_LITERAL,
            f"the file {path} holds what looks like {shape}",
            rule="What an agent sends is committed and shown, so no secret may be in it.",
            remedy="Refer to the secret instead; revoke this one if it is real.",
        )
    return content


def _is_hidden(character: str) -> bool:
    if character in "\t\n\r":
        return False
    return unicodedata.category(character)[0] == "C" or character in "\u2028\u2029"


def _invalid(what: str, remedy: str) -> Refused:
    return refuse(
        Code.SOURCE_INVALID,
        what,
        rule="A call brings files of its own source folder, names a branch, or uses the base branch.",
        remedy=remedy,
    )


def _too_large(what: str) -> Refused:
    return refuse(
        Code.SOURCE_TOO_LARGE,
        what,
        rule=f"A call brings at most {MOST_FILES} files, {LARGEST_FILE} bytes each and {LARGEST} in all.",
        remedy="Push a branch and name it instead.",
    )
