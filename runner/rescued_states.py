"""States that Terraform could not store: sealed and kept, so that what an apply did is not forgotten.

When an apply can't write its state back it leaves `errored.tfstate`. Without that file nobody knows what
exists. It can hold secrets, so it is sealed like a saved plan, and stays on the runner's disk until its
operator has put it back.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from policy import canonical
from runner import durable_files
from runner.sealing import SealingKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescued:
    """One kept state: its file, the digest of its content, its size in bytes."""

    path: Path
    sha256: str
    size: int


def keep(folder: Path, sealing: SealingKeys, *, request: str, state: bytes) -> Rescued:
    """Seals a state and puts it on the disk.

    Raises:
        OSError: when the disk refuses.
    """
    durable_files.private_folder(folder)
    digest = canonical.sha256_bytes(state)
    sealed = sealing.seal(state, request=request, source=None, plan_sha256=digest)
    path = folder / f"{request}.{digest}.sealed"
    durable_files.replace(path, sealed)
    return Rescued(path=path, sha256=digest, size=len(state))


def read(path: Path, sealing: SealingKeys) -> bytes:
    """The content of a kept state, for the operator who puts it back.

    Raises:
        Refused: `sealed_plan`, for a file that this runner did not seal under that name.
    """
    request, digest, _ = path.name.rsplit(".", 2)
    return sealing.open(path.read_bytes(), request=request, source=None, plan_sha256=digest)
