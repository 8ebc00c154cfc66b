"""No field of an approved manifest can change without a comparison noticing it.

The runner's comparisons and the approval decision share the work: what the runner can't compute itself
(who asked, why, when, the nonce) is bound by the digest of the committed manifest alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policy import manifest, record
from policy.manifest import Manifest
from policy.refusal import Code, Refused
from policy.runner_protocol import JobKind
from runner import comparison
from tests.unit.runner.examples import APPLY, ARGUMENTS, EXECUTION, NOW, SOURCE, a_job, a_manifest

APPROVED = a_manifest()
ONLY_BY_DIGEST = {
    "version",
    "requester",
    "reason",
    "nonce",
    "policy_sha256",
    "created_at",
    "expires_at",
    "plan",
    "repository.name",
}
"""Fields that the comparisons leave to the digest. The plan has comparisons of its own, with its bytes."""


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, (*path, name))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path


DOCUMENT: Any = record.to_json(APPROVED)
PATHS = list(leaves(DOCUMENT))


def changed(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy with another value, of the same type where that is possible, at one path."""
    if not path:
        match value:
            case None:
                return "0" * 64
            case bool():
                return not value
            case int():
                return value + 1
            case str() if len(value) in (40, 64) and set(value) <= set("0123456789abcdef"):
                return ("0" if value[0] != "0" else "1") + value[1:]
            case str():
                return f"{value}x"
            case _:
                return ["x"]
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:])
    return copy


def refusal_of(approved: Manifest) -> Code | None:
    job = a_job(kind=JobKind.EXECUTE, tool=APPLY.name, arguments=ARGUMENTS)
    repository = manifest.Repository(id=7, name="acme/infra")
    try:
        comparison.check_request(approved, job, repository=repository)
        comparison.check_tool(approved, APPLY, ARGUMENTS)
        comparison.check_time(approved, APPLY, now=NOW)
        comparison.required_approvals(approved, APPLY, ARGUMENTS)
        comparison.check_source(approved.source, SOURCE)
        comparison.check_execution(approved.execution, EXECUTION)
    except Refused as refused:
        return refused.refusal.code
    return None


def test_the_approved_manifest_itself_passes() -> None:
    assert refusal_of(APPROVED) is None


@given(st.sampled_from(PATHS))
def test_a_changed_field_is_refused_and_changes_the_digest(path: tuple[Any, ...]) -> None:
    try:
        other = manifest.parse(record.encode(changed(DOCUMENT, path)))
    except Refused:
        return
    assert manifest.digest(other) != manifest.digest(APPROVED)
    dotted = ".".join(map(str, path))
    if path[0] not in ONLY_BY_DIGEST and dotted not in ONLY_BY_DIGEST:
        assert refusal_of(other) is not None, dotted
