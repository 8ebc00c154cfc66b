"""Who is asked to review a pull request."""

from github_simulator import access, events, pushes, timeline
from github_simulator.calls import AsInstallation, Call, Refusal, Reply
from github_simulator.model import PullRequest
from github_simulator.operations.pull_requests import found
from github_simulator.representation import accounts, pulls, teams
from github_simulator.routing import operation


@operation("GET /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", app="pull_requests:read")
def requested(call: Call) -> Reply:
    pull = found(call)
    return Reply(
        body={
            "users": [accounts.ghost(call.view, user) for user in pull.requested_reviewers],
            "teams": [teams.listed(call.view, call.state.teams[team]) for team in pull.requested_teams],
        }
    )


def _asked(call: Call) -> tuple[list[int], list[int]]:
    """Numbers of the users and teams that the body names. Raises Refusal 422 for those who cannot review."""
    users, found_teams = [], []
    for login in (call.body or {}).get("reviewers") or ():
        account = call.state.account_by_login(login)
        if account is None or access.level_of(call.state, account, call.repo) == "none":
            raise _outsider(call)
        users.append(account.id)
    for slug in (call.body or {}).get("team_reviewers") or ():
        team = call.state.team_by_slug(call.repo.owner_id, slug)
        if team is None or access.team_level(call.state, team, call.repo) == "none":
            raise _outsider(call)
        found_teams.append(team.id)
    return users, found_teams


def _outsider(call: Call) -> Refusal:
    name = call.state.full_name(call.repo)
    return Refusal(
        422,
        "Reviews may only be requested from collaborators. One or more of the users or teams you specified "
        f"is not a collaborator of the {name} repository.",
    )


def _may_ask(call: Call, pull: PullRequest) -> None:
    if isinstance(call.actor, AsInstallation) or call.repo.issues[pull.number].author_id == call.account.id:
        return
    if not access.at_least(access.level_of(call.state, call.account, call.repo), "triage"):
        raise Refusal(403, "Must have admin rights to Repository.")


@operation("POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", app="pull_requests:write")
def request(call: Call) -> Reply:
    pull = found(call)
    _may_ask(call, pull)
    users, asked_teams = _asked(call)
    if call.repo.issues[pull.number].author_id in users:
        raise Refusal(422, "Review cannot be requested from pull request author.")
    pushes.ask(call.world, call.repo, pull, users, asked_teams, call.account, call.via_app_id)
    return Reply(status=201, body=pulls.simple(call.view, call.repo, pull))


@operation("DELETE /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", app="pull_requests:write")
def withdraw(call: Call) -> Reply:
    pull = found(call)
    _may_ask(call, pull)
    users, asked_teams = _asked(call)
    issue, view = call.repo.issues[pull.number], call.view
    for user in [user for user in users if user in pull.requested_reviewers]:
        pull.requested_reviewers.remove(user)
        timeline.record(
            call.world,
            issue,
            "review_request_removed",
            call.account.id,
            via_app_id=call.via_app_id,
            requested_reviewer_id=user,
        )
        shown = accounts.simple(view, view.account(user))
        events.pull_request(
            call.world, call.repo, pull, "review_request_removed", call.account, requested_reviewer=shown
        )
    for team in [team for team in asked_teams if team in pull.requested_teams]:
        pull.requested_teams.remove(team)
        timeline.record(
            call.world,
            issue,
            "review_request_removed",
            call.account.id,
            via_app_id=call.via_app_id,
            requested_team_id=team,
        )
        listed = teams.listed(view, call.state.teams[team])
        events.pull_request(
            call.world, call.repo, pull, "review_request_removed", call.account, requested_team=listed
        )
    return Reply(body=pulls.simple(call.view, call.repo, pull))
