"""The one GraphQL query that the simulator answers: when an issue or pull request was last edited.

The query is recognised by its fields, not parsed as GraphQL: ``repository(owner:, name:)`` with ``issue``,
``pullRequest`` or ``issueOrPullRequest`` below it, and scalars and comments below those. Arguments come as
variables or in the text.
"""

import re
from typing import Any

from github_simulator import access, clock, permissions
from github_simulator.calls import AsInstallation, AsUser, Call, Refusal, Reply
from github_simulator.model import Comment, Issue, Repository

OBJECTS = ("issueOrPullRequest", "pullRequest", "issue")


def answer(call: Call) -> Reply:
    """Answer POST /graphql; what is not understood is told in ``errors``, as GraphQL does."""
    if not isinstance(call.actor, AsUser | AsInstallation):
        raise Refusal(401, "This endpoint requires you to be authenticated.")
    body = call.body or {}
    query, variables = str(body.get("query", "")), body.get("variables") or {}
    wanted = next((name for name in OBJECTS if re.search(rf"\b{name}\s*\(", query)), None)
    if wanted is None or not re.search(r"\brepository\s*\(", query):
        return _error("The simulator answers only lastEditedAt of an issue or pull request", "undefinedField")
    owner, name = _argument(query, variables, "owner"), _argument(query, variables, "name")
    number = _argument(query, variables, "number")
    repository = call.state.repository_by_name(str(owner), str(name))
    if repository is None or not _readable(call, repository):
        return _missing(f"Could not resolve to a Repository with the name '{owner}/{name}'.", ["repository"])
    issue = repository.issues.get(int(number)) if str(number).isdigit() else None
    is_pull = issue is not None and issue.number in repository.pulls
    if issue is None or (wanted == "issue" and is_pull) or (wanted == "pullRequest" and not is_pull):
        kind = {"issue": "Issue", "pullRequest": "PullRequest"}.get(wanted, "issue or pull request")
        message = f"Could not resolve to an {kind} with the number of {number}."
        return _missing(message, ["repository", wanted])
    fields = _issue(call, repository, issue)
    chosen = {key: value for key, value in fields.items() if re.search(rf"\b{key}\b", query)}
    return Reply(body={"data": {"repository": {wanted: chosen}}})


def _argument(query: str, variables: dict[str, Any], name: str) -> Any:
    match = re.search(rf"\b{name}\s*:\s*(\$\w+|\"[^\"]*\"|\d+)", query)
    if match is None:
        return None
    value = match[1]
    return variables.get(value[1:]) if value.startswith("$") else value.strip('"')


def _readable(call: Call, repository: Repository) -> bool:
    match call.actor:
        case AsInstallation() as bot:
            inside = permissions.covers(bot, repository.id, repository.owner_id)
            return inside and permissions.allowed(bot, "issues:read|pull_requests:read")
        case AsUser(account=account):
            return access.level_of(call.state, account, repository) != "none"
        case _:
            return False


def _login(call: Call, account_id: int) -> dict[str, str] | None:
    account = call.state.accounts.get(account_id)
    return {"login": account.login.removesuffix("[bot]")} if account is not None else None


def _issue(call: Call, repository: Repository, issue: Issue) -> dict[str, Any]:
    comments = [_comment(call, one) for one in repository.comments.values() if one.number == issue.number]
    return {
        "number": issue.number,
        "title": issue.title,
        "body": issue.body or "",
        "state": issue.state.upper(),
        "author": _login(call, issue.author_id),
        "createdAt": clock.text(issue.created_at),
        "updatedAt": clock.text(issue.updated_at),
        "lastEditedAt": clock.text(issue.last_edited_at) if issue.last_edited_at is not None else None,
        "includesCreatedEdit": issue.last_edited_at is not None,
        "databaseId": issue.id,
        "comments": {
            "nodes": comments,
            "totalCount": len(comments),
            "pageInfo": {"hasNextPage": False, "endCursor": None},
        },
    }


def _comment(call: Call, comment: Comment) -> dict[str, Any]:
    return {
        "databaseId": comment.id,
        "fullDatabaseId": str(comment.id),
        "body": comment.body,
        "author": _login(call, comment.author_id),
        "createdAt": clock.text(comment.created_at),
        "lastEditedAt": clock.text(comment.last_edited_at) if comment.last_edited_at is not None else None,
        "includesCreatedEdit": comment.last_edited_at is not None,
    }


def _error(message: str, kind: str) -> Reply:
    return Reply(body={"errors": [{"message": message, "extensions": {"code": kind}}]})


def _missing(message: str, path: list[str]) -> Reply:
    data: dict[str, Any] = {"repository": None if len(path) == 1 else {path[1]: None}}
    return Reply(body={"data": data, "errors": [{"type": "NOT_FOUND", "path": path, "message": message}]})
