"""The long texts and the source's bytes of a request, apart from its row because few steps read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from sqlalchemy import Connection, insert, select

from bot.request_tables import papers, source_changes, source_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """The long texts of a planned request: canonical manifest, rendering, and what the runner sent.

    Attributes:
        title, body: of the pull request.
        masked_plan: the plan's JSON without sensitive values; None without a preview.
        sealed_plan: the plan as the runner sealed it, base64; None without a plan.
    """

    manifest: str
    rendering: str
    title: str
    body: str
    masked_plan: str | None
    sealed_plan: str | None


def keep_papers(connection: Connection, request_id: str, kept: Papers) -> None:
    """Stores the long texts, once."""
    connection.execute(
        insert(papers).values(
            request_id=request_id, **{field.name: getattr(kept, field.name) for field in fields(Papers)}
        )
    )


def papers_of(connection: Connection, request_id: str) -> Papers | None:
    """The long texts; None before the request was planned."""
    row = connection.execute(
        select(*(papers.c[field.name] for field in fields(Papers))).where(papers.c.request_id == request_id)
    ).first()
    return None if row is None else Papers(**row._mapping)


def keep_source(
    connection: Connection,
    request_id: str,
    files: Mapping[str, bytes],
    changes: Mapping[str, bytes | None],
) -> None:
    """Stores the source's exact bytes, and what of it the pull request changes."""
    if files:
        connection.execute(
            insert(source_files),
            [{"request_id": request_id, "path": path, "content": data} for path, data in files.items()],
        )
    if changes:
        connection.execute(
            insert(source_changes),
            [{"request_id": request_id, "path": path, "content": data} for path, data in changes.items()],
        )


def source_of(connection: Connection, request_id: str) -> dict[str, bytes]:
    """The source's bytes by repository path; empty for a request without source."""
    rows = connection.execute(
        select(source_files.c.path, source_files.c.content).where(source_files.c.request_id == request_id)
    )
    return {str(path): bytes(content) for path, content in rows}


def changes_of(connection: Connection, request_id: str) -> dict[str, bytes | None]:
    """What the pull request changes in the source, by repository path; None deletes."""
    rows = connection.execute(
        select(source_changes.c.path, source_changes.c.content).where(
            source_changes.c.request_id == request_id
        )
    )
    return {str(path): None if content is None else bytes(content) for path, content in rows}
