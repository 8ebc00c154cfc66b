"""Writing down what happened to an issue or pull request."""

from typing import TYPE_CHECKING, Any

from github_simulator.model import Issue, TimelineEvent

if TYPE_CHECKING:
    from github_simulator.records import Records


def record(
    world: "Records",
    issue: Issue,
    kind: str,
    actor_id: int,
    *,
    commit_id: str | None = None,
    via_app_id: int | None = None,
    **details: Any,
) -> None:
    """Append one event to the timeline, now."""
    now = world.clock.now()
    issue.timeline.append(
        TimelineEvent(
            id=world.state.next_id("timeline", 12_000_000_001),
            kind=kind,
            actor_id=actor_id,
            at=now,
            commit_id=commit_id,
            via_app_id=via_app_id,
            details=details,
        )
    )
    issue.updated_at = now
