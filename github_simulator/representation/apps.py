"""Apps and installations in JSON."""

from typing import Any

from github_simulator import clock
from github_simulator.authentication import client_id
from github_simulator.model import App, Installation
from github_simulator.representation import accounts
from github_simulator.view import View


def integration(view: View, app: App) -> dict[str, Any]:
    """Schema integration."""
    created = clock.text(app.created_at)
    return {
        "id": app.id,
        "client_id": client_id(app),
        "slug": app.slug,
        "node_id": accounts.node("A", app.id),
        "owner": accounts.simple(view, view.account(app.owner_id)),
        "name": app.name,
        "description": "",
        "external_url": f"{view.html}/apps/{app.slug}",
        "html_url": f"{view.html}/apps/{app.slug}",
        "created_at": created,
        "updated_at": created,
        "permissions": dict(app.permissions),
        "events": list(app.events),
    }


def integration_or_none(view: View, app_id: int | None) -> dict[str, Any] | None:
    """Schema nullable-integration."""
    app = view.state.apps.get(app_id) if app_id is not None else None
    return integration(view, app) if app is not None else None


def installation(view: View, shown: Installation) -> dict[str, Any]:
    """Schema installation."""
    account = view.account(shown.account_id)
    app = view.state.apps[shown.app_id]
    settings = (
        f"{view.html}/organizations/{account.login}/settings/installations/{shown.id}"
        if account.kind == "Organization"
        else f"{view.html}/settings/installations/{shown.id}"
    )
    return {
        "id": shown.id,
        "client_id": client_id(app),
        "account": accounts.simple(view, account),
        "repository_selection": "all" if shown.repository_ids is None else "selected",
        "access_tokens_url": f"{view.api}/app/installations/{shown.id}/access_tokens",
        "repositories_url": f"{view.api}/installation/repositories",
        "html_url": settings,
        "app_id": app.id,
        "app_slug": app.slug,
        "target_id": account.id,
        "target_type": account.kind,
        "permissions": dict(shown.permissions),
        "events": list(shown.events),
        "created_at": clock.text(shown.created_at),
        "updated_at": clock.text(shown.updated_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": accounts.simple_by_id(view, shown.suspended_by),
        "suspended_at": clock.text(shown.suspended_at) if shown.suspended_at is not None else None,
    }


def pointer(shown: Installation) -> dict[str, Any]:
    """Schema simple-installation, which every webhook of an App carries."""
    return {"id": shown.id, "node_id": accounts.node("MDIz", shown.id)}
