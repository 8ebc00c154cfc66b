"""Terraform states on this machine: a folder for each module, what it was made on, which providers it names.

The file is written by what runs in sandboxes, so it is read like anything hostile: no links, a size
limit, and nothing of it decides but its lineage, its serial and its providers' names.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from policy.manifest import TerraformState
from policy.refusal import Code, Refused, refuse
from runner import durable_files
from runner.sandbox import untrusted_files
from runner.terraform_module import STATE_FILE

LARGEST_STATE = 64 * 1024 * 1024
"""Bytes of a state file that is still read."""

_PROVIDER = re.compile(r'(?:.*\.)?provider\["([^"]+)"\](?:\.[A-Za-z0-9_-]+)?')


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSeen:
    """One state as it is now.

    Attributes:
        made_on: lineage and serial; None when there is no state yet.
        providers: full addresses of the providers that it names.
    """

    made_on: TerraformState | None
    providers: frozenset[str]


class StateFolders:
    """The states of one runner, below one folder."""

    def __init__(self, root: Path) -> None:
        durable_files.private_folder(root)
        self._root = root
        self._writers: set[Path] = set()
        self._lock = threading.Lock()

    def folder(self, target: str, source: str | None) -> Path:
        """The folder of one module's state, made if it isn't there.

        Modules don't stand inside each other here, because a sandbox sees its whole folder.
        """
        folder = self._root / target / quote(source or "-", safe="")
        durable_files.private_folder(folder)
        return folder

    @contextmanager
    def writing(self, folder: Path) -> Iterator[None]:
        """Holds the right to write one state; there is one writer at a time on this runner.

        Raises:
            Refused: `state_busy`.
        """
        with self._lock:
            if folder in self._writers:
                raise refuse(
                    Code.STATE_BUSY,
                    "another execution works on this state now",
                    rule="One execution at a time works on a state.",
                    remedy="Wait for the other request to end, then ask for a replan.",
                )
            self._writers.add(folder)
        try:
            yield
        finally:
            with self._lock:
                self._writers.discard(folder)


def see(folder: Path) -> StateSeen:
    """Reads a state.

    Raises:
        Refused: `state_invalid`, when there is a file that is not a Terraform state of version 4.
    """
    data = _content(folder)
    if not data:
        return StateSeen(made_on=None, providers=frozenset())
    try:
        state = json.loads(data)
        version, lineage, serial = state["version"], state["lineage"], state["serial"]
        names = {resource["provider"] for resource in state["resources"]}
        providers = frozenset(_provider(str(name)) for name in names)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _invalid("it is not a Terraform state") from None
    if version != 4 or not isinstance(lineage, str) or not lineage or type(serial) is not int or serial < 0:
        raise _invalid("it is not a Terraform state of version 4")
    return StateSeen(made_on=TerraformState(lineage=lineage, serial=serial), providers=providers)


def check_providers(seen: StateSeen, allowed: Collection[str]) -> None:
    """Refuses a state that names a provider outside the allow-list: Terraform would run that provider.

    Raises:
        Refused: `plan_provider`.
    """
    foreign = sorted(seen.providers - set(allowed))
    if foreign:
        raise refuse(
            Code.PLAN_PROVIDER,
            f"the state names the provider {foreign[0]}",
            rule="Only providers that the target lists may run, those named by the state included.",
            remedy="List it in the target's providers, or remove its resources from the state.",
        )


def _provider(name: str) -> str:
    match = _PROVIDER.fullmatch(name)
    if match is None:
        raise _invalid(f"it names a provider in an unknown form ({name[:80]})")
    return match[1]


def _content(folder: Path) -> bytes:
    if not os.path.lexists(folder / STATE_FILE):
        return b""
    try:
        return untrusted_files.read(folder, STATE_FILE, max_bytes=LARGEST_STATE)
    except untrusted_files.NotAPlainFile as found:
        raise _invalid(str(found)) from None


def _invalid(why: str) -> Refused:
    return refuse(
        Code.STATE_INVALID,
        f"the Terraform state: {why}",
        rule="Nothing is planned or done on a state that can't be read.",
        remedy="Look at the state in the runner's state folder; restore it from a backup if needed.",
    )
