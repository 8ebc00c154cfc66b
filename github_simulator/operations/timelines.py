"""The timeline of an issue or pull request."""

from github_simulator.calls import Call, Reply
from github_simulator.operations.issues import found
from github_simulator.representation import issues
from github_simulator.routing import operation


@operation("GET /repos/{owner}/{repo}/issues/{issue_number}/timeline", app="issues:read|pull_requests:read")
def timeline(call: Call) -> Reply:
    """Everything that happened, oldest first."""
    issue = found(call)
    return call.page(
        issue.timeline, lambda event: issues.timeline_event(call.view, call.repo, issue.number, event)
    )
