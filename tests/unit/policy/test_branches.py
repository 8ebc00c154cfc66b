"""Names of branches, compared with Git itself."""

from __future__ import annotations

import subprocess

import pytest

from policy import branches


@pytest.mark.parametrize("name", ["main", "release/1.0", "feature/a+b", "a.b", "x_y-z", "ownergate/og-1"])
def test_ordinary_names_can_be_used(name: str) -> None:
    assert branches.problem(name) is None
    assert _git_takes(name)


STRUCTURE = ("", "-x", "/a", "a/", "a//b", "a..b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "@{u}")
CHARACTERS = ("a b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a\\b", "a\x00b", "a\nb")


@pytest.mark.parametrize("name", [*STRUCTURE, *CHARACTERS])
def test_what_git_refuses_is_refused(name: str) -> None:
    assert branches.problem(name) is not None
    assert "\x00" in name or not _git_takes(name)


@pytest.mark.parametrize("name", ["refs/heads/main", "ü", "@", "a" * 300])
def test_some_that_git_takes_are_refused_too(name: str) -> None:
    assert branches.problem(name) is not None


def _git_takes(name: str) -> bool:
    command = ["git", "check-ref-format", "--branch", name]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
