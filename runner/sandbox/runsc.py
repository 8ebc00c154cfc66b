"""The home on one machine: every step is a `runsc` of its own on this host.

As root the tool runs as user 65534 in control groups and a sized tmpfs where the host allows them. As
any other user it is `runsc --rootless`: the tool is user 0 inside, without capabilities, and that is the
runner's own user outside.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from policy.refusal import Code, Refusal
from runner.sandbox import (
    call_folder,
    image_folder,
    isolation,
    processes,
    untrusted_files,
)
from runner.sandbox.call_folder import CallFolder
from runner.sandbox.call_run import CallRun, Placement
from runner.sandbox.image_folder import ImageFolder
from runner.sandbox.interface import (
    NotIsolated,
    Proof,
    SandboxCall,
    SandboxOutcome,
    StillRunning,
)
from runner.sandbox.limits import control_groups, sized_folder
from runner.sandbox.limits.interface import Hold
from runner.sandbox.limits.memory_watch import MemoryWatch
from runner.sandbox.runsc_program import Container, RunscProgram

TOOL_USER = 65534
"""User and group of the tool when the runner is root: `nobody`."""

_RUNSC_STATE = ".runsc"
_GONE_SECONDS = 10.0


class RunscSandbox:
    """Implements `runner.sandbox.interface.Sandbox` with `runsc`. May be used from several threads."""

    def __init__(
        self,
        *,
        images: Path,
        scratch: Path,
        runsc: Path,
        proving_image: str = "tools",
        control_groups_allowed: bool = True,
    ) -> None:
        """Opens the sandbox's home.

        Args:
            images: folder of the built images.
            scratch: private folder on a tmpfs; made if it isn't there. Each runner has its own.
            runsc: the program.
            proving_image: the image that `check` tries to break out of; it must hold sh, bash, head
                and sleep.
            control_groups_allowed: False makes the runner watch memory itself where it need not.

        Raises:
            Refused: `program_missing`.
            NotIsolated: when scratch is not in memory, or others may enter it.
        """
        self._images_folder = images
        self._proving_image = proving_image
        self._scratch = scratch
        self._images: dict[str, ImageFolder] = {}
        self._images_lock = threading.Lock()
        _prepare_scratch(scratch)
        self.rootless = os.geteuid() != 0
        self.runsc = RunscProgram(runsc, state=scratch / _RUNSC_STATE, rootless=self.rootless)
        self._groups = control_groups.usable() if control_groups_allowed else None
        self._mounts = sized_folder.may_mount(scratch)
        self.user = 0 if self.rootless else TOOL_USER
        self._clear()

    def check(self) -> Proof:
        """See `Sandbox.check`; takes about two seconds."""
        return isolation.prove(self, self._proving_image)

    def enforcement(self) -> dict[str, str]:
        """For each limit, what enforces it here, in words."""
        group = f"control group, version {self._groups.version.number}" if self._groups else ""
        return {
            "memory": group or "watched by the runner",
            "cpu": group or "not limited: no control group may be made here",
            "processes": "resource limit inside the sandbox",
            "work": "a tmpfs of its size" if self._mounts else "watched by the runner",
            "time": "SIGTERM, grace, kill of the whole sandbox",
            "output": "kept while streaming: beginning and end",
        }

    def image_sha256(self, image: str) -> str:
        """See `Sandbox.image_sha256`."""
        return self._image(image).verify()

    def run(
        self, call: SandboxCall, *, started: Callable[[str], None], cancelled: threading.Event
    ) -> SandboxOutcome:
        """See `Sandbox.run`."""
        call_folder.check(call)
        image = self._image(call.image)
        digest = image.verify()
        if call.state is not None:
            _check_state(call)
            call_folder.give(call.state.folder, self.user)
        folder = CallFolder(self._scratch, call.id)
        folder.make(call, owner=self.user, mount=self._mounts)
        try:
            outcome = CallRun(self._placement(call, image, digest, folder), call).run(started, cancelled)
        except StillRunning:
            # Its folder stays, so that `alive` names it and `destroy` can try again.
            raise
        except BaseException:
            folder.remove()
            raise
        folder.remove()
        return outcome

    def alive(self) -> frozenset[str]:
        """See `Sandbox.alive`."""
        known = {
            container.id.rpartition(".")[0]
            for container in self.runsc.containers()
            if container.status != "stopped"
        }
        present = call_folder.call_ids(self._scratch)
        return frozenset(known) | frozenset(call_id for call_id in present if self._processes_of(call_id))

    def destroy(self, call_id: str) -> None:
        """See `Sandbox.destroy`."""
        folder = CallFolder(self._scratch, call_id)
        members = set(self._processes_of(call_id))
        for container in self._containers_of(call_id):
            members |= processes.family(container.pid)
        for member in members:
            member.kill()
        left = processes.wait_gone(members, seconds=_GONE_SECONDS) | self._processes_of(call_id)
        if left:
            raise StillRunning(call_id, f"processes {sorted(process.pid for process in left)} do not end")
        for container in self._containers_of(call_id):
            self.runsc.delete(container.id)
        if self._containers_of(call_id):
            raise StillRunning(call_id, "runsc still knows its sandbox")
        if self._groups is not None:
            self._groups.remove(f"{call_id}.")
        if folder.path.exists():
            folder.remove()

    def _placement(self, call: SandboxCall, image: ImageFolder, digest: str, folder: CallFolder) -> Placement:
        return Placement(
            runsc=self.runsc,
            user=self.user,
            image=image,
            image_sha256=digest,
            folder=folder,
            hold=lambda container: self._hold(container, call, folder),
            watch=lambda: self._watch(call, folder),
        )

    def _hold(self, container: str, call: SandboxCall, folder: CallFolder) -> Hold:
        """What holds one sandbox to its limits on this host."""
        if self._groups is not None:
            return self._groups.hold(container, call.limits)
        return MemoryWatch(call.limits, folder.work)

    def _watch(self, call: SandboxCall, folder: CallFolder) -> str | None:
        """Looks at the work folder's size, where no mount holds it."""
        if not self._mounts and untrusted_files.size_of(folder.work) > call.limits.work_bytes:
            return f"its work folder grew beyond {call.limits.work_bytes} bytes"
        return None

    def _clear(self) -> None:
        """Removes what calls of an earlier runner left that are over: their folders hold credentials."""
        for call_id in call_folder.call_ids(self._scratch):
            if not self._processes_of(call_id) and not self._containers_of(call_id):
                self.destroy(call_id)

    def _containers_of(self, call_id: str) -> tuple[Container, ...]:
        known = self.runsc.containers()
        return tuple(container for container in known if container.id.rpartition(".")[0] == call_id)

    def _processes_of(self, call_id: str) -> frozenset[processes.Process]:
        """Host processes of a call: the recorded first ones with their children, and its groups'."""
        found: set[processes.Process] = set()
        for process in CallFolder(self._scratch, call_id).recorded_processes():
            if process.runs():
                found |= processes.family(process.pid)
        if self._groups is not None:
            members = map(processes.identify, self._groups.processes(f"{call_id}."))
            found |= {member for member in members if member is not None}
        return frozenset(found)

    def _image(self, name: str) -> ImageFolder:
        with self._images_lock:
            if name not in self._images:
                if not image_folder.is_name(name):
                    raise call_folder.invalid(f"the image {name[:80]!r} has no proper name")
                self._images[name] = ImageFolder(self._images_folder / name)
            return self._images[name]


def _prepare_scratch(scratch: Path) -> None:
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = scratch.stat()
    if found.st_mode & 0o077 or found.st_uid != os.geteuid():
        raise NotIsolated(
            Refusal(
                code=Code.SANDBOX_NOT_ISOLATED,
                what=f"the scratch folder {scratch}: others may enter it",
                rule="Work and credentials of a call are for the runner's user alone.",
                remedy=f"Run: chown {os.geteuid()} {scratch} && chmod 0700 {scratch}",
            )
        )
    if not sized_folder.is_in_memory(scratch):
        raise NotIsolated(
            Refusal(
                code=Code.SANDBOX_NOT_ISOLATED,
                what=f"the scratch folder {scratch}: it is on a disk",
                rule="Credentials and plans must never touch a disk.",
                remedy="Choose a folder on a tmpfs, for example below /dev/shm or /run.",
            )
        )
    (scratch / _RUNSC_STATE).mkdir(mode=0o700, exist_ok=True)


def _check_state(call: SandboxCall) -> None:
    if call.state is not None and (call.state.folder.is_symlink() or not call.state.folder.is_dir()):
        raise call_folder.invalid(f"the state folder {call.state.folder} is not a folder")
