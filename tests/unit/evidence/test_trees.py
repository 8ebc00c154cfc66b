"""Files of a commit: found, listed and checked against their ids, in small and in huge repositories."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace

import pytest

from evidence import Unavailable, source_tree
from evidence import trees as trees_module
from evidence.rest import Rest
from evidence.trees import Trees
from github_simulator.operations import git_data
from policy.approval import Approved, decide
from policy.facts import TreeFile
from policy.git_objects import blob_id
from policy.refusal import Code, Refused
from tests.approval_facts import source_of
from tests.request_on_github import FILES, Forge


def trees(forge: Forge) -> Trees:
    return Trees(Rest(forge.runner_clients.client()), "acme/infra")


def test_a_file_is_read_whole(shared: Forge) -> None:
    content = bytes(range(256)) * 9000
    commit = shared.push("large", {"large.bin": content})
    assert shared.reader().read_file(commit, "large.bin") == content


@pytest.mark.parametrize("path", ["nothing", "terraform", "terraform/web/", "terraform/web/main.tf/x"])
def test_what_is_no_file_is_none(shared: Forge, path: str) -> None:
    assert shared.reader().read_file(shared.tip(), path) is None


def test_a_folder_is_read_without_folders_of_requests(shared: Forge) -> None:
    commit = shared.push(
        "folder",
        {"terraform/web/.ownergate/og-1.json": "{}", "terraform/web/a/b.tf": "b", "terraform/webs/x": "x"},
    )
    assert shared.reader().read_folder(commit, "terraform/web") == {
        "terraform/web/main.tf": FILES["terraform/web/main.tf"].encode(),
        "terraform/web/a/b.tf": b"b",
    }


def test_a_folder_that_is_not_there_is_refused(shared: Forge) -> None:
    with pytest.raises(Refused) as refused:
        shared.reader().read_folder(shared.tip(), "terraform/nothing")
    assert refused.value.refusal.code is Code.SOURCE_INVALID


def test_a_file_in_the_place_of_a_folder_is_refused(shared: Forge) -> None:
    with pytest.raises(Refused, match="is a file, not a folder"):
        shared.reader().read_folder(shared.tip(), "terraform/web/main.tf")


def test_a_link_in_a_folder_is_refused_before_it_is_read(shared: Forge) -> None:
    base = shared.tip()
    sha = shared.as_bot("POST", "/git/blobs", {"content": "/etc/passwd", "encoding": "utf-8"})["sha"]
    entry = {"path": "terraform/web/link.tf", "mode": "120000", "type": "blob", "sha": sha}
    tree = shared.as_bot("POST", "/git/trees", {"base_tree": base, "tree": [entry]})["sha"]
    with pytest.raises(Refused, match="symbolic link"):
        shared.reader().read_folder(tree, "terraform/web")
    assert shared.reader().read_file(tree, "terraform/web/link.tf") is None


def test_local_modules_come_along_and_theirs_too(shared: Forge) -> None:
    commit = shared.push(
        "modules",
        {
            "terraform/web/main.tf": 'module "a" {\n  source = "../../modules/a"\n}\n',
            "modules/a/main.tf": 'module "b" {\n  source = "../b"\n}\n',
            "modules/b/main.tf": "# b\n",
            "modules/c/main.tf": "# c\n",
        },
    )
    assert set(shared.reader().read_source(commit, "terraform/web")) == {
        "terraform/web/main.tf",
        "modules/a/main.tf",
        "modules/b/main.tf",
    }


def test_a_change_in_a_modules_folder_on_the_base_is_seen(shared: Forge) -> None:
    files = {"terraform/web/main.tf": b"1", "modules/a/main.tf": b"2"}
    before = shared.push("watched", dict(files))
    source = source_of(files)

    def differing(**changes: str | None) -> frozenset[str]:
        after = shared.push("watched", {name.replace("__", "/"): text for name, text in changes.items()})
        return source_tree.changed(trees(shared), before, after, source)

    assert source_tree.changed(trees(shared), before, before, source) == frozenset()
    assert differing(modules__c="x", terraform__webs="y") == frozenset()
    assert differing(**{"modules__a__new.tf": "x"}) == {"modules/a/new.tf"}
    assert differing(**{"modules__a__new.tf": None, "terraform__web__main.tf": None}) == {
        "terraform/web/main.tf"
    }


def test_the_source_at_the_head_is_the_whole_folder_and_the_named_modules(shared: Forge) -> None:
    files = {"terraform/web/main.tf": b"1", "modules/a/main.tf": b"2", "modules/a/other.tf": b"3"}
    commit = shared.push("head", dict(files))
    source = source_of({**files, "modules/gone.tf": b"4"})
    named = replace(source, files=tuple(file for file in source.files if "other" not in file.path))
    assert source_tree.at_head(trees(shared), commit, named) == {
        "terraform/web/main.tf": TreeFile(mode="100644", blob=blob_id(b"1")),
        "modules/a/main.tf": TreeFile(mode="100644", blob=blob_id(b"2")),
    }


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({"docs/CODEOWNERS": "* @c"}, "docs/CODEOWNERS"),
        ({"docs/CODEOWNERS": "* @c", "CODEOWNERS": "* @b"}, "CODEOWNERS"),
        (
            {"docs/CODEOWNERS": "* @c", "CODEOWNERS": "* @b", ".github/CODEOWNERS": "* @a"},
            ".github/CODEOWNERS",
        ),
        ({"docs/CODEOWNERS": "* @c", "CODEOWNERS/x": "a folder"}, "docs/CODEOWNERS"),
        ({"codeowners": "* @x"}, None),
    ],
)
def test_the_first_of_githubs_places_counts_alone(
    forge: Forge, files: dict[str, str], path: str | None
) -> None:
    forge.push("main", {".github/CODEOWNERS": None, **files})
    opened = forge.open_request()
    facts = opened.facts()
    assert facts.tip_codeowners.path == path
    assert facts.tip_codeowners.text == (files[path].encode() if path else None)


def test_a_codeowners_file_that_is_a_link_or_too_large_owns_nothing(forge: Forge) -> None:
    sha = forge.as_bot("POST", "/git/blobs", {"content": "../CODEOWNERS", "encoding": "utf-8"})["sha"]
    entry = {"path": ".github/CODEOWNERS", "mode": "120000", "type": "blob", "sha": sha}
    tree = forge.as_bot("POST", "/git/trees", {"base_tree": forge.tip(), "tree": [entry]})["sha"]
    routing = forge.reader().routing(tree, ["terraform/web/"])
    assert "is no regular file under 3 MB" in routing.faults[0].reason
    large = forge.push("large", {".github/CODEOWNERS": b"#" * 3_000_000})
    routing = forge.reader().routing(large, ["terraform/web/"])
    assert "is no regular file under 3 MB" in routing.faults[0].reason


# A repository that GitHub can't list at once.


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def limit(entries: int) -> None:
        monkeypatch.setattr(git_data, "MOST_ENTRIES", entries)

    return limit


def test_a_huge_repository_is_read_folder_by_folder(forge: Forge, at_once: Callable[[int], None]) -> None:
    files = {"terraform/web/main.tf": b"1", "terraform/web/deep/er.tf": b"2", "modules/a.tf": b"3"}
    forge.push("main", {**files, **{f"many/{number}": "" for number in range(30)}})
    opened = forge.open_request(files)
    forge.review(opened.number, "alice")
    whole = opened.facts()
    at_once(20)
    facts = opened.facts()
    assert facts.head_source == whole.head_source
    assert (facts.manifest, facts.rendering) == (whole.manifest, whole.rendering)
    assert facts.tip_codeowners == whole.tip_codeowners
    one = forge.reader()
    assert set(one.read_folder(forge.tip(), "terraform/web")) == set(files) - {"modules/a.tf"}
    assert one.read_file(forge.tip(), "README.md") == b"# infra\n"
    assert one.read_file(forge.tip(), "nothing/at/all") is None
    assert one.read_file(forge.tip(), "README.md/x") is None
    with pytest.raises(Refused):
        one.read_folder(forge.tip(), "terraform/nothing")


def test_a_huge_repository_can_be_approved_in(forge: Forge, at_once: Callable[[int], None]) -> None:
    forge.push("main", {f"many/{number}": "" for number in range(30)})
    opened = forge.open_request()
    forge.review(opened.number, "alice")
    at_once(20)
    assert isinstance(decide(opened.facts(), opened.requirement()), Approved)


def test_a_folder_that_can_not_be_listed_whole_gives_no_facts(
    shared: Forge, at_once: Callable[[int], None]
) -> None:
    commit = shared.push("huge", {f"terraform/web/{number}.tf": "" for number in range(20)})
    at_once(10)
    with pytest.raises(Unavailable, match="can't list the folder 'terraform/web' whole"):
        shared.reader().read_folder(commit, "terraform/web")
    at_once(1)
    with pytest.raises(Unavailable, match="too many files"):
        shared.reader().read_file(commit, "README.md")
    with pytest.raises(Unavailable, match="can't list the repository whole"):
        list(trees(shared).below(commit, ""))


def test_the_root_is_every_entry(shared: Forge) -> None:
    listed = {entry.path for entry in trees(shared).below(shared.tip(), "")}
    assert set(FILES) | {"terraform", "terraform/web", "terraform/db", ".github"} == listed


def test_what_is_kept_has_a_limit(shared: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = [shared.push("kept", {"README.md": str(number) * 10}) for number in range(4)]
    rest = Rest(shared.runner_clients.client())
    one = Trees(rest, "acme/infra")

    def calls(commit: str) -> int:
        before = rest.calls
        assert one.file(commit, "README.md") is not None
        return rest.calls - before

    assert [calls(commit) for commit in (*commits, *commits)] == [2, 2, 2, 2, 0, 0, 0, 0]
    monkeypatch.setattr(trees_module, "KEPT_LISTINGS", 2)
    monkeypatch.setattr(trees_module, "KEPT_BYTES", 20)
    one = Trees(rest, "acme/infra")
    # The listing that was not used for longest goes, and a blob too many drops those before it.
    order = [0, 1, 0, 2, 1, 0, 1]
    assert [calls(commits[at]) for at in order] == [2, 2, 0, 2, 2, 2, 1]


# Answers that can't be right.


class Answering(Rest):
    """A `Rest` that answers one call with what it was given."""

    def __init__(self, answer: object) -> None:
        self._answer = answer
        self.calls = 0

    def get(self, path: str, parameters: object = None, *, accept: str = "") -> object:
        return self._answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"encoding": "none", "content": ""}, "not in base64"),
        ({"encoding": "base64", "content": "a"}, "not in base64"),
        ({"encoding": "base64", "content": base64.b64encode(b"other").decode()}, "holds other bytes"),
        ({"encoding": "base64"}, "no content"),
    ],
)
def test_bytes_that_are_not_the_blobs_are_no_fact(answer: object, message: str) -> None:
    with pytest.raises(Unavailable, match=message):
        Trees(Answering(answer), "acme/infra").content(blob_id(b"right"))


TREE = {"url": "https://x/repos/Acme/Infra/git/trees/1", "truncated": False, "tree": []}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({**TREE, "tree": None}, "has no list"),
        ({**TREE, "truncated": None}, "NoneType as truncated"),
        ({**TREE, "tree": [{"path": "a", "mode": "100644", "type": "blob", "sha": "1"}]}, "no size"),
        ({**TREE, "url": "https://x/repos/acme/other/git/trees/1"}, "has another name now"),
        ({}, "no url"),
    ],
)
def test_a_tree_that_is_not_complete_is_no_fact(answer: object, message: str) -> None:
    with pytest.raises(Unavailable, match=message):
        Trees(Answering(answer), "acme/infra").entry("1" * 40, "a")


def test_a_submodule_has_no_size_and_is_no_file() -> None:
    entry = {"path": "a", "mode": "160000", "type": "commit", "sha": "1" * 40}
    listed = Trees(Answering({**TREE, "tree": [entry]}), "acme/infra")
    found = listed.entry("1" * 40, "a")
    assert found is not None
    assert found.size == 0
    assert listed.file("1" * 40, "a") is None
