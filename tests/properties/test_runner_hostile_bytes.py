"""Bytes that a sandbox wrote end in a refusal, never in a fault of the runner."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policy.receipt import AuditTip
from policy.refusal import Refused
from runner import chain_watch, plan_file, terraform_module, terraform_state

JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
STATES: Any = st.fixed_dictionaries(
    {},
    optional={
        "version": st.just(4) | JSON,
        "serial": st.integers(0, 9) | JSON,
        "lineage": st.text() | JSON,
        "resources": st.lists(st.fixed_dictionaries({"provider": st.text() | JSON}) | JSON, max_size=3),
    },
)


def zipped(parts: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


@given(st.binary() | st.binary(max_size=300).map(lambda plan: zipped({"tfplan": plan})))
def test_a_plan_file_of_any_bytes_is_refused(plan: bytes) -> None:
    try:
        plan_file.check(plan, configuration=())
    except Refused:
        return
    raise AssertionError("only a plan on the policy's state may pass")


WHOLE = zipped({"tfplan": bytes(range(200)) * 3, "tfconfig/m-/main.tf": b"a" * 500})


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_an_archive_with_one_wrong_byte_is_refused(position: int, change: int) -> None:
    plan = bytearray(WHOLE)
    plan[position] ^= change
    try:
        plan_file.check(bytes(plan), configuration=(b"a" * 500,))
    except Refused:
        return
    raise AssertionError("it names no backend, so it may not pass")


@settings(max_examples=60)
@given(st.binary() | STATES.map(lambda state: json.dumps(state).encode()))
def test_a_state_of_any_bytes_is_read_or_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "terraform.tfstate").write_bytes(content)
        try:
            seen = terraform_state.see(Path(folder))
        except Refused:
            return
    assert (seen.made_on is None) == (not content)


@given(st.binary() | JSON.map(lambda value: json.dumps({"backend": value}).encode()))
def test_a_backend_record_of_any_bytes_is_refused(content: bytes) -> None:
    try:
        terraform_module.check_backend(content)
    except Refused:
        return
    raise AssertionError("only the policy's backend may pass")


TIPS = st.builds(AuditTip, sequence=st.integers(1, 6), hash=st.sampled_from(["a" * 64, "b" * 64]))


@settings(max_examples=60)
@given(st.lists(st.tuples(TIPS, st.none() | TIPS), max_size=6))
def test_the_remembered_tip_never_goes_back(polls: list[tuple[AuditTip, AuditTip | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        watch = chain_watch.ChainWatch(Path(folder))
        for now, at_asked in polls:
            before = watch.remembered
            try:
                watch.check_poll(before, now, at_asked)
            except chain_watch.WentBack:
                assert watch.remembered == before
                continue
            after = watch.remembered
            assert after is not None
            assert before is None or (after.sequence >= before.sequence and at_asked == before)
            assert chain_watch.ChainWatch(Path(folder)).remembered == after
