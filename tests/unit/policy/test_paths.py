"""Paths in a repository."""

from __future__ import annotations

import unicodedata

import pytest

from policy import paths


@pytest.mark.parametrize(
    "path", ["a", "terraform/demo", "a/b.c/d-e_f", "a/ü", ".github/x", "a b/c", "a/...b"]
)
def test_plain_relative_paths_can_be_used(path: str) -> None:
    assert paths.problem(path) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("a//b", "empty part"),
        ("a/", "empty part"),
        ("..", "'..'"),
        ("a/../b", "'..'"),
        ("a/..", "'..'"),
        ("./a", "'.'"),
        ("a\\b", "backslash"),
        ("a\x00b", "can't be seen"),
        ("a\nb", "can't be seen"),
        ("a\u202eb", "can't be seen"),
        ("a\u200bb", "can't be seen"),
        ("a\u2028b", "can't be seen"),
        (unicodedata.normalize("NFD", "ü"), "NFC"),
        (".git/config", ".git"),
        ("a/.GIT", ".git"),
        (" a", "white space"),
        ("a /b", "white space"),
        ("x" * 256, "longer"),
        ("/".join(["x" * 200] * 6), "longer"),
    ],
)
def test_any_other_path_is_refused_with_its_reason(path: str, reason: str) -> None:
    assert reason in (paths.problem(path) or "")


def test_inside_is_strict() -> None:
    assert paths.inside("a/b", "a")
    assert paths.inside("a/b", "a/")
    assert not paths.inside("a", "a")
    assert not paths.inside("ab/c", "a")


@pytest.mark.parametrize("path", [".ownergate/x", "a/.ownergate/b", "a/.OwnerGate/b", ".ownergate"])
def test_records_are_recognised_in_any_case(path: str) -> None:
    assert paths.is_record(path)


def test_a_similar_name_is_no_record() -> None:
    assert not paths.is_record("a/.ownergate2/b")
    assert not paths.is_record("a/ownergate/b")
