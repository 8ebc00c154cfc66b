"""Issues, and what a pull request shares with them."""

from typing import Any

from github_simulator import events, pushes, timeline
from github_simulator.calls import Call, Refusal, Reply, not_found
from github_simulator.model import Issue, Label
from github_simulator.operations.bodies import checked_body
from github_simulator.operations.labels import ensure, set_labels
from github_simulator.operations.pull_requests import edit_texts, may_edit, new_issue
from github_simulator.representation import issues
from github_simulator.routing import operation


def found(call: Call) -> Issue:
    """The issue or pull request that the path names."""
    issue = call.repo.issues.get(call.number("issue_number"))
    if issue is None:
        raise not_found()
    return issue


@operation("GET /repos/{owner}/{repo}/issues", app="issues:read|pull_requests:read")
def list_issues(call: Call) -> Reply:
    """Issues and pull requests, newest first."""
    query, wanted = call.query, call.query.get("state", "open")
    labels = [name for name in query.get("labels", "").split(",") if name]
    chosen = [
        issue
        for issue in reversed(call.repo.issues.values())
        if wanted in {"all", issue.state} and all(label in issue.labels for label in labels)
    ]
    creator = query.get("creator")
    if creator is not None:
        account = call.state.account_by_login(creator)
        chosen = [issue for issue in chosen if account is not None and issue.author_id == account.id]
    return call.page(chosen, lambda issue: issues.issue(call.view, call.repo, issue))


@operation("POST /repos/{owner}/{repo}/issues", app="issues:write")
def create(call: Call) -> Reply:
    asked = call.body
    title = str(asked["title"])
    if not title.strip():
        problem = {"resource": "Issue", "code": "missing_field", "field": "title"}
        raise Refusal(422, "Validation Failed", [problem])
    body = checked_body(asked.get("body"))
    issue = new_issue(call, max(call.repo.issues, default=0) + 1, title, body)
    for label in asked.get("labels") or ():
        issue.labels.append(_label_name(call, label))
    events.issue(call.world, call.repo, issue, "opened", call.account)
    shown = issues.issue(call.view, call.repo, issue)
    return Reply(status=201, body=shown, headers={"location": shown["url"]})


def _label_name(call: Call, label: Any) -> str:
    found_label: Label = ensure(call, label if isinstance(label, str) else label["name"])
    return found_label.name


@operation("GET /repos/{owner}/{repo}/issues/{issue_number}", app="issues:read|pull_requests:read")
def get(call: Call) -> Reply:
    return Reply(body=issues.issue(call.view, call.repo, found(call)))


@operation("PATCH /repos/{owner}/{repo}/issues/{issue_number}", app="issues:write|pull_requests:write")
def update(call: Call) -> Reply:
    """Change title, body, labels or state of an issue or pull request."""
    issue, asked = found(call), call.body or {}
    may_edit(call, issue)
    pull = call.repo.pulls.get(issue.number)
    changes = edit_texts(call, issue, asked)
    if changes and pull is not None:
        events.pull_request(call.world, call.repo, pull, "edited", call.account, changes=changes)
    elif changes:
        events.issue(call.world, call.repo, issue, "edited", call.account, changes=changes)
    if "labels" in asked:
        wanted = [_label_name(call, label) for label in asked["labels"] or ()]
        set_labels(call, issue, wanted)
    state = asked.get("state", issue.state)
    if state == "closed" and issue.state == "open":
        _close(call, issue, asked.get("state_reason") or "completed")
    elif state == "open" and issue.state == "closed":
        if pull is not None:
            raise Refusal(
                422,
                "Validation Failed",
                [
                    {
                        "resource": "Issue",
                        "code": "custom",
                        "field": "state",
                        "message": "A pull request is reopened through the pulls API.",
                    }
                ],
            )
        issue.state, issue.closed_at, issue.closed_by, issue.state_reason = "open", None, None, "reopened"
        timeline.record(call.world, issue, "reopened", call.account.id, via_app_id=call.via_app_id)
        events.issue(call.world, call.repo, issue, "reopened", call.account)
    return Reply(body=issues.issue(call.view, call.repo, issue))


def _close(call: Call, issue: Issue, reason: str) -> None:
    pull = call.repo.pulls.get(issue.number)
    if pull is not None:
        pushes.close(call.world, call.repo, pull, call.account, via_app_id=call.via_app_id)
        return
    issue.state, issue.closed_at, issue.closed_by = "closed", call.now, call.account.id
    issue.state_reason = reason
    timeline.record(
        call.world, issue, "closed", call.account.id, via_app_id=call.via_app_id, state_reason=reason
    )
    events.issue(call.world, call.repo, issue, "closed", call.account)


@operation(
    "PUT /repos/{owner}/{repo}/issues/{issue_number}/lock",
    app="issues:write|pull_requests:write",
    level="push",
)
def lock(call: Call) -> Reply:
    issue = found(call)
    issue.locked, issue.lock_reason = True, (call.body or {}).get("lock_reason")
    _tell_lock(call, issue, "locked")
    return Reply(status=204)


@operation(
    "DELETE /repos/{owner}/{repo}/issues/{issue_number}/lock",
    app="issues:write|pull_requests:write",
    level="push",
)
def unlock(call: Call) -> Reply:
    issue = found(call)
    issue.locked, issue.lock_reason = False, None
    _tell_lock(call, issue, "unlocked")
    return Reply(status=204)


def _tell_lock(call: Call, issue: Issue, action: str) -> None:
    details = {"lock_reason": issue.lock_reason} if action == "locked" else {}
    timeline.record(call.world, issue, action, call.account.id, via_app_id=call.via_app_id, **details)
    pull = call.repo.pulls.get(issue.number)
    if pull is not None:
        events.pull_request(call.world, call.repo, pull, action, call.account)
    else:
        events.issue(call.world, call.repo, issue, action, call.account)
