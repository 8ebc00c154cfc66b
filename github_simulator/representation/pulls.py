"""Pull requests in JSON."""

from typing import Any

from github_simulator import access, clock
from github_simulator.model import PullRequest, Repository
from github_simulator.representation import accounts, issues, repositories, teams
from github_simulator.view import View

SHARED_WITH_ISSUE = (
    "number",
    "state",
    "locked",
    "title",
    "user",
    "body",
    "labels",
    "milestone",
    "active_lock_reason",
    "created_at",
    "updated_at",
    "closed_at",
    "assignee",
    "assignees",
    "author_association",
)


def simple(view: View, repository: Repository, shown: PullRequest) -> dict[str, Any]:
    """Schema pull-request-simple."""
    issue = repository.issues[shown.number]
    api, page = view.repo_api(repository), issues.page(view, repository, shown.number)
    url, issue_url = f"{api}/pulls/{shown.number}", f"{api}/issues/{shown.number}"
    links = {
        "self": url,
        "html": page,
        "issue": issue_url,
        "comments": f"{issue_url}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{api}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{api}/statuses/{shown.head_sha}",
    }
    as_issue = issues.issue(view, repository, issue)
    return {key: as_issue[key] for key in SHARED_WITH_ISSUE} | {
        "id": shown.id,
        "node_id": accounts.node("PR", shown.id),
        "url": url,
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": issue_url,
        "commits_url": links["commits"],
        "review_comments_url": links["review_comments"],
        "review_comment_url": links["review_comment"],
        "comments_url": links["comments"],
        "statuses_url": links["statuses"],
        "draft": shown.draft,
        "merged_at": clock.text(shown.merged_at) if shown.merged_at is not None else None,
        "merge_commit_sha": shown.merge_commit_sha,
        "auto_merge": None,
        "requested_reviewers": [
            accounts.simple(view, view.account(user))
            for user in shown.requested_reviewers
            if user in view.state.accounts
        ],
        "requested_teams": [
            teams.listed(view, view.state.teams[team])
            for team in shown.requested_teams
            if team in view.state.teams
        ],
        "head": _head(view, shown),
        "base": _branch(view, repository.owner_id, shown.base_ref, shown.base_sha, repository),
        "_links": {name: {"href": address} for name, address in links.items()},
    }


def full(
    view: View, repository: Repository, shown: PullRequest, *, mergeable: bool | None, state: str
) -> dict[str, Any]:
    """Schema pull-request. ``mergeable`` is None while GitHub has not computed it."""
    files = view.world.pull_files(repository, shown)
    return simple(view, repository, shown) | {
        "merged": shown.merged_at is not None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": state,
        "merged_by": accounts.simple_by_id(view, shown.merged_by),
        "comments": sum(comment.number == shown.number for comment in repository.comments.values()),
        "review_comments": sum(len(review.comments) for review in shown.reviews),
        "maintainer_can_modify": shown.maintainer_can_modify,
        "commits": len(view.world.pull_commits(repository, shown)),
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changed_files": len(files),
    }


def minimal(view: View, repository: Repository, shown: PullRequest) -> dict[str, Any]:
    """Schema pull-request-minimal, as check runs carry it."""
    api = view.repo_api(repository)
    short = {"id": repository.id, "url": api, "name": repository.name}
    return {
        "id": shown.id,
        "number": shown.number,
        "url": f"{api}/pulls/{shown.number}",
        "head": {"ref": shown.head_ref, "sha": shown.head_sha, "repo": short},
        "base": {"ref": shown.base_ref, "sha": shown.base_sha, "repo": short},
    }


def review_comment(view: View, repository: Repository, shown: PullRequest) -> list[dict[str, Any]]:
    """Schema pull-request-review-comment for all submitted comments of a pull request."""
    api, page = view.repo_api(repository), issues.page(view, repository, shown.number)
    pull_url = f"{api}/pulls/{shown.number}"
    found = []
    for review in shown.reviews:
        if review.state == "PENDING":
            continue
        for comment in review.comments:
            url, html = f"{api}/pulls/comments/{comment.id}", f"{page}#discussion_r{comment.id}"
            found.append(
                {
                    "id": comment.id,
                    "node_id": accounts.node("PRRC", comment.id),
                    "url": url,
                    "html_url": html,
                    "pull_request_url": pull_url,
                    "pull_request_review_id": review.id,
                    "user": accounts.ghost(view, comment.author_id),
                    "body": comment.body,
                    "path": comment.path,
                    "line": comment.line,
                    "position": comment.line,
                    "original_position": comment.line or 1,
                    "diff_hunk": "",
                    "commit_id": comment.commit_id,
                    "original_commit_id": comment.commit_id,
                    "created_at": clock.text(comment.created_at),
                    "updated_at": clock.text(comment.created_at),
                    "author_association": access.association(view.state, comment.author_id, repository),
                    "_links": {
                        "self": {"href": url},
                        "html": {"href": html},
                        "pull_request": {"href": pull_url},
                    },
                }
            )
    return found


def _head(view: View, shown: PullRequest) -> dict[str, Any]:
    found = (
        view.state.repositories.get(shown.head_repository_id)
        if shown.head_repository_id is not None
        else None
    )
    return _branch(view, shown.head_owner_id, shown.head_ref, shown.head_sha, found)


def _branch(view: View, owner_id: int, ref: str, sha: str, repository: Repository | None) -> dict[str, Any]:
    owner = accounts.ghost(view, owner_id)
    return {
        "label": f"{owner['login']}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": owner,
        "repo": repositories.plain(view, repository) if repository is not None else None,
    }
