"""Patterns of policy authors."""

from __future__ import annotations

import time

import pytest

from policy import patterns


@pytest.mark.parametrize("pattern", ["^a$", "^[a-z0-9-]+(/[a-z0-9-]+)*$", "^a\\\\$", "^(?i)a$"])
def test_an_anchored_pattern_can_be_used(pattern: str) -> None:
    assert patterns.problem(pattern) is None


@pytest.mark.parametrize("pattern", ["", "a", "^a", "a$", "^a\\$", "^", "$"])
def test_a_pattern_for_a_part_of_the_text_is_refused(pattern: str) -> None:
    assert patterns.problem(pattern) == "it must begin with ^ and end with $"


@pytest.mark.parametrize("pattern", ["^[$", "^(?=a)b$", "^(a)\\1$", "^(?<!a)b$", "^a{1000}{1000}$"])
def test_what_re2_refuses_is_refused(pattern: str) -> None:
    assert patterns.problem(pattern) is not None


def test_the_whole_text_must_match() -> None:
    assert patterns.matches("^[a-z]+$", "abc")
    assert not patterns.matches("^[a-z]+$", "abc\n")
    assert not patterns.matches("^[a-z]+$", "abc\nDEF")
    assert patterns.matches("^a$|^b$", "b")
    assert not patterns.matches("^a|b$", "axxb")


def test_no_pattern_backtracks() -> None:
    began = time.process_time()
    assert not patterns.matches("^(a+)+$", "a" * 60_000 + "b")
    assert time.process_time() - began < 1
