"""Teams and memberships in JSON."""

from typing import Any

from github_simulator import access, clock
from github_simulator.model import Repository, Team, TeamMember
from github_simulator.representation import accounts
from github_simulator.view import View


def url(view: View, team: Team) -> str:
    """The address by ids, which GitHub gives and PyGithub follows."""
    return f"{view.api}/organizations/{team.organization_id}/team/{team.id}"


def simple(view: View, team: Team, level: str = "pull") -> dict[str, Any]:
    """Schema team-simple."""
    address = url(view, team)
    organization = view.account(team.organization_id).login
    return {
        "id": team.id,
        "node_id": accounts.node("T", team.id),
        "url": address,
        "members_url": f"{address}/members{{/member}}",
        "name": team.name,
        "description": team.description,
        "permission": level,
        "privacy": team.privacy,
        "notification_setting": "notifications_enabled",
        "html_url": f"{view.html}/orgs/{organization}/teams/{team.slug}",
        "repositories_url": f"{address}/repos",
        "slug": team.slug,
        "type": "organization",
        "organization_id": team.organization_id,
    }


def listed(view: View, team: Team, repository: Repository | None = None) -> dict[str, Any]:
    """Schema team; with a repository, ``permission`` is the team's right there."""
    level = access.team_level(view.state, team, repository) if repository is not None else "pull"
    parent = view.state.teams[team.parent_id] if team.parent_id is not None else None
    shown = simple(view, team, level) | {"parent": simple(view, parent) if parent is not None else None}
    if repository is not None:
        shown["permissions"] = {
            "pull": access.at_least(level, "pull"),
            "triage": access.at_least(level, "triage"),
            "push": access.at_least(level, "push"),
            "maintain": access.at_least(level, "maintain"),
            "admin": access.at_least(level, "admin"),
        }
    return shown


def full(view: View, team: Team) -> dict[str, Any]:
    """Schema team-full."""
    created = clock.text(team.created_at)
    repositories = sum(
        access.team_level(view.state, team, repo) != "none" for repo in view.state.repositories.values()
    )
    return listed(view, team) | {
        "members_count": len(access.team_members(view.state, team)),
        "repos_count": repositories,
        "created_at": created,
        "updated_at": created,
        "organization": accounts.organization_full(view, view.account(team.organization_id)),
    }


def membership(view: View, team: Team, login: str, member: TeamMember) -> dict[str, Any]:
    """Schema team-membership."""
    return {"url": f"{url(view, team)}/memberships/{login}", "role": member.role, "state": member.state}
