"""Sources: trees, archives, changes."""

from __future__ import annotations

import unicodedata

import pytest

from policy import canonical, source
from policy.refusal import Code, Refused
from policy.source import TreeEntry


def entry(path: str, mode: str = "100644", size: int = 1) -> TreeEntry:
    return TreeEntry(path=path, mode=mode, size=size, sha="0" * 40)


GOOD = [
    entry("terraform", "040000", 0),
    entry("terraform/demo", "040000", 0),
    entry("terraform/demo/main.tf"),
    entry("terraform/demo/run.sh", "100755"),
    entry("terraform/demo/files/a.txt"),
]


def code(*entries: TreeEntry) -> Code:
    with pytest.raises(Refused) as caught:
        source.check_entries([*GOOD, *entries], path="terraform/demo")
    return caught.value.refusal.code


def test_regular_files_below_the_folder_are_the_source() -> None:
    found = source.check_entries(
        [*GOOD, entry("README.md"), entry("terraform/demo2/x")], path="terraform/demo"
    )
    assert [file.path for file in found] == [
        "terraform/demo/files/a.txt",
        "terraform/demo/main.tf",
        "terraform/demo/run.sh",
    ]


def test_records_of_requests_are_left_out() -> None:
    record = entry("terraform/demo/.ownergate/og-1.json")
    assert record not in source.check_entries([*GOOD, record], path="terraform/demo")


def test_what_lies_elsewhere_is_nobodys_business() -> None:
    source.check_entries(
        [*GOOD, entry("other/link", "120000"), entry("sub", "160000", 0)], path="terraform/demo"
    )


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (entry("terraform/demo/link", "120000"), "a symbolic link"),
        (entry("terraform/demo/module", "160000", 0), "a submodule"),
        (entry("terraform/demo/old", "100664"), "mode 100664"),
        (entry("terraform/demo/a\\b"), "backslash"),
        (entry("terraform/demo/a\nb"), "can't be seen"),
        (entry("terraform/demo/a\u202eb"), "can't be seen"),
        (entry("terraform/demo/" + unicodedata.normalize("NFD", "ü")), "NFC"),
        (entry("terraform/demo/../x"), "'..'"),
        (entry("terraform/demo/.git/config"), ".git"),
        (entry("terraform/demo/MAIN.tf"), "differ in case only"),
        (entry("terraform/demo/FILES/b.txt"), "differ in case only"),
        (entry("terraform/demo/Files"), "differ in case only"),
        (entry("terraform/demo"), "a file, not a folder"),
    ],
)
def test_what_isn_t_a_regular_file_with_a_plain_name_is_refused(bad: TreeEntry, what: str) -> None:
    with pytest.raises(Refused) as caught:
        source.check_entries([*GOOD, bad], path="terraform/demo")
    assert caught.value.refusal.code is Code.SOURCE_INVALID
    assert what in caught.value.refusal.what
    assert caught.value.refusal.what.isprintable()


def test_ten_thousand_files_are_too_many() -> None:
    assert code(*(entry(f"terraform/demo/f{n}") for n in range(10_000))) is Code.SOURCE_TOO_LARGE


def test_a_file_that_is_too_large_is_refused_before_it_is_read() -> None:
    assert code(entry("terraform/demo/big", size=source.LARGEST + 1)) is Code.SOURCE_TOO_LARGE


def test_a_folder_without_files_is_refused() -> None:
    for entries in ([], [entry("terraform/demo/.ownergate/x.json")], [entry("terraform/demo2/x")]):
        with pytest.raises(Refused, match="holds no file"):
            source.check_entries(entries, path="terraform/demo")


def test_the_digest_is_over_path_content_and_size() -> None:
    made = source.archive("a", {"a/y": b"2", "a/x": b"1"})
    assert [file.path for file in made.files] == ["a/x", "a/y"]
    assert made.sha256 == canonical.sha256(
        [
            {"path": "a/x", "sha256": canonical.sha256_bytes(b"1"), "size": 1},
            {"path": "a/y", "sha256": canonical.sha256_bytes(b"2"), "size": 1},
        ]
    )
    assert made.described().sha256 == made.sha256 == source.digest(made.described().files)
    assert made.contents() == {"a/x": b"1", "a/y": b"2"}
    for other in ({"a/x": b"1", "a/y": b"3"}, {"a/x": b"1", "a/z": b"2"}, {"a/x": b"1"}):
        assert source.archive("a", other).sha256 != made.sha256


def test_the_repr_of_a_file_shows_no_content() -> None:
    assert "hunter2" not in repr(source.archive("a", {"a/x": b"hunter2"}))


def test_modules_outside_of_the_folder_are_part_of_the_archive() -> None:
    made = source.archive(
        "terraform/demo", {"terraform/demo/main.tf": b"", "terraform/modules/x/main.tf": b""}
    )
    assert len(made.files) == 2
    with pytest.raises(Refused, match="holds no file"):
        source.archive("terraform/demo", {"terraform/modules/x/main.tf": b""})


@pytest.mark.parametrize("path", ["a/.ownergate/x", "a/../b", "/a/x", "a/A\u200b", "a/\\x"])
def test_an_archive_holds_no_other_path(path: str) -> None:
    with pytest.raises(Refused) as caught:
        source.archive("a", {"a/x": b"", path: b""})
    assert caught.value.refusal.code is Code.SOURCE_INVALID


def test_an_archive_is_bounded() -> None:
    for files in ({f"a/{n}": b"" for n in range(2_001)}, {"a/x": b"x" * (source.LARGEST + 1)}):
        with pytest.raises(Refused) as caught:
            source.archive("a", files)
        assert caught.value.refusal.code is Code.SOURCE_TOO_LARGE


def test_changes_write_add_and_remove() -> None:
    base = {"a/x": b"1", "a/y": b"2", "m/z": b"3"}
    assert source.overlay(base, {"a/x": b"9", "a/new": b"4", "a/y": None}, path="a") == {
        "a/x": b"9",
        "a/new": b"4",
        "m/z": b"3",
    }
    assert base["a/x"] == b"1"


@pytest.mark.parametrize("path", ["m/z", "a", "ab/x", "a/.ownergate/x"])
def test_changes_stay_in_the_folder(path: str) -> None:
    with pytest.raises(Refused, match="lies outside of a/"):
        source.overlay({"a/x": b"1"}, {path: b"9"}, path="a")


def test_what_isn_t_there_can_t_be_removed() -> None:
    with pytest.raises(Refused, match="it isn't there"):
        source.overlay({"a/x": b"1"}, {"a/y": None}, path="a")
