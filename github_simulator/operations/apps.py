"""GitHub Apps: themselves, their installations, tokens and webhook."""

import secrets
from typing import Any

from github_simulator import clock
from github_simulator.authentication import TOKEN_LIFE
from github_simulator.calls import AsApp, AsInstallation, Call, Refusal, Reply, not_found
from github_simulator.model import App, Installation, InstallationToken, Repository
from github_simulator.operations import hooks as hook_operations
from github_simulator.permissions import within
from github_simulator.representation import apps, hooks, repositories
from github_simulator.routing import operation


def _app(call: Call) -> App:
    if not isinstance(call.actor, AsApp):
        raise Refusal(401, "A JSON web token could not be decoded")
    return call.actor.app


def _own_installation(call: Call) -> Installation:
    found = call.state.installations.get(call.number("installation_id"))
    if found is None or found.app_id != _app(call).id:
        raise not_found()
    return found


@operation("GET /app", audience="app_jwt")
def me(call: Call) -> Reply:
    """The App that signed the JWT."""
    app = _app(call)
    count = sum(installation.app_id == app.id for installation in call.state.installations.values())
    return Reply(body=apps.integration(call.view, app) | {"installations_count": count})


@operation("GET /app/installations", audience="app_jwt")
def installations(call: Call) -> Reply:
    own = [found for found in call.state.installations.values() if found.app_id == _app(call).id]
    return call.page(own, lambda found: apps.installation(call.view, found))


@operation("GET /app/installations/{installation_id}", audience="app_jwt")
def installation(call: Call) -> Reply:
    return Reply(body=apps.installation(call.view, _own_installation(call)))


@operation("GET /orgs/{org}/installation", audience="app_jwt")
def of_organization(call: Call) -> Reply:
    account = call.state.account_by_login(call.parameters["org"])
    for found in call.state.installations.values():
        if account is not None and found.account_id == account.id and found.app_id == _app(call).id:
            return Reply(body=apps.installation(call.view, found))
    raise not_found()


@operation("GET /repos/{owner}/{repo}/installation", audience="app_jwt")
def of_repository(call: Call) -> Reply:
    for found in call.state.installations.values():
        ids = found.repository_ids
        reached = ids is None or call.repo.id in ids
        if found.account_id == call.repo.owner_id and found.app_id == _app(call).id and reached:
            return Reply(body=apps.installation(call.view, found))
    raise not_found()


@operation("POST /app/installations/{installation_id}/access_tokens", audience="app_jwt")
def create_token(call: Call) -> Reply:
    """A token for an hour. Absent or empty ``permissions`` mean all that the installation has."""
    found, asked = _own_installation(call), call.body or {}
    if found.suspended_at is not None:
        raise Refusal(403, "This installation has been suspended")
    wanted: dict[str, str] = asked.get("permissions") or {}
    if not within(wanted, found.permissions):
        raise Refusal(422, "The permissions requested are not granted to this installation.")
    narrowed = _asked_repositories(call, found, asked)
    token = f"ghs_{secrets.token_urlsafe(27).replace('-', 'a').replace('_', 'b')[:36]}"
    granted = ({"metadata": "read"} | wanted) if wanted else dict(found.permissions)
    expires = call.now + TOKEN_LIFE
    call.state.installation_tokens[token] = InstallationToken(
        installation_id=found.id,
        permissions=granted,
        repository_ids=[repository.id for repository in narrowed] if narrowed is not None else None,
        expires_at=expires,
    )
    body: dict[str, Any] = {
        "token": token,
        "expires_at": clock.text(expires),
        "permissions": granted,
        "repository_selection": "all" if found.repository_ids is None and narrowed is None else "selected",
    }
    if narrowed is not None:
        body["repositories"] = [repositories.plain(call.view, repository) for repository in narrowed]
    return Reply(status=201, body=body)


def _asked_repositories(call: Call, found: Installation, asked: dict[str, Any]) -> list[Repository] | None:
    ids = list(asked.get("repository_ids") or ())
    for name in asked.get("repositories") or ():
        repository = call.state.repository_by_name(call.state.accounts[found.account_id].login, name)
        ids.append(repository.id if repository is not None else -1)
    if not ids:
        return None
    reached = []
    for number in ids:
        repository = call.state.repositories.get(number)
        allowed = found.repository_ids is None or number in found.repository_ids
        if repository is None or repository.owner_id != found.account_id or not allowed:
            raise Refusal(
                422,
                "There is at least one repository that does not exist or is not accessible to the parent "
                "installation.",
            )
        reached.append(repository)
    return reached


@operation("GET /installation/repositories", audience="installation")
def reached_repositories(call: Call) -> Reply:
    actor = call.actor
    if not isinstance(actor, AsInstallation):
        raise not_found()
    reached = []
    for repository in call.state.repositories.values():
        narrowed = (actor.installation.repository_ids, actor.token.repository_ids)
        outside = any(ids is not None and repository.id not in ids for ids in narrowed)
        if repository.owner_id == actor.installation.account_id and not outside:
            reached.append(repository)
    reply = call.page(reached, lambda shown: repositories.plain(call.view, shown), wrap="repositories")
    selection = "all" if actor.installation.repository_ids is None else "selected"
    return Reply(body=reply.body | {"repository_selection": selection}, headers=reply.headers)


@operation("DELETE /installation/token", audience="installation")
def revoke_token(call: Call) -> Reply:
    if isinstance(call.actor, AsInstallation):
        tokens = call.state.installation_tokens
        for token in [token for token, granted in tokens.items() if granted is call.actor.token]:
            del tokens[token]
    return Reply(status=204)


@operation("GET /app/hook/config", audience="app_jwt")
def hook_config(call: Call) -> Reply:
    return Reply(body=hooks.config(_app(call).hook))


@operation("PATCH /app/hook/config", audience="app_jwt")
def change_hook_config(call: Call) -> Reply:
    hook, asked = _app(call).hook, call.body or {}
    hook.url = asked.get("url", hook.url)
    hook.secret = asked.get("secret", hook.secret)
    hook.content_type = asked.get("content_type", hook.content_type)
    hook.insecure_ssl = str(asked.get("insecure_ssl", hook.insecure_ssl))
    hook.updated_at = call.now
    return Reply(body=hooks.config(hook))


@operation("GET /app/hook/deliveries", audience="app_jwt")
def app_deliveries(call: Call) -> Reply:
    return hook_operations.list_deliveries(call, _app(call).hook)


@operation("GET /app/hook/deliveries/{delivery_id}", audience="app_jwt")
def app_delivery(call: Call) -> Reply:
    return Reply(body=hooks.delivery(hook_operations.found_delivery(call, _app(call).hook)))


@operation("POST /app/hook/deliveries/{delivery_id}/attempts", audience="app_jwt")
def redeliver_app(call: Call) -> Reply:
    call.world.deliveries.redeliver(hook_operations.found_delivery(call, _app(call).hook))
    return Reply(status=202, body={})
