"""The files of a commit: what stands at which path, and the bytes.

Git objects never change, so each is read once for a job, and bytes are checked against their id.
"""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from evidence import fields
from evidence.rest import Rest
from evidence.unavailable import Unavailable
from policy import git_objects, paths
from policy.source import TreeEntry

_FOLDER = "040000"

KEPT_LISTINGS = 32
"""Answers about trees that are kept; the one that was not used for longest goes first."""

KEPT_BYTES = 64 * 1024 * 1024
"""Bytes of blobs that are kept; when there are more, all go."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """One answer about a tree: its entries, or none of them when GitHub could not list it whole."""

    entries: dict[str, TreeEntry]
    whole: bool


class Trees:
    """Trees and blobs of one repository, for one job.

    A commit is read with one call when GitHub can list all of it ("Get a tree": 100,000 entries or
    7 MB at most), otherwise folder by folder along the paths that are asked for.
    """

    def __init__(self, rest: Rest, repository: str) -> None:
        self._rest = rest
        self._repository = repository
        self._listings: OrderedDict[tuple[str, bool], _Listing] = OrderedDict()
        self._blobs: dict[str, bytes] = {}

    def entry(self, commit: str, path: str) -> TreeEntry | None:
        """What stands at a path in a commit; None when nothing does.

        Raises:
            Unavailable: when the tree can't be read.
        """
        root = self._listing(commit, recursive=True)
        if root.whole:
            return root.entries.get(path)
        folder, _, name = path.rpartition("/")
        listing = self._shallow(commit, folder)
        return listing.get(f"{folder}/{name}" if folder else name) if listing is not None else None

    def below(self, commit: str, folder: str) -> Iterator[TreeEntry]:
        """Every entry below a folder ("" is the root), folders included, with its path from the root.

        Raises:
            Unavailable: when the folder can't be listed whole.
        """
        root = self._listing(commit, recursive=True)
        if root.whole:
            yield from (
                entry for entry in root.entries.values() if not folder or paths.inside(entry.path, folder)
            )
            return
        if not folder:
            raise Unavailable("GitHub can't list the repository whole: it has too many files")
        found = self.entry(commit, folder)
        if found is None or found.mode != _FOLDER:
            return
        listing = self._listing(found.sha, recursive=True)
        if not listing.whole:
            raise Unavailable(f"GitHub can't list the folder {folder!a} whole: it has too many files")
        yield from _under(folder, listing).values()

    def content(self, blob: str) -> bytes:
        """The bytes of a blob.

        Raises:
            Unavailable: when it can't be read, or its bytes are not the ones of that id.
        """
        if blob not in self._blobs:
            content = self._fetch(blob)
            if sum(map(len, self._blobs.values())) + len(content) > KEPT_BYTES:
                self._blobs.clear()
            self._blobs[blob] = content
        return self._blobs[blob]

    def file(self, commit: str, path: str) -> bytes | None:
        """The bytes of a regular file in a commit; None when there is none at that path.

        Raises:
            Unavailable: when it can't be read.
        """
        found = self.entry(commit, path)
        if found is None or found.mode not in git_objects.REGULAR_MODES:
            return None
        return self.content(found.sha)

    def _shallow(self, commit: str, folder: str) -> dict[str, TreeEntry] | None:
        """The entries directly in a folder, by their paths from the root; None when it is no folder."""
        entries = self._listing(commit, recursive=False).entries
        at = ""
        for name in folder.split("/") if folder else []:
            at = f"{at}/{name}" if at else name
            found = entries.get(at)
            if found is None or found.mode != _FOLDER:
                return None
            entries = _under(at, self._listing(found.sha, recursive=False))
        return entries

    def _fetch(self, blob: str) -> bytes:
        answer = self._rest.get(f"/repos/{self._repository}/git/blobs/{blob}")
        if fields.text(answer, "encoding") != "base64":
            raise Unavailable(f"GitHub's answer for the blob {blob} is not in base64")
        try:
            content = base64.b64decode(fields.text(answer, "content"))
        except binascii.Error:
            raise Unavailable(f"GitHub's answer for the blob {blob} is not in base64") from None
        if git_objects.blob_id(content) != blob:
            raise Unavailable(f"GitHub's answer for the blob {blob} holds other bytes")
        return content

    def _listing(self, sha: str, *, recursive: bool) -> _Listing:
        key = (sha, recursive)
        if key not in self._listings:
            self._listings[key] = self._list(sha, recursive=recursive)
            if len(self._listings) > KEPT_LISTINGS:
                self._listings.popitem(last=False)
        self._listings.move_to_end(key)
        return self._listings[key]

    def _list(self, sha: str, *, recursive: bool) -> _Listing:
        parameters = {"recursive": "1"} if recursive else {}
        answer = self._rest.get(f"/repos/{self._repository}/git/trees/{sha}", parameters)
        self._check_address(fields.text(answer, "url"))
        if fields.flag(answer, "truncated"):
            if not recursive:
                raise Unavailable(f"GitHub can't list the folder {sha} whole: it has too many files")
            return _Listing({}, whole=False)
        listed = fields.value(answer, "tree")
        if not isinstance(listed, list):
            raise Unavailable("GitHub's answer for a tree has no list")
        entries = (_entry(entry) for entry in listed)
        return _Listing({entry.path: entry for entry in entries}, whole=True)

    def _check_address(self, url: str) -> None:
        """Refuses an answer that came by way of a redirect.

        PyGithub follows GitHub's redirect from an old name of a repository without the parameters of the
        call, so the answer would be the top of the tree, looking like all of it.
        """
        if f"/repos/{self._repository}/git/trees/".casefold() not in url.casefold():
            raise Unavailable(f"the repository {self._repository} has another name now")


def _under(folder: str, listing: _Listing) -> dict[str, TreeEntry]:
    """The entries of a folder's own listing by their paths from the root."""
    moved = (replace(entry, path=f"{folder}/{entry.path}") for entry in listing.entries.values())
    return {entry.path: entry for entry in moved}


def _entry(answer: object) -> TreeEntry:
    kind = fields.text(answer, "type")
    return TreeEntry(
        path=fields.text(answer, "path"),
        mode=fields.text(answer, "mode"),
        size=fields.number(answer, "size") if kind == "blob" else 0,
        sha=fields.text(answer, "sha"),
    )
