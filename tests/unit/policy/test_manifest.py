"""The manifest: strict, whole, and one digest for one request."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from policy import manifest
from policy.refusal import Code, Refused
from tests.unit.policy.examples import a_manifest


def test_it_is_read_back_as_it_was_written() -> None:
    assert manifest.parse(manifest.encode(a_manifest())) == a_manifest()


def test_its_bytes_and_digest_are_pinned() -> None:
    # Approvals given before an upgrade must still fit after it: a change here needs a new version.
    assert manifest.digest(a_manifest()) == "97a34d1f5b3f0955288978b068fa1bff0f4d0f78ce5f40b2951dd8668b9c49b4"


def paths(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        return [p for name, item in value.items() for p in ((*here, name), *paths(item, (*here, name)))]
    if isinstance(value, list):
        return [p for index, item in enumerate(value) for p in paths(item, (*here, index))]
    return []


OPEN_MAPS = {"arguments", "summary", "environment"}
ALL_PATHS = paths(json.loads(manifest.encode(a_manifest())))


@pytest.mark.parametrize("path", ALL_PATHS, ids=lambda path: ".".join(map(str, path)))
def test_no_key_may_be_missing_and_each_is_in_the_digest(path: tuple[str | int, ...]) -> None:
    document = json.loads(manifest.encode(a_manifest()))
    parent = document
    for step in path[:-1]:
        parent = parent[step]
    before = parent.pop(path[-1])
    if len(path) > 1 and path[-2] in OPEN_MAPS:
        changed = manifest.parse(json.dumps(document))
        assert manifest.digest(changed) != manifest.digest(a_manifest()), before
    else:
        with pytest.raises(Refused) as caught:
            manifest.parse(json.dumps(document))
        assert caught.value.refusal.code is Code.MANIFEST_INVALID


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"version": 2},
        {"version": "1"},
        {"version": True},
        {"id": "og-short"},
        {"id": "og-" + "I" * 26},
        {"approvals_required": "2"},
        {"approvals_required": 2.0},
        {"nonce": "8" * 63},
        {"nonce": "G" * 64},
        {"owned": "terraform/web/"},
        {"created_at": "2026-03-01T12:00:00+00:00"},
        {"created_at": 1772366400},
        {"base": {"ref": "main", "sha": "b" * 7}},
        {"requester": {"agent": "a", "person_id": True, "login": "x"}},
    ],
    ids=str,
)
def test_what_is_not_exactly_of_the_form_is_refused(change: dict[str, object]) -> None:
    document = json.loads(manifest.encode(a_manifest())) | change
    with pytest.raises(Refused):
        manifest.parse(json.dumps(document))


def test_every_field_changes_the_digest() -> None:
    plain = a_manifest()
    other = dataclasses.replace(plain, requester=dataclasses.replace(plain.requester, login="eve"))
    assert manifest.digest(other) != manifest.digest(plain)


def test_null_means_null_and_not_missing() -> None:
    without = dataclasses.replace(a_manifest(), source=None, plan=None)
    assert b'"plan":null' in manifest.encode(without)
    assert manifest.parse(manifest.encode(without)) == without


def test_the_documentation_names_every_key() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "manifest.md").read_text()
    missing = {str(path[-1]) for path in ALL_PATHS if len(path) < 2 or path[-2] not in OPEN_MAPS}
    assert {key for key in missing if f"`{key}`" not in text} == set()
