"""The paths whose owners decide about a request."""

from __future__ import annotations

from collections.abc import Iterable

from policy import paths, request_files
from policy.facts import ChangedFile
from policy.manifest import Manifest


def of(files: Iterable[ChangedFile], manifest: Manifest) -> tuple[str, ...]:
    """Each changed file by its old and its new name, each source file, each owned path; sorted.

    The request's own two files are routed to owners by where they stand, but decide nothing.
    """
    changed = {name for file in files for name in (file.path, file.previous_path) if name is not None}
    if manifest.owned:
        own = request_files.paths(manifest)
        changed -= {own.manifest, own.rendering}
    source = {file.path for file in manifest.source.files} if manifest.source else set()
    return tuple(sorted(changed | source | set(manifest.owned)))


def in_source(path: str, manifest: Manifest) -> bool:
    """Whether a path lies in the request's source folder, where a request may change files."""
    source = manifest.source
    return source is not None and paths.inside(path, source.path) and not paths.is_record(path)
