"""What an image on one machine consists of, as `images/<name>/host.yaml` declares it.

The file is strict: a key that is not known, a path that is not plain, or a program that is named twice
is refused. Building from it is `image_folder`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from policy.refusal import Code, Refused, refuse

_AbsolutePath = Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$")]
_ProgramName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
_LinkTarget = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9._-]+)*$")]
_VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _CopyFile(_Strict):
    path: _AbsolutePath
    optional: bool = False


class _File(_Strict):
    programs: dict[_ProgramName, str]
    copies: list[_CopyFile] = []
    files: dict[_AbsolutePath, str] = {}
    links: dict[_AbsolutePath, _LinkTarget] = {}
    folders: list[_AbsolutePath] = []
    environment: dict[_VariableName, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFile:
    """A file of the host that is copied to the same path; an optional one may be missing."""

    path: str
    optional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageDeclaration:
    """One image.

    Attributes:
        name: name of the folder that the file stands in.
        programs: for each program found on the host's PATH, the command that installs it.
        copies: further files of the host.
        files: files by path with their content.
        links: symbolic links by path with their relative target.
        folders: further empty folders.
        environment: variables that every step of this image gets; part of the image's digest.
    """

    name: str
    programs: Mapping[str, str]
    copies: tuple[HostFile, ...]
    files: Mapping[str, str]
    links: Mapping[str, str]
    folders: tuple[str, ...]
    environment: Mapping[str, str]


def load(path: Path) -> ImageDeclaration:
    """Reads a declaration; the image is named after the folder that the file stands in.

    Raises:
        Refused: `image_invalid`.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        file = _File.model_validate(content)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _no(path, " ".join(str(error).split())) from None
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)[:5]
        raise _no(path, "; ".join(f"{'.'.join(map(str, f['loc']))}: {f['msg']}" for f in faults)) from None
    return ImageDeclaration(
        name=path.parent.name,
        programs=file.programs,
        copies=tuple(HostFile(path=copy.path, optional=copy.optional) for copy in file.copies),
        files=file.files,
        links=file.links,
        folders=tuple(file.folders),
        environment=file.environment,
    )


def _no(path: Path, why: str) -> Refused:
    return refuse(
        Code.IMAGE_INVALID,
        f"the image declaration {path}: {why}",
        rule="An image is built only from a declaration that is understood whole.",
        remedy="Allowed keys: programs, copies, files, links, folders, environment.",
    )
