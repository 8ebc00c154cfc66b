"""Who may do what in a repository, and who is in which team."""

from github_simulator.model import LEVELS, Account, Repository, State, Team

ORGANIZATION_BASE = {"none": "none", "read": "pull", "write": "push", "admin": "admin"}
ROLE_NAMES = {
    "none": "none",
    "pull": "read",
    "triage": "triage",
    "push": "write",
    "maintain": "maintain",
    "admin": "admin",
}
LEGACY_PERMISSIONS = {
    "none": "none",
    "pull": "read",
    "triage": "read",
    "push": "write",
    "maintain": "write",
    "admin": "admin",
}
"""The collaborator permission endpoint folds triage into read and maintain into write (docs.github.com)."""


def at_least(level: str, wanted: str) -> bool:
    """Whether one level includes another."""
    return LEVELS.index(level) >= LEVELS.index(wanted)


def stronger(one: str, other: str) -> str:
    return one if at_least(one, other) else other


def descendants(state: State, team: Team) -> list[Team]:
    """A team and all teams below it."""
    found = [team]
    for member in found:
        found.extend(child for child in state.teams.values() if child.parent_id == member.id)
    return found


def ancestors(state: State, team: Team) -> list[Team]:
    """A team and all teams above it."""
    found = [team]
    while found[-1].parent_id is not None:
        found.append(state.teams[found[-1].parent_id])
    return found


def team_members(state: State, team: Team) -> dict[int, str]:
    """Active members by id with their role; members of child teams are members too."""
    members: dict[int, str] = {}
    for level in descendants(state, team):
        for user_id, membership in level.members.items():
            if membership.state == "active" and user_id in state.accounts:
                role = membership.role if level is team else "member"
                if members.get(user_id) != "maintainer":
                    members[user_id] = role
    return members


def team_level(state: State, team: Team, repository: Repository) -> str:
    """A team's right in a repository; child teams inherit their parents' rights."""
    level = "none"
    for above in ancestors(state, team):
        level = stronger(level, repository.teams.get(above.id, "none"))
    return level


def granted_level(state: State, account_id: int, repository: Repository) -> str:
    """An account's right in a repository by ownership, role, team or invitation."""
    if account_id == repository.owner_id:
        return "admin"
    level: str = repository.collaborators.get(account_id, "none")
    organization = state.organizations.get(repository.owner_id)
    if organization is not None:
        role = organization.members.get(account_id)
        if role == "admin":
            return "admin"
        if role is not None:
            level = stronger(level, ORGANIZATION_BASE[organization.base_permission])
        for team in state.teams.values():
            if team.organization_id == repository.owner_id:
                membership = team.members.get(account_id)
                if membership is not None and membership.state == "active":
                    level = stronger(level, team_level(state, team, repository))
    return level


def level_of(state: State, account: Account | None, repository: Repository) -> str:
    """The right that counts: what was granted, and reading for everyone in a public repository."""
    open_to_all = "none" if repository.private else "pull"
    if account is None:
        return open_to_all
    return stronger(open_to_all, granted_level(state, account.id, repository))


def association(state: State, account_id: int, repository: Repository) -> str:
    """GitHub's ``author_association``."""
    if account_id == repository.owner_id:
        return "OWNER"
    organization = state.organizations.get(repository.owner_id)
    if organization is not None and account_id in organization.members:
        return "MEMBER"
    if account_id in repository.collaborators:
        return "COLLABORATOR"
    merged = any(
        pull.merged_at is not None and repository.issues[number].author_id == account_id
        for number, pull in repository.pulls.items()
    )
    return "CONTRIBUTOR" if merged else "NONE"
