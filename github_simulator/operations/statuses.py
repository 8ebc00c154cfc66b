"""Commit statuses."""

from github_simulator import events
from github_simulator.calls import Call, Refusal, Reply
from github_simulator.model import Status
from github_simulator.operations.commits import resolved
from github_simulator.representation import checks, commits, repositories
from github_simulator.routing import operation

MOST_FOR_A_CONTEXT = 1000


@operation("POST /repos/{owner}/{repo}/statuses/{sha}", app="statuses:write", level="push")
def create(call: Call) -> Reply:
    sha = call.parameters["sha"]
    commit = call.world.store(call.repo).commit(sha)
    if commit is None:
        raise Refusal(422, f"No commit found for SHA: {sha}")
    context = call.body.get("context") or "default"
    if sum((one.sha, one.context) == (sha, context) for one in call.repo.statuses) >= MOST_FOR_A_CONTEXT:
        message = "This SHA and context has reached the maximum number of statuses."
        raise Refusal(
            422, "Validation Failed", [{"resource": "Status", "code": "custom", "message": message}]
        )
    status = Status(
        id=call.state.next_id("status", 20_000_001),
        sha=sha,
        state=call.body["state"],
        context=context,
        description=call.body.get("description"),
        target_url=call.body.get("target_url"),
        creator_id=call.account.id,
        created_at=call.now,
    )
    call.repo.statuses.append(status)
    shown = checks.status(call.view, call.repo, status)
    branches = [
        {"name": ref.removeprefix("refs/heads/"), "commit": {"sha": sha, "url": ""}, "protected": False}
        for ref, tip in call.repo.refs.items()
        if ref.startswith("refs/heads/") and tip == sha
    ]
    content = {
        "id": status.id,
        "sha": sha,
        "name": call.state.full_name(call.repo),
        "avatar_url": shown["avatar_url"],
        "target_url": status.target_url,
        "context": context,
        "description": status.description,
        "state": status.state,
        "commit": commits.commit(call.view, call.repo, commit),
        "branches": branches,
        "created_at": shown["created_at"],
        "updated_at": shown["updated_at"],
    }
    events.emit(call.world, "status", None, content, sender=call.account, repository=call.repo)
    return Reply(status=201, body=shown, headers={"location": shown["url"]})


@operation("GET /repos/{owner}/{repo}/commits/{ref}/statuses", app="statuses:read")
def list_statuses(call: Call) -> Reply:
    """All statuses of a commit, newest first."""
    sha = resolved(call, call.parameters["ref"])
    chosen = [status for status in reversed(call.repo.statuses) if status.sha == sha]
    return call.page(chosen, lambda status: checks.status(call.view, call.repo, status))


@operation("GET /repos/{owner}/{repo}/commits/{ref}/status", app="statuses:read")
def combined(call: Call) -> Reply:
    """The latest status of each context and what they come to; pending when there are none."""
    sha = resolved(call, call.parameters["ref"])
    latest: dict[str, Status] = {}
    for status in call.repo.statuses:
        if status.sha == sha:
            latest[status.context] = status
    states = {status.state for status in latest.values()}
    state = "failure" if states & {"failure", "error"} else "success" if states == {"success"} else "pending"
    page = call.page(latest.values(), lambda status: checks.status(call.view, call.repo, status, simple=True))
    url = f"{call.view.repo_api(call.repo)}/commits/{sha}"
    body = {
        "state": state,
        "statuses": page.body,
        "sha": sha,
        "total_count": len(latest),
        "repository": repositories.minimal(call.view, call.repo),
        "commit_url": url,
        "url": f"{url}/status",
    }
    return Reply(body=body, headers=page.headers)
