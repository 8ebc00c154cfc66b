"""The source of a call, read at GitHub with the runner's own App, at a commit that is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

import evidence
from policy import argv, source
from policy.canonical import Json
from policy.refusal import Code, Refused, refuse
from policy.runner_protocol import Job
from policy.source import SourceArchive
from policy.source_request import BaseTree, Branch, FilesInCall
from policy.tools import Tool


def for_plan(
    github: Callable[[], evidence.GitHubReader], job: Job, tool: Tool, arguments: Mapping[str, Json]
) -> SourceArchive | None:
    """The source that a plan or a read works on: the base's tree, a branch's, or the base's with files.

    Returns:
        None for a tool without source; GitHub is not asked then.

    Raises:
        Refused: `source_invalid` and its like, or `github_unavailable`.
    """
    if tool.source is None:
        return None
    path = argv.fill(tool.source, arguments)
    wanted = source.parse_source_request(_plain(job.source), tool, arguments)
    reader = github()
    try:
        match wanted:
            case BaseTree():
                files = reader.read_source(job.base.sha, path)
            case Branch():
                own = reader.read_folder(reader.branch_tip(wanted.name), path)
                files = reader.with_modules(job.base.sha, path, own)
            case FilesInCall():
                own = source.overlay(reader.read_folder(job.base.sha, path), wanted.files, path=path)
                files = reader.with_modules(job.base.sha, path, own)
            case _:
                assert_never(wanted)
    except evidence.Unavailable as error:
        raise _unavailable(error) from None
    return source.archive(path, files)


def at_head(
    reader: evidence.GitHubReader, tool: Tool, arguments: Mapping[str, Json], *, head_sha: str
) -> SourceArchive | None:
    """The source as it stands at a pull request's head; None for a tool without source.

    Raises:
        Refused: `source_invalid` and its like, or `github_unavailable`.
    """
    if tool.source is None:
        return None
    path = argv.fill(tool.source, arguments)
    try:
        return source.archive(path, reader.read_source(head_sha, path))
    except evidence.Unavailable as error:
        raise _unavailable(error) from None


def _plain(value: Mapping[str, Json] | None) -> Json:
    return None if value is None else dict(value)


def _unavailable(error: Exception) -> Refused:
    return refuse(
        Code.GITHUB_UNAVAILABLE,
        f"the source can't be read at GitHub: {error}",
        rule="A runner works on the source that it has read itself.",
        remedy="Wait until GitHub can be reached, then ask again.",
    )
