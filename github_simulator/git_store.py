"""One real bare git repository: objects, refs, diffs and merges, made by the git command.

Objects never change, so what was read once is kept. Reading goes through one long-lived
``git cat-file --batch``; everything else is a short git process of two or three milliseconds.
"""

import os
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ZERO = "0" * 40
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C.UTF-8",
}


class GitError(Exception):
    """A git command failed; the text is git's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """An author or committer line."""

    name: str
    email: str
    date: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit as git stores it."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """One line of a tree; ``kind`` is blob, tree or commit."""

    mode: str
    kind: str
    sha: str
    path: str
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """The outcome of merging two commits: a tree, or the paths in conflict."""

    tree: str | None
    conflicts: tuple[str, ...] = ()


def _person(line: str) -> Person:
    name, _, rest = line.partition(" <")
    email, _, moment = rest.rpartition("> ")
    return Person(name=name, email=email, date=datetime.fromtimestamp(int(moment.split()[0]), UTC))


class GitStore:
    """A bare repository on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._batch: subprocess.Popen[bytes] | None = None
        self._objects: dict[str, tuple[str, bytes]] = {}
        self._commits: dict[str, Commit] = {}
        self._trees: dict[tuple[str, bool], tuple[TreeEntry, ...]] = {}
        self._bases: dict[tuple[str, str], str | None] = {}
        self._merges: dict[tuple[str, str], Merge] = {}
        self._logs: dict[tuple[str, tuple[str, ...], str | None, int], tuple[str, ...]] = {}

    @classmethod
    def create(cls, path: Path) -> "GitStore":
        """Make an empty bare repository whose pull request refs nobody can push to."""
        store = cls(path)
        subprocess.run(
            ["git", "init", "--quiet", "--bare", "--initial-branch=main", "--template=", str(path)],
            env=ENVIRONMENT,
            check=True,
            capture_output=True,
        )
        with (path / "config").open("a", encoding="utf-8") as config:
            config.write("[receive]\n\thideRefs = refs/pull\n\tadvertisePushOptions = false\n")
            config.write("[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n")
            config.write("[gc]\n\tauto = 0\n")
        return store

    @classmethod
    def fork(cls, path: Path, origin: "GitStore") -> "GitStore":
        """Copy all objects of another store; its refs are not copied."""
        store = cls.create(path)
        shutil.copytree(origin.path / "objects", path / "objects", dirs_exist_ok=True)
        return store

    def close(self) -> None:
        """End the reading process."""
        with self._lock:
            if self._batch is not None:
                if self._batch.stdin is not None:
                    self._batch.stdin.close()
                if self._batch.stdout is not None:
                    self._batch.stdout.close()
                self._batch.wait(timeout=5)
                self._batch = None

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        environment: dict[str, str] | None = None,
        accept: tuple[int, ...] = (0,),
    ) -> tuple[int, bytes]:
        """Run git here and return its exit code and output.

        Raises GitError when the exit code is not one of ``accept``.
        """
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            input=stdin,
            env=ENVIRONMENT | {"GIT_DIR": str(self.path)} | (environment or {}),
            capture_output=True,
            check=False,
        )
        if done.returncode not in accept:
            raise GitError(
                done.stderr.decode(errors="replace").strip() or f"git {arguments[0]}: {done.returncode}"
            )
        return done.returncode, done.stdout

    # Reading

    def read(self, name: str) -> tuple[str, str, bytes] | None:
        """SHA, kind and bytes of an object by SHA or any git name; None when there is none."""
        if name in self._objects:
            kind, content = self._objects[name]
            return name, kind, content
        if "\n" in name or not name:
            return None
        with self._lock:
            if self._batch is None:
                self._batch = subprocess.Popen(
                    ["git", "cat-file", "--batch"],
                    cwd=self.path,
                    env=ENVIRONMENT | {"GIT_DIR": str(self.path)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            pipe_in, pipe_out = self._batch.stdin, self._batch.stdout
            if pipe_in is None or pipe_out is None:
                raise GitError("git cat-file has no pipes")
            pipe_in.write(name.encode() + b"\n")
            pipe_in.flush()
            head = pipe_out.readline().decode(errors="replace").rstrip("\n")
            if head.endswith((" missing", " ambiguous")):
                return None
            sha, kind, size = head.split()
            content = pipe_out.read(int(size))
            pipe_out.read(1)
        if len(content) <= 1 << 20:
            self._objects[sha] = (kind, content)
        return sha, kind, content

    def commit(self, sha: str) -> Commit | None:
        """A commit by its full SHA, or None."""
        known = self._commits.get(sha)
        if known is not None:
            return known
        found = self.read(sha) if len(sha) == 40 else None
        if found is None or found[1] != "commit":
            return None
        text = found[2].decode(errors="replace")
        header, _, message = text.partition("\n\n")
        fields: dict[str, list[str]] = {}
        for line in header.split("\n"):
            key, _, value = line.partition(" ")
            fields.setdefault(key, []).append(value)
        commit = Commit(
            sha=sha,
            tree=fields["tree"][0],
            parents=tuple(fields.get("parent", ())),
            author=_person(fields["author"][0]),
            committer=_person(fields["committer"][0]),
            message=message.removesuffix("\n"),
        )
        self._commits[sha] = commit
        return commit

    def tree(self, sha: str, *, recursive: bool = False) -> tuple[TreeEntry, ...] | None:
        """The entries of a tree (or of a commit's tree), or None when there is no such tree."""
        known = self._trees.get((sha, recursive))
        if known is not None:
            return known
        code, out = self.run(
            "ls-tree", "-z", "-l", *(("-r", "-t") if recursive else ()), sha, accept=(0, 128)
        )
        if code:
            return None
        entries = []
        for line in out.decode(errors="surrogateescape").split("\0"):
            if line:
                meta, _, path = line.partition("\t")
                mode, kind, entry_sha, size = meta.split()
                entries.append(
                    TreeEntry(
                        mode=mode,
                        kind=kind,
                        sha=entry_sha,
                        path=path,
                        size=int(size) if size.isdigit() else None,
                    )
                )
        self._trees[sha, recursive] = tuple(entries)
        return self._trees[sha, recursive]

    def file(self, commit: str, path: str) -> bytes | None:
        """A file's bytes at a commit, or None when the path is no file there."""
        found = self.read(f"{commit}:{path}")
        return found[2] if found is not None and found[1] == "blob" else None

    def log(
        self, include: str, exclude: tuple[str, ...] = (), path: str | None = None, limit: int = 10_000
    ) -> tuple[str, ...]:
        """SHAs reachable from one commit and not from others, newest first, parents after children."""
        key = (include, exclude, path, limit)
        if key not in self._logs:
            arguments = ["rev-list", "--topo-order", f"--max-count={limit}"]
            arguments += [include, *(f"^{sha}" for sha in exclude)]
            if path:
                arguments += ["--", path]
            _, out = self.run(*arguments)
            self._logs[key] = tuple(out.decode().split())
        return self._logs[key]

    def merge_base(self, one: str, other: str) -> str | None:
        """The best common ancestor, or None for unrelated histories."""
        key = (one, other)
        if key not in self._bases:
            code, out = self.run("merge-base", one, other, accept=(0, 1))
            self._bases[key] = out.decode().strip() if code == 0 else None
        return self._bases[key]

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether ``newer`` contains ``older``."""
        return older == newer or self.merge_base(older, newer) == older

    # Writing

    def write_blob(self, content: bytes) -> str:
        _, out = self.run("hash-object", "-w", "--stdin", stdin=content)
        return out.decode().strip()

    def write_tree(self, base: str | None, changes: dict[str, tuple[str, str] | None]) -> str:
        """A tree made of a base tree and changes: path to mode and SHA, or to None to delete it.

        Raises GitError for a path that git refuses or an object that is missing.
        """
        with tempfile.TemporaryDirectory(prefix="index-") as folder:
            environment = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            if base is not None:
                self.run("read-tree", base, environment=environment)
            lines = bytearray()
            for path, change in changes.items():
                mode, sha = change if change is not None else ("0", ZERO)
                if mode == "040000":
                    for entry in self.tree(sha, recursive=True) or ():
                        if entry.kind != "tree":
                            lines += f"{entry.mode} {entry.sha}\t{path}/{entry.path}\0".encode()
                else:
                    lines += f"{mode} {sha}\t{path}\0".encode()
            self.run("update-index", "-z", "--index-info", stdin=bytes(lines), environment=environment)
            _, out = self.run("write-tree", environment=environment)
        return out.decode().strip()

    def write_commit(
        self, *, tree: str, parents: tuple[str, ...], message: str, author: Person, committer: Person
    ) -> str:
        """Store a commit. Raises GitError when the tree or a parent is missing."""
        environment = {
            "GIT_AUTHOR_NAME": author.name,
            "GIT_AUTHOR_EMAIL": author.email,
            "GIT_AUTHOR_DATE": f"{int(author.date.timestamp())} +0000",
            "GIT_COMMITTER_NAME": committer.name,
            "GIT_COMMITTER_EMAIL": committer.email,
            "GIT_COMMITTER_DATE": f"{int(committer.date.timestamp())} +0000",
        }
        arguments = [argument for parent in parents for argument in ("-p", parent)]
        _, out = self.run("commit-tree", tree, *arguments, stdin=message.encode(), environment=environment)
        return out.decode().strip()

    def set_ref(self, ref: str, sha: str | None) -> None:
        """Point a full ref name at a SHA, or delete it."""
        if sha is None:
            self.run("update-ref", "-d", ref)
        else:
            self.run("update-ref", ref, sha)

    def refs(self) -> dict[str, str]:
        """All refs as git has them now."""
        _, out = self.run("for-each-ref", "--format=%(refname) %(objectname)")
        return dict(line.split(" ") for line in out.decode().splitlines())

    def valid_ref(self, ref: str) -> bool:
        """Whether git accepts the name (git-check-ref-format)."""
        return self.run("check-ref-format", ref, accept=(0, 1))[0] == 0

    def fetch(self, other: "GitStore", sha: str, ref: str) -> None:
        """Bring a commit of another store here under a ref."""
        self.run("fetch", "--quiet", "--no-tags", str(other.path), f"+{sha}:{ref}")

    def merge(self, ours: str, theirs: str) -> Merge:
        """Merge two commits without touching any ref."""
        key = (ours, theirs)
        if key not in self._merges:
            code, out = self.run(
                "merge-tree", "--write-tree", "--name-only", "-z", ours, theirs, accept=(0, 1, 128)
            )
            parts = out.decode(errors="replace").split("\0")
            if code == 0:
                self._merges[key] = Merge(tree=parts[0].strip())
            else:
                paths = parts[1 : parts.index("", 1)] if "" in parts[1:] else parts[1:]
                self._merges[key] = Merge(tree=None, conflicts=tuple(paths))
        return self._merges[key]

    def archive(self, commit: str, prefix: str) -> bytes:
        """A gzipped tar of a commit's files."""
        _, out = self.run("archive", "--format=tar.gz", f"--prefix={prefix}/", commit)
        return out
