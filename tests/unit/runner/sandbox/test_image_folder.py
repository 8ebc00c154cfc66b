"""Images: built from this machine, digested, refused when anything moved."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from policy.refusal import Code, Refused
from runner.sandbox import host_programs, image_declaration, image_digest, image_folder
from runner.sandbox.image_folder import ImageFolder


def declare(folder: Path, content: str, *, name: str = "small") -> image_declaration.ImageDeclaration:
    home = folder / name
    home.mkdir(exist_ok=True)
    (home / "host.yaml").write_text(content, encoding="utf-8")
    return image_declaration.load(home / "host.yaml")


SMALL = """
programs: {cat: apt-get install coreutils}
files: {/etc/note: hello}
links: {/bin: usr/bin}
environment: {SETTING: "1"}
"""


@pytest.fixture
def image(tmp_path: Path) -> ImageFolder:
    return image_folder.build(declare(tmp_path, SMALL), tmp_path / "images")


def test_holds_the_program_its_libraries_and_the_files(image: ImageFolder) -> None:
    assert (image.root / "usr/bin/cat").stat().st_mode & 0o777 == 0o555
    assert (image.root / "bin/cat").exists()
    assert (image.root / "etc/note").read_text(encoding="utf-8") == "hello"
    assert list(image.root.glob("lib*/**/libc.so.6"))
    assert image.environment == {"SETTING": "1"}
    for point in image_folder.MOUNT_POINTS:
        assert (image.root / point).is_dir()


def test_the_digest_is_of_content_and_mode_alone(image: ImageFolder, tmp_path: Path) -> None:
    again = image_folder.build(declare(tmp_path, SMALL), tmp_path / "elsewhere")
    assert again.sha256 == image.sha256
    other = image_folder.build(declare(tmp_path, SMALL.replace("hello", "hallo")), tmp_path / "third")
    assert other.sha256 != image.sha256


def test_an_unchanged_image_is_not_built_again(image: ImageFolder, tmp_path: Path) -> None:
    inode = image.root.stat().st_ino
    assert image_folder.build(declare(tmp_path, SMALL), tmp_path / "images").root.stat().st_ino == inode
    changed = image_folder.build(declare(tmp_path, SMALL.replace("hello", "hallo")), tmp_path / "images")
    assert changed.root.stat().st_ino != inode


@pytest.mark.parametrize("change", ["content", "mode", "new", "gone", "link"])
def test_any_change_is_refused_at_once_and_at_the_next_start(image: ImageFolder, change: str) -> None:
    assert image.verify() == image.sha256
    note = image.root / "etc/note"
    note.parent.chmod(0o755)
    match change:
        case "content":
            times = note.stat()
            note.chmod(0o644)
            note.write_text("hullo", encoding="utf-8")
            note.chmod(0o444)
            os.utime(note, ns=(times.st_atime_ns, times.st_mtime_ns))
        case "mode":
            note.chmod(0o644)
        case "new":
            (note.parent / "other").touch()
        case "gone":
            note.unlink()
        case _:
            note.unlink()
            note.symlink_to("passwd")
    note.parent.chmod(0o555)
    for attempt in (image.verify, lambda: ImageFolder(image.root.parent)):
        with pytest.raises(Refused) as refused:
            attempt()
        assert refused.value.refusal.code is Code.IMAGE_CHANGED


def test_touching_without_changing_is_seen_and_forgiven(image: ImageFolder) -> None:
    os.utime(image.root / "etc/note")
    assert image.verify() == image.sha256


def test_what_was_changed_is_built_anew(image: ImageFolder, tmp_path: Path) -> None:
    (image.root / "etc/note").chmod(0o644)
    (image.root / "etc/note").write_text("evil", encoding="utf-8")
    built = image_folder.build(declare(tmp_path, SMALL), tmp_path / "images")
    assert built.sha256 == image.sha256
    assert (built.root / "etc/note").read_text(encoding="utf-8") == "hello"


def test_verifying_is_cheap(images: Path) -> None:
    whole = ImageFolder(images / "tools")
    began = time.perf_counter()
    for _ in range(10):
        whole.verify()
    assert (time.perf_counter() - began) / 10 < 0.02


def test_a_missing_program_names_the_command(tmp_path: Path) -> None:
    declared = declare(tmp_path, "programs: {terraform-of-nobody: sudo apt-get install -y terraform}")
    with pytest.raises(Refused) as refused:
        image_folder.build(declared, tmp_path / "images")
    assert refused.value.refusal.code is Code.PROGRAM_MISSING
    assert refused.value.refusal.remedy == "Run: sudo apt-get install -y terraform"


def test_a_wrapper_script_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    with pytest.raises(Refused, match="script or a wrapper"):
        host_programs.find("tool", install="x", path=str(tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "programs: {}\nunknown: 1",
        "programs: {../x: y}",
        "programs: {}\nfiles: {/../x: y}",
        "programs: {}\nfiles: {relative: y}",
        "programs: {}\nlinks: {/bin: /etc}",
        "programs: {}\nlinks: {/bin: ../../etc}",
        "programs: {}\nenvironment: {LD_PRELOAD: [1]}",
        "programs: [",
    ],
)
def test_a_declaration_that_is_not_understood_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(Refused) as refused:
        declare(tmp_path, content)
    assert refused.value.refusal.code is Code.IMAGE_INVALID


def test_a_device_in_an_image_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused, match="device, pipe or socket"):
        image_digest.digest(tmp_path)


def test_the_repositorys_own_declaration_loads_and_names_a_command_for_each_program() -> None:
    declared = image_declaration.load(Path(__file__).parents[4] / "images/tools/host.yaml")
    assert declared.name == "tools"
    assert {"terraform", "sh", "bash", "head", "sleep"} <= set(declared.programs)
    assert all("install" in command for command in declared.programs.values())
