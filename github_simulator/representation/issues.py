"""Issues, comments and timelines in JSON."""

from typing import Any

from github_simulator import access, clock
from github_simulator.model import Comment, Issue, Repository, Review, TimelineEvent
from github_simulator.representation import accounts, apps, commits, repositories, teams
from github_simulator.view import View

REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")


def page(view: View, repository: Repository, number: int) -> str:
    """The human page of an issue or pull request."""
    kind = "pull" if number in repository.pulls else "issues"
    return f"{view.repo_html(repository)}/{kind}/{number}"


def reactions(url: str, given: list[str]) -> dict[str, Any]:
    """Schema reaction-rollup."""
    return {"url": f"{url}/reactions", "total_count": len(given)} | {
        name: given.count(name) for name in REACTIONS
    }


def issue(view: View, repository: Repository, shown: Issue) -> dict[str, Any]:
    """Schema issue; a pull request seen as an issue has a ``pull_request`` key."""
    url = f"{view.repo_api(repository)}/issues/{shown.number}"
    body: dict[str, Any] = {
        "id": shown.id,
        "node_id": accounts.node("I", shown.id),
        "url": url,
        "repository_url": view.repo_api(repository),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": page(view, repository, shown.number),
        "number": shown.number,
        "title": shown.title,
        "body": shown.body,
        "user": accounts.simple_by_id(view, shown.author_id),
        "labels": [repositories.label(view, repository, repository.labels[name]) for name in shown.labels],
        "state": shown.state,
        "state_reason": shown.state_reason,
        "locked": shown.locked,
        "active_lock_reason": shown.lock_reason,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": sum(comment.number == shown.number for comment in repository.comments.values()),
        "created_at": clock.text(shown.created_at),
        "updated_at": clock.text(shown.updated_at),
        "closed_at": clock.text(shown.closed_at) if shown.closed_at is not None else None,
        "closed_by": accounts.simple_by_id(view, shown.closed_by),
        "author_association": access.association(view.state, shown.author_id, repository),
        "reactions": reactions(url, []),
        "performed_via_github_app": apps.integration_or_none(view, shown.via_app_id),
    }
    pull = repository.pulls.get(shown.number)
    if pull is not None:
        link = page(view, repository, shown.number)
        body["draft"] = pull.draft
        body["pull_request"] = {
            "url": f"{view.repo_api(repository)}/pulls/{shown.number}",
            "html_url": link,
            "diff_url": f"{link}.diff",
            "patch_url": f"{link}.patch",
            "merged_at": clock.text(pull.merged_at) if pull.merged_at is not None else None,
        }
    return body


def comment(view: View, repository: Repository, shown: Comment) -> dict[str, Any]:
    """Schema issue-comment."""
    url = f"{view.repo_api(repository)}/issues/comments/{shown.id}"
    return {
        "id": shown.id,
        "node_id": accounts.node("IC", shown.id),
        "url": url,
        "html_url": f"{page(view, repository, shown.number)}#issuecomment-{shown.id}",
        "issue_url": f"{view.repo_api(repository)}/issues/{shown.number}",
        "user": accounts.simple_by_id(view, shown.author_id),
        "body": shown.body,
        "created_at": clock.text(shown.created_at),
        "updated_at": clock.text(shown.updated_at),
        "author_association": access.association(view.state, shown.author_id, repository),
        "performed_via_github_app": apps.integration_or_none(view, shown.via_app_id),
        "reactions": reactions(url, [content for _, _, content, _ in shown.reactions]),
    }


def review(view: View, repository: Repository, number: int, shown: Review) -> dict[str, Any]:
    """Schema pull-request-review. A pending review has no ``submitted_at``."""
    pull_url = f"{view.repo_api(repository)}/pulls/{number}"
    html = f"{page(view, repository, number)}#pullrequestreview-{shown.id}"
    body = {
        "id": shown.id,
        "node_id": accounts.node("PRR", shown.id),
        "user": accounts.simple_by_id(view, shown.author_id),
        "body": shown.body,
        "state": shown.state,
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": access.association(view.state, shown.author_id, repository),
        "_links": {"html": {"href": html}, "pull_request": {"href": pull_url}},
        "commit_id": shown.commit_id,
    }
    if shown.submitted_at is not None:
        body["submitted_at"] = clock.text(shown.submitted_at)
    return body


def timeline_event(view: View, repository: Repository, number: int, shown: TimelineEvent) -> dict[str, Any]:
    """One entry of the timeline: a commit, a comment, a review, or a plain event."""
    if shown.kind == "committed":
        commit = view.world.store(repository).commit(str(shown.commit_id))
        if commit is not None:
            return commits.git_commit(view, repository, commit) | {"event": "committed"}
    if shown.kind == "commented":
        found = comment(view, repository, repository.comments[shown.details["comment_id"]])
        return found | {"event": "commented", "actor": accounts.ghost(view, shown.actor_id)}
    if shown.kind == "reviewed":
        given = next(r for r in repository.pulls[number].reviews if r.id == shown.details["review_id"])
        state = given.state.lower()
        return review(view, repository, number, given) | {"event": "reviewed", "state": state}
    url = f"{view.repo_api(repository)}/issues/events/{shown.id}"
    commit_url = f"{view.repo_api(repository)}/commits/{shown.commit_id}" if shown.commit_id else None
    return {
        "id": shown.id,
        "node_id": accounts.node("EV", shown.id),
        "url": url,
        "actor": accounts.ghost(view, shown.actor_id),
        "event": shown.kind,
        "commit_id": shown.commit_id,
        "commit_url": commit_url,
        "created_at": clock.text(shown.at),
        "performed_via_github_app": apps.integration_or_none(view, shown.via_app_id),
    } | _details(view, shown)


def _details(view: View, shown: TimelineEvent) -> dict[str, Any]:
    details = dict(shown.details)
    reviewer, team = details.pop("requested_reviewer_id", None), details.pop("requested_team_id", None)
    if shown.kind.startswith("review_request"):
        details["review_requester"] = accounts.ghost(view, shown.actor_id)
        if reviewer is not None:
            details["requested_reviewer"] = accounts.ghost(view, reviewer)
        if team is not None:
            details["requested_team"] = teams.listed(view, view.state.teams[team])
    return details
