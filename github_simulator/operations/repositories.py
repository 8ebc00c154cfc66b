"""Repositories, collaborators, teams with access, CODEOWNERS errors, tarballs."""

from github_simulator import access, codeowners
from github_simulator.calls import Call, Reply, not_found
from github_simulator.model import LEVELS, Account
from github_simulator.representation import accounts, repositories, teams
from github_simulator.routing import operation


@operation("GET /repos/{owner}/{repo}")
def get(call: Call) -> Reply:
    return Reply(body=repositories.full(call.view, call.repo, call.actor))


@operation(
    "PATCH /repos/{owner}/{repo}",
    app="administration:write",
    level="admin",
    refused=(403, "Must have admin rights to Repository."),
)
def update(call: Call) -> Reply:
    """Settings that the simulator knows, and the name."""
    asked, repository = call.body or {}, call.repo
    for name in ("description", "private", "archived", "delete_branch_on_merge"):
        if name in asked:
            setattr(repository, name, asked[name])
    for name in ("allow_merge_commit", "allow_squash_merge", "allow_rebase_merge"):
        if name in asked:
            setattr(repository, name, asked[name])
    if asked.get("name", repository.name) != repository.name:
        call.world.rename_repository(call.world.seeded(repository), asked["name"], by=call.account.login)
    repository.updated_at = call.now
    return Reply(body=repositories.full(call.view, repository, call.actor))


def _people(call: Call) -> list[tuple[Account, str]]:
    found = []
    for account in call.state.accounts.values():
        level = access.granted_level(call.state, account.id, call.repo) if account.kind == "User" else "none"
        if level != "none":
            found.append((account, level))
    return found


@operation(
    "GET /repos/{owner}/{repo}/collaborators",
    level="push",
    refused=(403, "Must have push access to view repository collaborators."),
)
def collaborators(call: Call) -> Reply:
    """Everybody with a granted right; ``affiliation`` and ``permission`` narrow the list."""
    wanted, affiliation = call.query.get("permission"), call.query.get("affiliation", "all")
    organization = call.state.organizations.get(call.repo.owner_id)
    found = []
    for account, level in _people(call):
        if wanted is not None and level != wanted:
            continue
        if affiliation == "direct" and account.id not in call.repo.collaborators:
            continue
        member = organization is not None and account.id in organization.members
        if affiliation == "outside" and (member or account.id not in call.repo.collaborators):
            continue
        found.append((account, level))
    return call.page(
        found,
        lambda entry: (
            accounts.simple(call.view, entry[0])
            | {
                "permissions": {name: access.at_least(entry[1], name) for name in LEVELS[1:]},
                "role_name": access.ROLE_NAMES[entry[1]],
            }
        ),
    )


@operation("GET /repos/{owner}/{repo}/collaborators/{username}", level="push")
def is_collaborator(call: Call) -> Reply:
    account = call.state.account_by_login(call.parameters["username"])
    if account is None or access.granted_level(call.state, account.id, call.repo) == "none":
        raise not_found()
    return Reply(status=204)


@operation(
    "GET /repos/{owner}/{repo}/collaborators/{username}/permission",
    level="push",
    refused=(403, "Must have push access to view collaborator permission."),
)
def permission(call: Call) -> Reply:
    """A person's right; ``permission`` folds triage into read and maintain into write, ``role_name`` not."""
    account = call.state.account_by_login(call.parameters["username"])
    if account is None:
        raise not_found()
    level = access.level_of(call.state, account, call.repo)
    shown = accounts.simple(call.view, account) | {
        "permissions": {name: access.at_least(level, name) for name in LEVELS[1:]},
        "role_name": access.ROLE_NAMES[level],
    }
    body = {
        "permission": access.LEGACY_PERMISSIONS[level],
        "role_name": access.ROLE_NAMES[level],
        "user": shown,
    }
    return Reply(body=body)


@operation("GET /repos/{owner}/{repo}/teams", app="administration:read", level="admin")
def teams_with_access(call: Call) -> Reply:
    found = [
        team for team in call.state.teams.values() if access.team_level(call.state, team, call.repo) != "none"
    ]
    return call.page(found, lambda team: teams.listed(call.view, team, call.repo))


@operation("GET /repos/{owner}/{repo}/codeowners/errors", app="contents:read")
def codeowners_errors(call: Call) -> Reply:
    sha = call.world.resolve(call.repo, call.query.get("ref", call.repo.default_branch))
    if sha is None:
        raise not_found()
    lines, place = call.world.codeowners(call.repo, sha)
    if not place:
        raise not_found()
    return Reply(body={"errors": codeowners.errors(call.state, call.repo, lines, place)})


@operation("GET /repos/{owner}/{repo}/tarball/{ref}", app="contents:read")
def tarball(call: Call) -> Reply:
    """A redirect to an address that serves the archive for a short time."""
    sha = call.world.resolve(call.repo, call.parameters["ref"])
    if sha is None:
        raise not_found()
    ticket = call.world.archive_ticket(call.repo, sha)
    return Reply(status=302, headers={"location": f"{call.view.html}/_codeload/{ticket}"})
