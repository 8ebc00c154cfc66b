"""Check runs and commit statuses in JSON."""

from typing import Any

from github_simulator import clock
from github_simulator.model import CheckRun, Repository, Status
from github_simulator.representation import accounts, apps, pulls
from github_simulator.view import View


def run(view: View, repository: Repository, shown: CheckRun, *, in_event: bool = False) -> dict[str, Any]:
    """Schema check-run, or check-run-with-simple-check-suite inside a webhook."""
    url = f"{view.repo_api(repository)}/check-runs/{shown.id}"
    html = f"{view.repo_html(repository)}/runs/{shown.id}"
    at_head = [
        pulls.minimal(view, repository, pull)
        for number, pull in repository.pulls.items()
        if pull.head_sha == shown.head_sha and repository.issues[number].state == "open"
    ]
    app = apps.integration(view, view.state.apps[shown.app_id])
    return {
        "id": shown.id,
        "name": shown.name,
        "node_id": accounts.node("CR", shown.id),
        "head_sha": shown.head_sha,
        "external_id": shown.external_id,
        "url": url,
        "html_url": html,
        "details_url": shown.details_url or html,
        "status": shown.status,
        "conclusion": shown.conclusion,
        "started_at": clock.text(shown.started_at),
        "completed_at": clock.text(shown.completed_at) if shown.completed_at is not None else None,
        "output": {
            "title": shown.title,
            "summary": shown.summary,
            "text": shown.text,
            "annotations_count": len(shown.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": _suite(view, repository, shown, at_head, app) if in_event else {"id": shown.suite_id},
        "app": app,
        "pull_requests": at_head,
    }


def _suite(
    view: View, repository: Repository, shown: CheckRun, at_head: list[dict[str, Any]], app: dict[str, Any]
) -> dict[str, Any]:
    branch = next(
        (r.removeprefix("refs/heads/") for r, s in repository.refs.items() if s == shown.head_sha), None
    )
    return {
        "id": shown.suite_id,
        "node_id": accounts.node("CS", shown.suite_id),
        "head_branch": branch,
        "head_sha": shown.head_sha,
        "status": shown.status,
        "conclusion": shown.conclusion,
        "url": f"{view.repo_api(repository)}/check-suites/{shown.suite_id}",
        "before": None,
        "after": None,
        "pull_requests": at_head,
        "app": app,
        "created_at": clock.text(shown.started_at),
        "updated_at": clock.text(shown.completed_at or shown.started_at),
    }


def annotation(view: View, repository: Repository, shown: CheckRun, given: dict[str, Any]) -> dict[str, Any]:
    """Schema check-annotation."""
    return {
        "path": given["path"],
        "blob_href": f"{view.repo_html(repository)}/blob/{shown.head_sha}/{given['path']}",
        "start_line": given["start_line"],
        "end_line": given["end_line"],
        "start_column": given.get("start_column"),
        "end_column": given.get("end_column"),
        "annotation_level": given["annotation_level"],
        "title": given.get("title"),
        "message": given["message"],
        "raw_details": given.get("raw_details"),
    }


def status(view: View, repository: Repository, shown: Status, *, simple: bool = False) -> dict[str, Any]:
    """Schema status, or simple-commit-status inside the combined one."""
    creator = accounts.simple_by_id(view, shown.creator_id)
    body = {
        "url": f"{view.repo_api(repository)}/statuses/{shown.sha}",
        "avatar_url": creator["avatar_url"] if creator is not None else None,
        "id": shown.id,
        "node_id": accounts.node("SC", shown.id),
        "state": shown.state,
        "description": shown.description,
        "target_url": shown.target_url,
        "context": shown.context,
        "created_at": clock.text(shown.created_at),
        "updated_at": clock.text(shown.created_at),
    }
    return body if simple else body | {"creator": creator}
