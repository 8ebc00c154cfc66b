"""Files that hostile code wrote are opened with care, whatever they are."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from runner.sandbox import untrusted_files
from runner.sandbox.untrusted_files import NotAPlainFile


def test_reads_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").write_bytes(b"12345")
    assert untrusted_files.read(tmp_path, "a/b", max_bytes=5) == b"12345"
    with pytest.raises(NotAPlainFile, match="more than 4"):
        untrusted_files.read(tmp_path, "a/b", max_bytes=4)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../b", "a//b", ".", "a\0b"])
def test_paths_that_are_not_plain_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="plain relative path"):
        untrusted_files.read(tmp_path, path, max_bytes=1)


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"host")
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to(outside / "secret")
    (work / "folder").symlink_to(outside)
    os.link(outside / "secret", work / "hard")
    for path in ("link", "folder/secret", "hard"):
        with pytest.raises(NotAPlainFile):
            untrusted_files.read(work, path, max_bytes=100)


def test_a_pipe_socket_or_folder_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path in ("pipe", "folder", "socket", "missing"):
            with pytest.raises(NotAPlainFile):
                untrusted_files.read(tmp_path, path, max_bytes=100)


def test_nothing_stays_open(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").write_bytes(b"x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("folder", "a", "missing", "a/b"):
        try:
            untrusted_files.read(tmp_path, path, max_bytes=1)
        except NotAPlainFile:
            continue
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_size_counts_what_is_allocated(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").write_bytes(bytes(100_000))
    assert 100_000 <= untrusted_files.size_of(tmp_path) < 200_000
    assert untrusted_files.size_of(tmp_path / "missing") == 0
