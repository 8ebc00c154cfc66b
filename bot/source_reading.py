"""The source of a request as it will be at the pull request's head: base tree, the call's changes, modules.

Changes are confined to the call's folder, wherever they come from. So a branch counts only for what
differs in that folder; local modules outside of it are the base's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from evidence import GitHubReader
from policy import source
from policy.source import SourceArchive
from policy.source_request import BaseTree, Branch, FilesInCall, SourceRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSource:
    """A source and what of it the pull request changes (None removes a file)."""

    archive: SourceArchive
    changes: Mapping[str, bytes | None] = field(repr=False)


def read(
    reader: GitHubReader, asked: SourceRequest, *, path: str, base_sha: str, branch_sha: str | None
) -> ReadSource:
    """Reads a source.

    Args:
        path: the call's folder.
        base_sha: the base's commit.
        branch_sha: the commit of the branch that the call names; None without a branch.

    Raises:
        Refused: `source_invalid`, `source_too_large`, `terraform_source`.
        Unavailable: when GitHub can't be read.
    """
    base = dict(reader.read_folder(base_sha, path))
    changes: Mapping[str, bytes | None]
    match asked:
        case BaseTree():
            changes = {}
        case Branch():
            changes = _difference(base, reader.read_folder(branch_sha or base_sha, path))
        case FilesInCall():
            changes = {name: data for name, data in asked.files.items() if base.get(name, b"") != data}
        case _:
            assert_never(asked)
    files = reader.with_modules(base_sha, path, source.overlay(base, changes, path=path))
    return ReadSource(archive=source.archive(path, files), changes=changes)


def _difference(base: Mapping[str, bytes], branch: Mapping[str, bytes]) -> dict[str, bytes | None]:
    changed: dict[str, bytes | None] = {name: data for name, data in branch.items() if base.get(name) != data}
    return changed | {name: None for name in base if name not in branch}
