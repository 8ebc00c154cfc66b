"""Webhook events: what is told, and to which Apps and hooks.

An App hears an event if it is subscribed to it and one of its installations reaches the repository or
organization; a repository's own hook if it lists the event. Events about the installation itself always
go to its App (docs.github.com, "Webhook events and payloads").
"""

from typing import TYPE_CHECKING, Any

from github_simulator.model import (
    Account,
    App,
    Hook,
    Installation,
    Issue,
    PullRequest,
    Repository,
    Review,
    State,
)
from github_simulator.representation import accounts, apps, issues, pulls, repositories

if TYPE_CHECKING:
    from github_simulator.records import Records

ALWAYS = frozenset({"installation", "installation_repositories", "ping"})


def emit(
    world: "Records",
    event: str,
    action: str | None,
    content: dict[str, Any],
    *,
    sender: Account,
    repository: Repository | None = None,
    organization_id: int | None = None,
    only: Installation | None = None,
) -> None:
    """Queue an event for everybody who should hear it."""
    view = world.view()
    payload: dict[str, Any] = {"action": action} if action is not None else {}
    payload |= content
    if repository is not None:
        payload["repository"] = repositories.plain(view, repository)
        if repository.owner_id in world.state.organizations:
            organization_id = repository.owner_id
    if organization_id is not None:
        payload["organization"] = accounts.organization_simple(view, view.account(organization_id))
    payload["sender"] = accounts.simple(view, sender)
    repository_id = repository.id if repository is not None else None
    for app, installation in _listeners(world.state, event, repository, organization_id, only):
        full = payload | {"installation": payload.get("installation", apps.pointer(installation))}
        world.checked_webhook(event, action, full)
        world.deliveries.add(
            hook=app.hook,
            target_type="integration",
            target_id=app.id,
            event=event,
            action=action,
            payload=full,
            installation_id=installation.id,
            repository_id=repository_id,
        )
    if repository is None:
        return
    for hook in repository.hooks.values():
        if event in hook.events or "*" in hook.events:
            send_to_hook(world, repository, hook, event, action, payload)


def send_to_hook(
    world: "Records",
    repository: Repository,
    hook: Hook,
    event: str,
    action: str | None,
    payload: dict[str, Any],
) -> None:
    """Queue an event for one hook of a repository."""
    world.checked_webhook(event, action, payload)
    world.deliveries.add(
        hook=hook,
        target_type="repository",
        target_id=repository.id,
        event=event,
        action=action,
        payload=payload,
        installation_id=None,
        repository_id=repository.id,
    )


def _listeners(
    state: State,
    event: str,
    repository: Repository | None,
    organization_id: int | None,
    only: Installation | None,
) -> list[tuple[App, Installation]]:
    if only is not None:
        return [(state.apps[only.app_id], only)]
    found = []
    for installation in state.installations.values():
        owner_id = repository.owner_id if repository is not None else organization_id
        if installation.account_id != owner_id or installation.suspended_at is not None:
            continue
        if event not in installation.events and event not in ALWAYS:
            continue
        ids = installation.repository_ids
        if repository is not None and ids is not None and repository.id not in ids:
            continue
        found.append((state.apps[installation.app_id], installation))
    return found


def pull_request(
    world: "Records", repository: Repository, pull: PullRequest, action: str, sender: Account, **more: Any
) -> None:
    """An event about a pull request."""
    view = world.view()
    shown = pulls.full(view, repository, pull, mergeable=None, state="unknown")
    content = {"number": pull.number, "pull_request": shown} | more
    emit(world, "pull_request", action, content, sender=sender, repository=repository)


def review(
    world: "Records",
    repository: Repository,
    pull: PullRequest,
    given: Review,
    action: str,
    sender: Account,
    **more: Any,
) -> None:
    """An event about a review; its state is in lower case here, unlike in the REST API."""
    view = world.view()
    shown = issues.review(view, repository, pull.number, given)
    shown |= {"state": given.state.lower(), "body": given.body or None}
    content = {"review": shown, "pull_request": pulls.simple(view, repository, pull)} | more
    emit(world, "pull_request_review", action, content, sender=sender, repository=repository)


def issue(
    world: "Records", repository: Repository, shown: Issue, action: str, sender: Account, **more: Any
) -> None:
    """An event about an issue that is no pull request."""
    content = {"issue": issues.issue(world.view(), repository, shown)} | more
    emit(world, "issues", action, content, sender=sender, repository=repository)
