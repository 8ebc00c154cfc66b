"""A pull request's answers, with any field missing."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from evidence import Unavailable, pull_request_facts
from evidence.pull_request_facts import Moved
from evidence.rest import Rest

USER = {"id": 7, "login": "alice", "type": "User"}
REPOSITORY = {"id": 100, "full_name": "acme/infra"}
PULL: dict[str, Any] = {
    "number": 3,
    "state": "open",
    "draft": False,
    "merged": False,
    "title": "t",
    "body": None,
    "updated_at": "2026-05-04T12:00:00Z",
    "user": USER,
    "commits": 1,
    "changed_files": 1,
    "mergeable": None,
    "base": {"ref": "main", "sha": "b", "repo": REPOSITORY},
    "head": {"ref": "x", "sha": "c", "repo": REPOSITORY},
}
LISTS: dict[str, list[dict[str, Any]]] = {
    "commits": [{"sha": "c", "author": USER, "committer": None, "parents": [{"sha": "b"}]}],
    "files": [{"filename": "a", "status": "renamed", "previous_filename": "b"}],
    "timeline": [{"event": "labeled"}, {"event": "reopened", "actor": USER}],
    "reviews": [
        {
            "id": 1,
            "user": USER,
            "state": "APPROVED",
            "commit_id": "c",
            "submitted_at": "2026-05-04T12:00:00Z",
        },
        {
            "id": 2,
            "user": None,
            "state": "dismissed",
            "commit_id": None,
            "submitted_at": "2026-05-04T12:00:00Z",
        },
        {"id": 3, "user": USER, "state": "PENDING"},
    ],
}


class Given(Rest):
    """Lists as given."""

    def __init__(self, lists: dict[str, list[dict[str, Any]]]) -> None:
        self._lists = lists
        self.calls = 0

    def every(self, path: str, parameters: object = None) -> list[Any]:
        return self._lists[path.rpartition("/")[2]]


def read(pull: dict[str, Any] = PULL, lists: dict[str, Any] = LISTS) -> pull_request_facts.Snapshot:
    return pull_request_facts.read(Given(lists), "acme/infra", pull, {1: "c"})


def test_the_answers_become_facts() -> None:
    snapshot = read()
    assert snapshot.pull_request.body == ""
    assert snapshot.pull_request.files[0].previous_path == "b"
    assert [event.event for event in snapshot.pull_request.timeline] == ["reopened"]
    assert [(one.id, one.state, one.commit, one.witnessed_commit) for one in snapshot.reviews] == [
        (1, "APPROVED", "c", "c"),
        (2, "DISMISSED", None, None),
    ]
    assert set(pull_request_facts.authors(snapshot)) == {7}
    assert snapshot.limits == ()


def test_the_head_of_a_deleted_fork_has_no_repository() -> None:
    gone = {**PULL, "head": {**PULL["head"], "repo": None}}
    assert read(gone).pull_request.head_repository_id is None


@pytest.mark.parametrize("name", sorted(set(PULL) - {"updated_at"}))
def test_a_pull_request_without_a_field_is_no_fact(name: str) -> None:
    with pytest.raises(Unavailable, match=f"no {name}"):
        read({key: value for key, value in PULL.items() if key != name})


@pytest.mark.parametrize(
    "name",
    [
        "number",
        "state",
        "draft",
        "merged",
        "title",
        "body",
        "updated_at",
        "commits",
        "changed_files",
        "base",
        "head",
    ],
)
def test_a_pull_request_can_not_be_compared_without_a_field(name: str) -> None:
    assert len(pull_request_facts.identity(PULL)) == 13
    with pytest.raises(Unavailable):
        pull_request_facts.identity({key: value for key, value in PULL.items() if key != name})
    with pytest.raises(Unavailable, match="no object"):
        pull_request_facts.identity([])  # type: ignore[arg-type]


FIELDS = [(name, at, key) for name, rows in LISTS.items() for at, row in enumerate(rows) for key in row]


@pytest.mark.parametrize(("name", "at", "key"), FIELDS)
def test_an_entry_without_a_field_is_no_fact(name: str, at: int, key: str) -> None:
    lists = copy.deepcopy(LISTS)
    del lists[name][at][key]
    if (name, at) == ("reviews", 2) and key != "state":
        assert len(read(lists=lists).reviews) == 2
        return
    with pytest.raises(Unavailable):
        read(lists=lists)


@pytest.mark.parametrize("name", ["commits", "changed_files"])
@pytest.mark.parametrize("counted", [0, 2])
def test_a_list_that_does_not_fit_its_count_is_of_another_moment(name: str, counted: int) -> None:
    with pytest.raises(Moved):
        read({**PULL, name: counted})


@pytest.mark.parametrize(
    ("name", "counted", "limit"),
    [
        ("commits", 251, "GitHub lists at most 250 commits of a pull request, and this one has 251."),
        (
            "changed_files",
            3001,
            "GitHub lists at most 3000 changed files of a pull request, and this one has 3001.",
        ),
    ],
)
def test_a_limit_that_is_hit_is_told(name: str, counted: int, limit: str) -> None:
    assert read({**PULL, name: counted}).limits == (limit,)


def test_a_list_that_is_as_long_as_the_limit_counts_as_cut() -> None:
    files = [{"filename": str(number), "status": "added"} for number in range(3000)]
    snapshot = read({**PULL, "changed_files": 3000}, {**LISTS, "files": files})
    assert len(snapshot.limits) == 1
