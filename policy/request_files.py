"""Where a request's two committed files stand: the manifest and its rendering.

They stand at the first owned path, so that GitHub itself asks that path's owners for a review.
"""

from __future__ import annotations

from dataclasses import dataclass

from policy.manifest import Manifest
from policy.paths import RECORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFiles:
    """Repository paths of the manifest and of its rendering."""

    manifest: str
    rendering: str


def paths(manifest: Manifest) -> RequestFiles:
    """The paths of this request's files.

    Raises:
        IndexError: when the manifest owns nothing; `policy.approval.decide` voids that before.
    """
    return place(manifest.owned[0], manifest.id)


def place(owned: str, request_id: str) -> RequestFiles:
    """The paths for a request with this id at this owned path."""
    prefix = f"{owned.rstrip('/')}/{RECORDS}/{request_id}"
    return RequestFiles(manifest=f"{prefix}.json", rendering=f"{prefix}.md")
