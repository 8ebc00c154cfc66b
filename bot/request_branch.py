"""The branch of a request: exactly one commit by the App on the manifest's base commit.

It holds the manifest's canonical bytes, its rendering, and what the request changes in the source.
Making it is idempotent: tree and blobs are named by their content, and a branch that is already there
is taken for ours only if its commit has the same parent, tree and message.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.github_writer import GitHubWriter, Row
from bot.outbox import Impossible

_FILE_MODE = "100644"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCommit:
    """The one commit.

    Attributes:
        branch: without `refs/heads/`.
        base_sha: its only parent.
        message: the whole commit message.
        files: repository path to bytes; None deletes the file.
    """

    branch: str
    base_sha: str
    message: str
    files: Mapping[str, bytes | None] = field(repr=False)


def name(request_id: str) -> str:
    """The branch of a request."""
    return f"ownergate/{request_id}"


def put(writer: GitHubWriter, commit: RequestCommit, *, look: bool) -> tuple[str, bool]:
    """Makes the branch if it isn't there.

    Args:
        look: an earlier try may have made it, so look first. Otherwise GitHub says so itself.

    Returns:
        Its commit, and whether this call made it (then nothing else can hang on it yet).

    Raises:
        Impossible: when a branch of that name exists that is not exactly this one.
    """
    there = writer.branch(commit.branch) if look else None
    if there is not None:
        _check_ours(writer, commit, there)
        return there, False
    sha = writer.make_commit(message=commit.message, tree=_tree(writer, commit), parent=commit.base_sha)
    if writer.make_branch(commit.branch, sha):
        return sha, True
    there = writer.branch(commit.branch)
    if there is None:
        raise Impossible("GitHub says that the request's branch exists, and doesn't show it")
    _check_ours(writer, commit, there)
    return there, False


def _tree(writer: GitHubWriter, commit: RequestCommit) -> str:
    base_tree = str(writer.commit(commit.base_sha)["tree"]["sha"])
    return writer.make_tree(base_tree, _entries(writer, commit.files))


def _entries(writer: GitHubWriter, files: Mapping[str, bytes | None]) -> Sequence[Row]:
    entries: list[Row] = []
    for path, content in sorted(files.items()):
        entry: Row = {"path": path, "mode": _FILE_MODE, "type": "blob"}
        text = _as_text(content)
        if content is None:
            entry["sha"] = None
        elif text is not None:
            # GitHub makes the blob of a text itself, which saves one call a file.
            entry["content"] = text
        else:
            entry["sha"] = writer.make_blob(base64.b64encode(content).decode())
        entries.append(entry)
    return entries


def _as_text(content: bytes | None) -> str | None:
    if content is None or b"\x00" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _check_ours(writer: GitHubWriter, commit: RequestCommit, sha: str) -> None:
    found = writer.commit(sha)
    parents = [str(parent["sha"]) for parent in found["parents"]]
    same = (
        parents == [commit.base_sha]
        and str(found["message"]).rstrip("\n") == commit.message.rstrip("\n")
        and str(found["tree"]["sha"]) == _tree(writer, commit)
    )
    if not same:
        raise Impossible(f"somebody else made the branch {commit.branch}")
