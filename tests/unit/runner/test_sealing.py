"""A sealed plan opens for its own request, source and digest, with a runner's key, and for nothing else."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.refusal import Code, Refused
from runner.sealing import SealingKeys, key_id
from runner.secret_bytes import SecretBytes

PLAN = b"plan bytes"
SHA = hashlib.sha256(PLAN).hexdigest()
SOURCE = "5" * 64


def keys(*, count: int = 1) -> list[SecretBytes]:
    return [SecretBytes(os.urandom(32)) for _ in range(count)]


@given(st.binary(max_size=4096), st.one_of(st.none(), st.just(SOURCE)))
def test_what_was_sealed_opens(plan: bytes, source: str | None) -> None:
    sealing = SealingKeys(keys())
    sha = hashlib.sha256(plan).hexdigest()
    sealed = sealing.seal(plan, request="r-1", source=source, plan_sha256=sha)
    assert len(sealed) == len(plan) + 40
    assert sealing.open(sealed, request="r-1", source=source, plan_sha256=sha) == plan


def test_the_same_plan_never_seals_alike() -> None:
    sealing = SealingKeys(keys())
    assert len({sealing.seal(PLAN, request="r", source=None, plan_sha256=SHA) for _ in range(50)}) == 50


@pytest.mark.parametrize(
    ("request_id", "source", "sha"), [("r-2", SOURCE, SHA), ("r-1", None, SHA), ("r-1", SOURCE, "0" * 64)]
)
def test_for_another_request_source_or_plan_it_does_not_open(
    request_id: str, source: str | None, sha: str
) -> None:
    sealing = SealingKeys(keys())
    sealed = sealing.seal(PLAN, request="r-1", source=SOURCE, plan_sha256=SHA)
    with pytest.raises(Refused) as refused:
        sealing.open(sealed, request=request_id, source=source, plan_sha256=sha)
    assert refused.value.refusal.code is Code.SEALED_PLAN


def test_any_altered_byte_is_noticed() -> None:
    sealing = SealingKeys(keys())
    sealed = sealing.seal(PLAN, request="r", source=None, plan_sha256=SHA)
    for at in range(len(sealed)):
        altered = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises(Refused):
            sealing.open(altered, request="r", source=None, plan_sha256=SHA)
    for cut in (b"", sealed[:20], sealed[:-1]):
        with pytest.raises(Refused):
            sealing.open(cut, request="r", source=None, plan_sha256=SHA)


def test_a_plan_that_is_not_the_shown_one_is_not_sealed() -> None:
    with pytest.raises(Refused) as refused:
        SealingKeys(keys()).seal(b"swapped", request="r", source=None, plan_sha256=SHA)
    assert refused.value.refusal.code is Code.PLAN_CHANGED


def test_rotation_opens_old_seals_and_uses_the_new_key() -> None:
    old, new = keys(count=2)
    sealed = SealingKeys([old]).seal(PLAN, request="r", source=None, plan_sha256=SHA)
    both = SealingKeys([new, old])
    assert both.open(sealed, request="r", source=None, plan_sha256=SHA) == PLAN
    assert both.seal(PLAN, request="r", source=None, plan_sha256=SHA)[4:12].hex() == key_id(new)
    with pytest.raises(Refused, match="does not hold"):
        SealingKeys([new]).open(sealed, request="r", source=None, plan_sha256=SHA)


def test_without_a_proper_key_there_is_no_sealing(tmp_path: Path) -> None:
    for bad in ([], [SecretBytes(b"short")], [SecretBytes(bytes(33))]):
        with pytest.raises(Refused) as refused:
            SealingKeys(bad)
        assert refused.value.refusal.code is Code.SEALING_KEY
    path = tmp_path / "sealing.key"
    path.write_bytes(bytes(32))
    path.chmod(0o644)
    with pytest.raises(Refused) as refused:
        SealingKeys.from_files([path])
    assert refused.value.refusal.code is Code.KEY_FILE
    path.chmod(0o600)
    SealingKeys.from_files([path])
