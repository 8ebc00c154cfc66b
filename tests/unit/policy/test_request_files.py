"""Where a request's files stand."""

from __future__ import annotations

from policy import request_files
from tests.approval_facts import MANIFEST


def test_they_stand_at_the_first_owned_path() -> None:
    own = request_files.paths(MANIFEST)
    assert own.manifest == f"terraform/web/.ownergate/{MANIFEST.id}.json"
    assert own.rendering == f"terraform/web/.ownergate/{MANIFEST.id}.md"


def test_the_final_slash_of_a_folder_makes_no_difference() -> None:
    assert request_files.place("a/b", "og-1") == request_files.place("a/b/", "og-1")
