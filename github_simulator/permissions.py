"""What an App's token may do: permission names and their strengths.

Source: docs.github.com, "Permissions required for GitHub Apps".
"""

from github_simulator.calls import AsInstallation

STRENGTH = {"read": 1, "write": 2, "admin": 3}


def allowed(actor: AsInstallation, wanted: str) -> bool:
    """Whether a token has one of the permissions that ``a:write|b:write`` names."""
    for alternative in wanted.split("|"):
        name, _, strength = alternative.partition(":")
        if name == "metadata" and strength == "read":
            return True
        has = actor.token.permissions.get(name)
        if has is not None and STRENGTH.get(has, 0) >= STRENGTH[strength]:
            return True
    return False


def covers(actor: AsInstallation, repository_id: int, owner_id: int) -> bool:
    """Whether the token reaches a repository."""
    if actor.installation.account_id != owner_id:
        return False
    for ids in (actor.installation.repository_ids, actor.token.repository_ids):
        if ids is not None and repository_id not in ids:
            return False
    return True


def within(asked: dict[str, str], granted: dict[str, str]) -> bool:
    """Whether all asked permissions are part of the granted ones."""
    return all(
        STRENGTH.get(value, 9) <= STRENGTH.get(granted.get(name, ""), 0) for name, value in asked.items()
    )
