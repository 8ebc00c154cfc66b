"""Repositories in JSON."""

from typing import Any

from github_simulator import access, clock
from github_simulator.calls import Actor, AsInstallation, AsUser
from github_simulator.model import Label, Repository
from github_simulator.representation import accounts
from github_simulator.view import View

TEMPLATES = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}


def minimal(view: View, repository: Repository) -> dict[str, Any]:
    """Schema minimal-repository."""
    url = view.repo_api(repository)
    links = {name: url + template for name, template in TEMPLATES.items()}
    return links | {
        "id": repository.id,
        "node_id": accounts.node("R", repository.id),
        "name": repository.name,
        "full_name": view.full_name(repository),
        "owner": accounts.simple(view, view.account(repository.owner_id)),
        "private": repository.private,
        "html_url": view.repo_html(repository),
        "description": repository.description,
        "fork": repository.fork_of is not None,
        "url": url,
    }


def plain(view: View, repository: Repository) -> dict[str, Any]:
    """Schema repository, which also fits repository-webhooks."""
    page = view.repo_html(repository)
    host = view.html.partition("://")[2]
    open_issues = sum(issue.state == "open" for issue in repository.issues.values())
    forks = sum(other.fork_of == repository.id for other in view.state.repositories.values())
    return minimal(view, repository) | {
        "git_url": f"git://{host}/{view.full_name(repository)}.git",
        "ssh_url": f"git@{host}:{view.full_name(repository)}.git",
        "clone_url": f"{page}.git",
        "svn_url": page,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "forks": forks,
        "forks_count": forks,
        "stargazers_count": 0,
        "watchers": 0,
        "watchers_count": 0,
        "size": 0,
        "default_branch": repository.default_branch,
        "open_issues": open_issues,
        "open_issues_count": open_issues,
        "is_template": False,
        "topics": [],
        "has_issues": True,
        "has_projects": True,
        "has_wiki": False,
        "has_pages": False,
        "has_downloads": True,
        "has_discussions": False,
        "archived": repository.archived,
        "disabled": False,
        "visibility": "private" if repository.private else "public",
        "allow_forking": True,
        "web_commit_signoff_required": False,
        "pushed_at": clock.text(repository.pushed_at),
        "created_at": clock.text(repository.created_at),
        "updated_at": clock.text(repository.updated_at),
    }


def permissions(view: View, repository: Repository, actor: Actor) -> dict[str, bool]:
    """The caller's rights in the repository."""
    if isinstance(actor, AsInstallation):
        contents = actor.token.permissions.get("contents")
        level = "push" if contents == "write" else "pull"
        if actor.token.permissions.get("administration") == "write":
            level = "admin"
    else:
        level = access.level_of(view.state, actor.account if isinstance(actor, AsUser) else None, repository)
    return {name: access.at_least(level, name) for name in ("admin", "maintain", "push", "triage", "pull")}


def full(view: View, repository: Repository, actor: Actor) -> dict[str, Any]:
    """Schema full-repository."""
    shown = plain(view, repository) | {
        "permissions": permissions(view, repository, actor),
        "allow_merge_commit": repository.allow_merge_commit,
        "allow_squash_merge": repository.allow_squash_merge,
        "allow_rebase_merge": repository.allow_rebase_merge,
        "allow_auto_merge": False,
        "allow_update_branch": True,
        "delete_branch_on_merge": repository.delete_branch_on_merge,
        "subscribers_count": 0,
        "network_count": 0,
    }
    if repository.owner_id in view.state.organizations:
        shown["organization"] = accounts.simple(view, view.account(repository.owner_id))
    origin = view.state.repositories.get(repository.fork_of) if repository.fork_of is not None else None
    if origin is not None:
        shown["parent"] = shown["source"] = plain(view, origin)
    return shown


def label(view: View, repository: Repository, shown: Label) -> dict[str, Any]:
    """Schema label."""
    return {
        "id": shown.id,
        "node_id": accounts.node("LA", shown.id),
        "url": f"{view.repo_api(repository)}/labels/{shown.name}",
        "name": shown.name,
        "color": shown.color,
        "default": False,
        "description": shown.description,
        "archived_at": None,
        "archived_by": None,
    }
