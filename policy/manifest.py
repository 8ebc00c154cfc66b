"""The manifest: one complete request, and the digest that an approval is bound to.

Whatever could change what happens is in here: the tool's whole declaration (by digest), arguments,
source, plan, image, argv, environment, target, requester and expiry. Every key is always present,
null where the tool's kind has nothing to say:

| key | null when |
|---|---|
| `source` | the tool has no source |
| `plan` | the tool has no preview (the rendering then says NO PREVIEW) |
| `plan.state` | the plan is not Terraform's, or there is no state yet |
| `plan.objects` | the plan is not Kubernetes' |
| `target.cluster_uid`, `target.backend` | the target has no cluster, no state |
| `execution.providers_lock` | the source has no dependency lock file |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, JsonValue, StringConstraints

from policy import canonical, record
from policy.record import CommitId, Digest, Moment
from policy.refusal import Code

VERSION = 1

RequestId = Annotated[str, StringConstraints(pattern=r"^og-[0-9a-z]{26}$")]
"""Id of a request: `og-` and 26 characters of Crockford's base 32, 130 bits of them random."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """Who asks: the agent's name as it gave it, and the person whose token it carries."""

    __pydantic_config__ = record.STRICT

    agent: str
    person_id: int
    login: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The repository whose code owners decide; its numeric id is what counts."""

    __pydantic_config__ = record.STRICT

    id: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The base branch and its commit when the plan was made."""

    __pydantic_config__ = record.STRICT

    ref: str
    sha: CommitId


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the tool acts."""

    __pydantic_config__ = record.STRICT

    name: str
    runner_pool: str
    cluster_uid: str | None
    vault_mount: str
    backend: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file of the source: repository path, SHA-256 of its bytes, size in bytes."""

    __pydantic_config__ = record.STRICT

    path: str
    sha256: Digest
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The source that runs: its path, the digest over all its files, the files."""

    __pydantic_config__ = record.STRICT

    path: str
    sha256: Digest
    files: tuple[SourceFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TerraformState:
    """The state that the plan was made on."""

    __pydantic_config__ = record.STRICT

    lineage: str
    serial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedObject:
    """A Kubernetes object that the plan was made on: its uid, generation, digest before."""

    __pydantic_config__ = record.STRICT

    uid: str
    generation: int
    before_sha256: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan: digest of its bytes, digest of its masked JSON, counts, what it was made on."""

    __pydantic_config__ = record.STRICT

    kind: str
    sha256: Digest
    masked_json_sha256: Digest
    summary: Mapping[str, int]
    state: TerraformState | None
    objects: tuple[PlannedObject, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One process: exact argv, working folder, whole environment, network, whether it gets the lease."""

    __pydantic_config__ = record.STRICT

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    network: str
    lease: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What the sandbox runs: image by digest, steps, time limit and grace in seconds, lock file digest."""

    __pydantic_config__ = record.STRICT

    image: str
    image_sha256: Digest
    steps: tuple[Step, ...]
    timeout_seconds: int
    grace_seconds: int
    providers_lock: Digest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One request, whole. See the module's text for what is null when."""

    __pydantic_config__ = record.STRICT

    version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    id: RequestId
    tool: str
    tool_digest: Digest
    arguments: Mapping[str, JsonValue]
    requester: Requester
    reason: str
    repository: Repository
    base: Base
    owned: tuple[str, ...]
    target: Target
    source: Source | None
    plan: Plan | None
    execution: Execution
    policy_sha256: Digest
    approvals_required: int
    created_at: Moment
    expires_at: Moment
    nonce: Digest


def parse(data: bytes | str) -> Manifest:
    """Reads a manifest strictly.

    Raises:
        Refused: `json_invalid` or `manifest_invalid`.
    """
    return record.read(Manifest, data, what="the manifest", code=Code.MANIFEST_INVALID)


def encode(manifest: Manifest) -> bytes:
    """The manifest's RFC 8785 bytes: what is hashed, and what is committed to the pull request."""
    return record.encode(manifest)


def digest(manifest: Manifest) -> str:
    """SHA-256 of `encode(manifest)`, lower-case hexadecimal: the digest that people approve."""
    return canonical.sha256_bytes(encode(manifest))
