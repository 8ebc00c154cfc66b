"""Organizations, their members and teams."""

from github_simulator import access
from github_simulator.calls import AsInstallation, AsUser, Call, Refusal, Reply, not_found
from github_simulator.model import Account, Team, TeamMember
from github_simulator.representation import accounts, repositories, teams
from github_simulator.routing import operation


def _organization(call: Call) -> Account:
    account = call.state.account_by_login(call.parameters["org"])
    if account is None or account.id not in call.state.organizations:
        raise not_found()
    return account


def _insider(call: Call, account: Account) -> bool:
    """Whether the caller is a member, or an App installed on the organization."""
    match call.actor:
        case AsInstallation(installation=installation):
            return installation.account_id == account.id
        case AsUser(account=user):
            return user.id in call.state.organizations[account.id].members
        case _:
            return False


def _is_admin(call: Call, account: Account) -> bool:
    match call.actor:
        case AsInstallation():
            return True
        case AsUser(account=user):
            return call.state.organizations[account.id].members.get(user.id) == "admin"
        case _:
            return False


def _team(call: Call) -> Team:
    """The team of the path. Secret teams exist only for their members, owners and Apps."""
    account = _organization(call)
    team = call.state.team_by_slug(account.id, call.parameters["team_slug"])
    if team is None or not _insider(call, account):
        raise not_found()
    if team.privacy == "secret" and not _is_admin(call, account) and call.account.id not in team.members:
        raise not_found()
    return team


@operation("GET /orgs/{org}", audience="anyone")
def organization(call: Call) -> Reply:
    return Reply(body=accounts.organization_full(call.view, _organization(call)))


@operation("GET /orgs/{org}/members", app="members:read")
def members(call: Call) -> Reply:
    account = _organization(call)
    found = call.state.organizations[account.id].members if _insider(call, account) else {}
    wanted = call.query.get("role", "all")
    chosen = [user for user, role in found.items() if wanted in {"all", role}]
    return call.page(chosen, lambda user: accounts.simple(call.view, call.view.account(user)))


@operation("GET /orgs/{org}/memberships/{username}", app="members:read")
def membership(call: Call) -> Reply:
    account = _organization(call)
    user = call.state.account_by_login(call.parameters["username"])
    record = call.state.organizations[account.id]
    if not _insider(call, account):
        raise Refusal(403, "You must be a member of this organization to see its members.")
    if user is None or (user.id not in record.members and user.id not in record.pending_members):
        raise not_found()
    url = f"{call.view.api}/orgs/{account.login}"
    return Reply(
        body={
            "url": f"{url}/memberships/{user.login}",
            "state": "active" if user.id in record.members else "pending",
            "role": record.members.get(user.id, "member"),
            "organization_url": url,
            "organization": accounts.organization_simple(call.view, account),
            "user": accounts.simple(call.view, user),
        }
    )


@operation("GET /orgs/{org}/teams", app="members:read")
def teams_of(call: Call) -> Reply:
    account = _organization(call)
    if not _insider(call, account):
        raise not_found()
    visible = [
        team
        for team in call.state.teams.values()
        if team.organization_id == account.id
        and (team.privacy == "closed" or _is_admin(call, account) or call.account.id in team.members)
    ]
    return call.page(visible, lambda team: teams.listed(call.view, team))


@operation("GET /orgs/{org}/teams/{team_slug}", app="members:read")
def team(call: Call) -> Reply:
    return Reply(body=teams.full(call.view, _team(call)))


@operation("GET /orgs/{org}/teams/{team_slug}/teams", app="members:read")
def child_teams(call: Call) -> Reply:
    parent = _team(call)
    children = [team for team in call.state.teams.values() if team.parent_id == parent.id]
    return call.page(children, lambda team: teams.listed(call.view, team))


@operation("GET /orgs/{org}/teams/{team_slug}/members", app="members:read")
def team_members(call: Call) -> Reply:
    """Active members, those of child teams included."""
    wanted = call.query.get("role", "all")
    found = access.team_members(call.state, _team(call))
    chosen = [user for user, role in found.items() if wanted in {"all", role}]
    return call.page(chosen, lambda user: accounts.simple(call.view, call.view.account(user)))


@operation("GET /orgs/{org}/teams/{team_slug}/memberships/{username}", app="members:read")
def team_membership(call: Call) -> Reply:
    """One person's membership; members of child teams are members, others are not found."""
    found = _team(call)
    user = call.state.account_by_login(call.parameters["username"])
    if user is None:
        raise not_found()
    member = found.members.get(user.id)
    if member is None and user.id in access.team_members(call.state, found):
        member = TeamMember()
    if member is None:
        raise not_found()
    return Reply(body=teams.membership(call.view, found, user.login, member))


@operation("PUT /orgs/{org}/teams/{team_slug}/memberships/{username}", app="members:write")
def add_team_member(call: Call) -> Reply:
    """Add a person; who is not yet in the organization is invited and stays pending."""
    account, found = _organization(call), _team(call)
    user = call.state.account_by_login(call.parameters["username"])
    if not _is_admin(call, account):
        raise Refusal(403, "Must have admin rights to Repository.")
    if user is None:
        raise not_found()
    if user.id not in call.state.organizations[account.id].members:
        call.state.organizations[account.id].pending_members.add(user.id)
        found.members[user.id] = TeamMember(role=(call.body or {}).get("role", "member"), state="pending")
    else:
        call.world.add_to_team(f"{account.login}/{found.slug}", user.login, by=call.account.login)
        found.members[user.id].role = (call.body or {}).get("role", "member")
    return Reply(body=teams.membership(call.view, found, user.login, found.members[user.id]))


@operation("DELETE /orgs/{org}/teams/{team_slug}/memberships/{username}", app="members:write")
def remove_team_member(call: Call) -> Reply:
    account, found = _organization(call), _team(call)
    if not _is_admin(call, account):
        raise Refusal(403, "Must have admin rights to Repository.")
    if call.state.account_by_login(call.parameters["username"]) is None:
        raise not_found()
    call.world.remove_from_team(
        f"{account.login}/{found.slug}", call.parameters["username"], by=call.account.login
    )
    return Reply(status=204)


@operation("GET /orgs/{org}/teams/{team_slug}/repos/{owner}/{repo}", app="members:read")
def team_repository(call: Call) -> Reply:
    """Whether a team has a right in a repository: 204, or its right with the repository media type."""
    found = _team(call)
    repository = call.state.repository_by_name(call.parameters["owner"], call.parameters["repo"])
    if repository is None:
        raise not_found()
    level = access.team_level(call.state, found, repository)
    if level == "none":
        raise not_found()
    if "repository" not in call.accept:
        return Reply(status=204)
    rights = {name: access.at_least(level, name) for name in ("admin", "maintain", "push", "triage", "pull")}
    body = repositories.plain(call.view, repository) | {
        "permissions": rights,
        "role_name": access.ROLE_NAMES[level],
    }
    return Reply(body=body)
