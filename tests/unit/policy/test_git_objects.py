"""Blob ids are git's own."""

from __future__ import annotations

import subprocess

import pytest

from policy import git_objects


@pytest.mark.parametrize("content", [b"", b"a\n", b"\0\xff" * 500])
def test_a_blobs_id_is_the_one_that_git_gives(content: bytes) -> None:
    answer = subprocess.run(["git", "hash-object", "--stdin"], input=content, capture_output=True, check=True)
    assert git_objects.blob_id(content) == answer.stdout.decode().strip()
