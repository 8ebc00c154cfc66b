"""Users, bots and organizations in JSON."""

from typing import Any

from github_simulator import clock
from github_simulator.model import Account
from github_simulator.view import View


def node(kind: str, number: int) -> str:
    """A GraphQL node id; opaque to clients."""
    return f"{kind}_sim{number:010d}"


def simple(view: View, account: Account) -> dict[str, Any]:
    """Schema simple-user."""
    login = account.login
    url = f"{view.api}/users/{login}"
    page = f"apps/{login.removesuffix('[bot]')}" if account.kind == "Bot" else login
    return {
        "login": login,
        "id": account.id,
        "node_id": node("U" if account.kind == "User" else account.kind, account.id),
        "avatar_url": f"{view.html}/_simulator/avatars/{account.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{view.html}/{page}",
        "followers_url": f"{url}/followers",
        "following_url": f"{url}/following{{/other_user}}",
        "gists_url": f"{url}/gists{{/gist_id}}",
        "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{url}/subscriptions",
        "organizations_url": f"{url}/orgs",
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events{{/privacy}}",
        "received_events_url": f"{url}/received_events",
        "type": account.kind,
        "user_view_type": "public",
        "site_admin": account.site_admin,
    }


def simple_by_id(view: View, account_id: int | None) -> dict[str, Any] | None:
    """Schema nullable-simple-user; a deleted account is null."""
    account = view.state.accounts.get(account_id) if account_id is not None else None
    return simple(view, account) if account is not None else None


def ghost(view: View, account_id: int | None) -> dict[str, Any]:
    """Schema simple-user where null is not allowed: a deleted account becomes GitHub's user ``ghost``."""
    found = simple_by_id(view, account_id)
    if found is not None:
        return found
    return simple(view, Account(id=10137, login="ghost", kind="User", created_at=view.world.clock.now()))


def full(view: View, account: Account, *, private: bool) -> dict[str, Any]:
    """Schema public-user, or private-user for the caller's own account."""
    created = clock.text(account.created_at)
    public: dict[str, Any] = simple(view, account) | {
        "name": account.name,
        "company": None,
        "blog": "",
        "location": None,
        "email": account.email if private else None,
        "hireable": None,
        "bio": None,
        "twitter_username": None,
        "public_repos": 0,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": created,
        "updated_at": created,
    }
    if private:
        public |= {
            "private_gists": 0,
            "total_private_repos": 0,
            "owned_private_repos": 0,
            "disk_usage": 0,
            "collaborators": 0,
            "two_factor_authentication": True,
        }
    return public


def organization_simple(view: View, account: Account) -> dict[str, Any]:
    """Schema organization-simple."""
    url = f"{view.api}/orgs/{account.login}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": node("O", account.id),
        "url": url,
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events",
        "hooks_url": f"{url}/hooks",
        "issues_url": f"{url}/issues",
        "members_url": f"{url}/members{{/member}}",
        "public_members_url": f"{url}/public_members{{/member}}",
        "avatar_url": f"{view.html}/_simulator/avatars/{account.id}",
        "description": "",
    }


def organization_full(view: View, account: Account) -> dict[str, Any]:
    """Schema organization-full."""
    created = clock.text(account.created_at)
    organization = view.state.organizations[account.id]
    return organization_simple(view, account) | {
        "name": account.name or account.login,
        "has_organization_projects": True,
        "has_repository_projects": True,
        "public_repos": sum(
            repo.owner_id == account.id and not repo.private for repo in view.state.repositories.values()
        ),
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "html_url": f"{view.html}/{account.login}",
        "type": "Organization",
        "default_repository_permission": organization.base_permission,
        "created_at": created,
        "updated_at": created,
        "archived_at": None,
    }
