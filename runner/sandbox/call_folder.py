"""The folder of one call on the host: its work, its credential, its bundles, and who runs in it.

It stands on a tmpfs, so that neither a credential nor a plan ever touches a disk. Everything in `work`
was written by untrusted code once a step has run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from policy.canonical import Json
from policy.refusal import Code, Refused, refuse
from runner.sandbox import processes, untrusted_files
from runner.sandbox.interface import SandboxCall, TakeOut
from runner.sandbox.limits import sized_folder
from runner.secret_bytes import SecretBytes

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FORBIDDEN_VARIABLES = re.compile(
    r"LD_.*|GLIBC_.*|PATH|ENV|BASH_ENV|BASH_FUNC.*|IFS|PS4|SHELLOPTS|.*[=\0].*|"
)
_PROCESS = "process."


class CallFolder:
    """One call's folder below the scratch folder."""

    def __init__(self, scratch: Path, call_id: str) -> None:
        """Names the folder; nothing is made yet.

        Raises:
            Refused: `sandbox_call_invalid`, for an id that is not one.
        """
        if not _ID.fullmatch(call_id):
            raise invalid(f"the id {call_id[:80]!r} is not up to 64 letters, digits, '_' and '-'")
        self.path = scratch / call_id
        self.work = self.path / "work"
        self.credential = self.path / "credential"

    def make(self, call: SandboxCall, *, owner: int, mount: bool) -> None:
        """Makes the folder with the call's files in it.

        Args:
            call: what to put in.
            owner: user and group id that the tool has on the host.
            mount: whether the work folder is a tmpfs of its own.

        Raises:
            Refused: `sandbox_call_invalid`, when the folder is there already or the files are larger
                than the work folder.
        """
        if sum(map(len, call.files.values())) > call.limits.work_bytes:
            raise invalid(f"its files are larger than the work folder's {call.limits.work_bytes} bytes")
        try:
            self.path.mkdir(mode=0o700)
        except FileExistsError:
            raise invalid(f"a call with the id {call.id} is there already") from None
        self.work.mkdir(mode=0o700)
        if mount:
            sized_folder.mount(self.work, size_bytes=call.limits.work_bytes)
        try:
            _write(self.work, call.files, owner)
        except OSError as error:
            raise invalid(f"its files don't fit into the work folder ({error.strerror})") from None
        if call.credential is not None:
            self.credential.mkdir(mode=0o700)
            _write_secrets(self.credential, call.credential, owner)

    def bundle(self, number: int, config: Json) -> Path:
        """Writes the bundle of a step and returns its folder."""
        folder = self.path / f"bundle.{number}"
        folder.mkdir(mode=0o700)
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return folder

    def process_file(self, number: int) -> Path:
        """Where the first host process of a step writes down who it is, before it becomes the sandbox."""
        return self.path / f"{_PROCESS}{number}"

    def recorded_processes(self) -> frozenset[processes.Process]:
        """The first host processes of all steps that were started, still there or not."""
        found: set[processes.Process] = set()
        for file in self.path.glob(f"{_PROCESS}*"):
            process = processes.parse_stat(file.read_text(encoding="utf-8", errors="replace"))
            if process is not None:
                found.add(process)
        return frozenset(found)

    def drop_credential(self) -> None:
        """Removes the lease's files; the last step that may see them is over."""
        shutil.rmtree(self.credential, ignore_errors=True)

    def take_out(self, wanted: tuple[TakeOut, ...]) -> Mapping[str, bytes]:
        """Reads the files that the tool left, safely; what is not a plain file is left out."""
        found: dict[str, bytes] = {}
        for file in wanted:
            try:
                found[file.path] = untrusted_files.read(self.work, file.path, max_bytes=file.max_bytes)
            except untrusted_files.NotAPlainFile:
                continue
        return found

    def remove(self) -> None:
        """Removes the folder and its mount; nothing of the call may run any more."""
        sized_folder.unmount(self.work)
        # rmtree follows no link below the folder: it works by descriptor.
        shutil.rmtree(self.path, onerror=_open_and_retry)


def call_ids(scratch: Path) -> frozenset[str]:
    """Ids of the calls that have a folder."""
    return frozenset(path.name for path in scratch.iterdir() if path.is_dir() and _ID.fullmatch(path.name))


def check(call: SandboxCall) -> None:
    """Refuses a call that can't be carried out as it is written.

    Raises:
        Refused: `sandbox_call_invalid`.
    """
    for fault in _faults(call):
        raise invalid(fault)


def invalid(why: str) -> Refused:
    """The refusal of a call."""
    return refuse(
        Code.SANDBOX_CALL_INVALID,
        f"a sandbox call: {why}",
        rule="A sandbox does exactly what it is told, and only what can be told exactly.",
        remedy="Correct the call.",
    )


def _faults(call: SandboxCall) -> Iterator[str]:
    if not call.steps:
        yield "it has no step"
    for step in call.steps:
        if not step.argv or not step.argv[0] or step.argv[0].startswith("-"):
            yield "a step names no program"
        if any("\0" in argument for argument in step.argv):
            yield "an argument holds a NUL"
        if not step.cwd.startswith("/") or ".." in step.cwd.split("/") or "\0" in step.cwd:
            yield f"the folder {step.cwd[:80]!r} is not absolute"
        for name, value in step.environment.items():
            if _FORBIDDEN_VARIABLES.fullmatch(name) or "\0" in value:
                yield f"the variable {name[:80]!r} may not be set"
        if step.credential and call.credential is None:
            yield "a step asks for a credential and there is none"
    for path in (*call.files, *(file.path for file in call.take_out), *(call.credential or ())):
        try:
            untrusted_files.parts_of(path)
        except ValueError:
            yield f"{path[:80]!r} is not a plain path below its folder"
    for name in call.credential or ():
        if "/" in name:
            yield f"the credential file {name[:80]!r} is in a folder"


def _write(folder: Path, files: Mapping[str, bytes], owner: int) -> None:
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o644)
    give(folder, owner)


def _write_secrets(folder: Path, files: Mapping[str, SecretBytes], owner: int) -> None:
    for name, secret in files.items():
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secret.reveal())
    folder.chmod(0o500)
    give(folder, owner)


def give(folder: Path, owner: int) -> None:
    """Makes a user the owner of a folder and all that is in it; links themselves, never what they name.

    A user other than root runs the sandbox as itself and owns everything already.
    """
    if os.geteuid() != 0:
        return
    for _, names, files, descriptor in os.fwalk(folder, follow_symlinks=False):
        os.fchown(descriptor, owner, owner)
        for name in (*names, *files):
            os.chown(name, owner, owner, dir_fd=descriptor, follow_symlinks=False)


def _open_and_retry(function: object, path: str, failure: object) -> None:
    """A tool may have taken its folders' rights away; they are ours, so they are put back."""
    place = Path(path)
    if place.is_symlink() or not place.parent.exists():
        return
    place.parent.chmod(0o700)
    if place.is_dir():
        place.chmod(0o700)
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
