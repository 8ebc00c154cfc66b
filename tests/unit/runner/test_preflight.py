"""What is looked at before a job is begun."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from policy.refusal import Code, Refused
from runner import preflight
from tests.unit.runner.examples import NOW, POLICY, a_job


def check(**changes: Any) -> Code | None:
    try:
        preflight.check(a_job(**changes), policy=POLICY, pool="demo", now=NOW)
    except Refused as refused:
        return refused.refusal.code
    return None


def test_a_job_that_belongs_here() -> None:
    assert check() is None


@pytest.mark.parametrize("seconds", [-30, 30])
def test_clocks_may_differ_a_little(seconds: int) -> None:
    assert check(at=NOW + timedelta(seconds=seconds)) is None


@pytest.mark.parametrize(("seconds", "words"), [(-31, "31 seconds ahead"), (31, "31 seconds behind")])
def test_a_clock_that_moved(seconds: int, words: str) -> None:
    with pytest.raises(Refused, match=words) as raised:
        preflight.check(a_job(at=NOW + timedelta(seconds=seconds)), policy=POLICY, pool="demo", now=NOW)
    assert raised.value.refusal.code is Code.CLOCK_DIFFERS


def test_what_does_not_belong_here() -> None:
    assert check(policy_sha256="0" * 64) is Code.POLICY_DIFFERS
    assert check(tool_digest="0" * 64) is Code.TOOL_DIFFERS
    assert check(tool="elsewhere") is Code.TARGET_DIFFERS


def test_a_tool_that_nobody_declared() -> None:
    job = a_job()
    fields = {name: getattr(job, name) for name in type(job).__dataclass_fields__}
    with pytest.raises(Refused) as raised:
        preflight.check(type(job)(**{**fields, "tool": "reprot"}), policy=POLICY, pool="demo", now=NOW)
    assert raised.value.refusal.code is Code.TOOL_UNKNOWN
    assert "Did you mean report?" in raised.value.refusal.remedy


@pytest.mark.parametrize("given", [{"text": "a", "more": "b"}, {"text": 1}, {"text": "-x"}, {}])
def test_arguments_are_validated_again(given: dict[str, Any]) -> None:
    with pytest.raises(Refused) as raised:
        preflight.validated(POLICY.tool("echo"), given)
    assert raised.value.refusal.code is Code.ARGUMENTS_INVALID


def test_the_longest_argument_passes() -> None:
    assert preflight.validated(POLICY.tool("echo"), {"text": "a" * 60_000})
