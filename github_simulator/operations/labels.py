"""Labels of issues and pull requests."""

from typing import Any
from urllib.parse import unquote

from github_simulator import events, timeline
from github_simulator.calls import Call, Refusal, Reply, not_found
from github_simulator.model import Issue, Label
from github_simulator.representation import repositories
from github_simulator.routing import operation


def ensure(call: Call, name: str) -> Label:
    """The repository's label of that name, made if it is new."""
    for label in call.repo.labels.values():
        if label.name.lower() == name.lower():
            return label
    label = Label(id=call.state.next_id("label", 5_000_001), name=name)
    call.repo.labels[name] = label
    return label


def set_labels(call: Call, issue: Issue, wanted: list[str]) -> None:
    """Make the labels of an issue exactly these; each change has its event."""
    added = [name for name in wanted if name not in issue.labels]
    removed = [name for name in issue.labels if name not in wanted]
    pull = call.repo.pulls.get(issue.number)
    for action, names in (("labeled", added), ("unlabeled", removed)):
        for name in names:
            if action == "labeled":
                issue.labels.append(name)
            else:
                issue.labels.remove(name)
            label = call.repo.labels[name]
            mark = {"name": name, "color": label.color}
            timeline.record(
                call.world, issue, action, call.account.id, via_app_id=call.via_app_id, label=mark
            )
            shown = repositories.label(call.view, call.repo, label)
            if pull is not None:
                events.pull_request(call.world, call.repo, pull, action, call.account, label=shown)
            else:
                events.issue(call.world, call.repo, issue, action, call.account, label=shown)


def _issue(call: Call) -> Issue:
    issue = call.repo.issues.get(call.number("issue_number"))
    if issue is None:
        raise not_found()
    return issue


def _listed(call: Call, issue: Issue) -> list[dict[str, Any]]:
    return [repositories.label(call.view, call.repo, call.repo.labels[name]) for name in issue.labels]


@operation("GET /repos/{owner}/{repo}/issues/{issue_number}/labels", app="issues:read|pull_requests:read")
def labels_of(call: Call) -> Reply:
    return call.page(_listed(call, _issue(call)))


@operation(
    "POST /repos/{owner}/{repo}/issues/{issue_number}/labels",
    app="issues:write|pull_requests:write",
    level="triage",
)
def add(call: Call) -> Reply:
    issue = _issue(call)
    asked = call.body.get("labels", []) if isinstance(call.body, dict) else call.body
    names = [ensure(call, label if isinstance(label, str) else label["name"]).name for label in asked or ()]
    set_labels(call, issue, [*issue.labels, *(name for name in names if name not in issue.labels)])
    return Reply(body=_listed(call, issue))


@operation(
    "DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}",
    app="issues:write|pull_requests:write",
    level="triage",
)
def remove(call: Call) -> Reply:
    issue, name = _issue(call), unquote(call.parameters["name"])
    if name not in issue.labels:
        raise Refusal(404, "Label does not exist")
    set_labels(call, issue, [label for label in issue.labels if label != name])
    return Reply(body=_listed(call, issue))
