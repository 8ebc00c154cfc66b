"""An image on one machine: a root folder built from the host's own programs, digested, read-only.

`build` makes `<images>/<name>/root` from a declaration; `ImageFolder` opens it, reads all of it once to
know its digest, and before every use looks whether anything moved since. A changed image is refused: the
digest that people approved names exactly one content.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from policy import canonical
from policy.canonical import Json
from policy.refusal import Code, Refused, refuse
from runner.sandbox import host_programs, image_digest
from runner.sandbox.image_declaration import ImageDeclaration

PROGRAMS = "usr/bin"
"""Where programs stand in an image."""

ENVIRONMENT_FILE = "etc/ownergate/environment.json"
"""The image's own variables; part of its digest."""

MOUNT_POINTS = ("proc", "sys", "dev", "tmp", "work", "state", "run/credential")
"""Folders that every image has, because the root is read-only when the sandbox mounts over them."""

_RECORD = "image.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def is_name(name: str) -> bool:
    """Whether a text can name an image: lower-case letters, digits and dashes, at most 63."""
    return _NAME.fullmatch(name) is not None


def build(declaration: ImageDeclaration, images: Path) -> ImageFolder:
    """Builds an image, or opens the one that is there when nothing it is made of has changed.

    Args:
        declaration: what it consists of.
        images: the folder of all images; the runner's own.

    Raises:
        Refused: `program_missing`, `image_invalid`.
    """
    sources = _sources(declaration)
    inputs = _inputs(declaration, sources)
    home = images / declaration.name
    if _recorded(home).get("inputs") == inputs:
        try:
            return ImageFolder(home)
        except Refused:
            pass  # Somebody changed what was built; it is built anew.
    home.mkdir(mode=0o755, parents=True, exist_ok=True)
    fresh = home / "fresh"
    _remove(fresh)
    _fill(fresh, declaration, sources)
    _close(fresh)
    (home / _RECORD).unlink(missing_ok=True)
    _remove(home / "root")
    fresh.rename(home / "root")
    record = {"inputs": inputs, "sha256": image_digest.digest(home / "root")}
    (home / _RECORD).write_text(json.dumps(record), encoding="utf-8")
    return ImageFolder(home)


class ImageFolder:
    """One built image. Methods may be used from several threads."""

    def __init__(self, home: Path) -> None:
        """Opens `<home>/root` and reads all of it.

        Raises:
            Refused: `image_invalid` when there is none, `image_changed` when it is not what was built.
        """
        self.root = home / "root"
        recorded = _recorded(home).get("sha256")
        if recorded is None:
            raise refuse(
                Code.IMAGE_INVALID,
                f"the image {home.name}: it has not been built in {home.parent}",
                rule="A tool runs only in an image that this runner has built and digested.",
                remedy="Build it from its declaration, or correct the image's name in policy.yaml.",
            )
        self._lock = threading.Lock()
        self._fingerprint = image_digest.fingerprint(self.root)
        self.sha256 = image_digest.digest(self.root)
        if self.sha256 != recorded:
            raise self._changed()
        self.environment = _environment(self.root)

    def verify(self) -> str:
        """The digest, after a look at every file's status; everything is read again only if one moved.

        Raises:
            Refused: `image_changed`.
        """
        with self._lock:
            seen = image_digest.fingerprint(self.root)
            if seen != self._fingerprint:
                if image_digest.digest(self.root) != self.sha256:
                    raise self._changed()
                self._fingerprint = seen
        return self.sha256

    def _changed(self) -> Refused:
        return refuse(
            Code.IMAGE_CHANGED,
            f"the image in {self.root}: its content is not what was built",
            rule="A tool runs only in the image whose digest was approved.",
            remedy="Find out who changed it, then build it again.",
        )


def _sources(declaration: ImageDeclaration) -> dict[str, Path]:
    """Path in the image → file of the host, for everything that is copied."""
    sources: dict[str, Path] = {}
    for name, install in declaration.programs.items():
        program = host_programs.find(name, install=install)
        sources[f"{PROGRAMS}/{name}"] = program
        for library in host_programs.libraries(program):
            sources[str(library).lstrip("/")] = library.resolve()
    for copy in declaration.copies:
        source = Path(copy.path)
        if source.is_file():
            sources[copy.path.lstrip("/")] = source.resolve()
        elif not copy.optional:
            raise refuse(
                Code.IMAGE_INVALID,
                f"the image {declaration.name}: this machine has no file {copy.path}",
                rule="Every file that an image declares must be there.",
                remedy="Install what brings the file, or declare it optional.",
            )
    return sources


def _inputs(declaration: ImageDeclaration, sources: Mapping[str, Path]) -> str:
    described: list[Json] = [repr(declaration)]
    for target, source in sorted(sources.items()):
        found = source.stat()
        described.append([target, str(source), found.st_size, str(found.st_mtime_ns), str(found.st_ctime_ns)])
    return canonical.sha256(described)


def _fill(root: Path, declaration: ImageDeclaration, sources: Mapping[str, Path]) -> None:
    root.mkdir(mode=0o755)
    for folder in (*MOUNT_POINTS, *(path.lstrip("/") for path in declaration.folders), PROGRAMS):
        (root / folder).mkdir(mode=0o755, parents=True, exist_ok=True)
    for path, target in declaration.links.items():
        link = root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    for path, source in sources.items():
        target_file = _place(root, path)
        shutil.copyfile(source, target_file)
        target_file.chmod(0o555 if os.access(source, os.X_OK) else 0o444)
    environment = json.dumps(dict(declaration.environment), sort_keys=True)
    for path, text in {**declaration.files, f"/{ENVIRONMENT_FILE}": environment}.items():
        _place(root, path.lstrip("/")).write_text(text, encoding="utf-8")


def _place(root: Path, path: str) -> Path:
    """Where to write a file, its folder made; links of the image itself (`/bin`) lead inside."""
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.parent.resolve().is_relative_to(root.resolve()):
        raise refuse(
            Code.IMAGE_INVALID,
            f"the path /{path} of an image: a link leads it outside",
            rule="Everything in an image stands below its root.",
            remedy="Correct the links of the declaration.",
        )
    return place


def _close(root: Path) -> None:
    """Makes everything below `root` read-only for everybody and readable for all."""
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o555 if path.stat().st_mode & stat.S_IXUSR else 0o444)
        Path(folder).chmod(0o555)


def _remove(root: Path) -> None:
    if not root.exists():
        return
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o700)
    shutil.rmtree(root)


def _recorded(home: Path) -> dict[str, Json]:
    try:
        value = json.loads((home / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _environment(root: Path) -> Mapping[str, str]:
    value = canonical.parse((root / ENVIRONMENT_FILE).read_bytes(), what="the image's environment")
    if not isinstance(value, dict):
        return {}
    return {name: str(text) for name, text in value.items()}
