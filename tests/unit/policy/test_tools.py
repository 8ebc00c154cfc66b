"""Looking tools up."""

from __future__ import annotations

import pytest

from policy.refusal import Code, Refused
from tests.unit.policy import tool_examples as examples


def test_a_declared_tool_is_found() -> None:
    policy = examples.load()
    assert policy.tool("apply") is policy.tools["apply"]


def test_any_other_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(Refused) as caught:
        examples.load().tool("aply")
    assert caught.value.refusal.code is Code.TOOL_UNKNOWN
    assert caught.value.refusal.remedy == "Did you mean apply?"


def test_a_name_that_is_near_to_none_is_refused_with_all() -> None:
    with pytest.raises(Refused) as caught:
        examples.load().tool("x" * 500)
    assert caught.value.refusal.remedy == "Declared tools: show, plan, apply, forget."
    assert len(caught.value.refusal.what) < 100
