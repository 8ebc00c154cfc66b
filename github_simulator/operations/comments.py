"""Comments in the conversation of an issue or pull request."""

from typing import Any

from github_simulator import access, clock, events, timeline
from github_simulator.calls import AsInstallation, Call, Refusal, Reply, not_found
from github_simulator.model import Comment
from github_simulator.operations.bodies import checked_comment
from github_simulator.operations.issues import found as found_issue
from github_simulator.representation import accounts, issues
from github_simulator.routing import operation

READ, WRITE = "issues:read|pull_requests:read", "issues:write|pull_requests:write"


def _found(call: Call) -> Comment:
    comment = call.repo.comments.get(call.number("comment_id"))
    if comment is None:
        raise not_found()
    return comment


def _may_change(call: Call, comment: Comment) -> None:
    """The author, people with write access and Apps with the permission may change a comment."""
    if isinstance(call.actor, AsInstallation) or comment.author_id == call.account.id:
        return
    if not access.at_least(access.level_of(call.state, call.account, call.repo), "push"):
        raise Refusal(403, "Must have admin rights to Repository.")


def _tell(call: Call, comment: Comment, action: str, **more: Any) -> None:
    issue = call.repo.issues[comment.number]
    content = {
        "issue": issues.issue(call.view, call.repo, issue),
        "comment": issues.comment(call.view, call.repo, comment),
    }
    events.emit(
        call.world, "issue_comment", action, content | more, sender=call.account, repository=call.repo
    )


@operation("GET /repos/{owner}/{repo}/issues/{issue_number}/comments", app=READ)
def list_comments(call: Call) -> Reply:
    """Comments in the order of their making."""
    issue, since = found_issue(call), call.query.get("since")
    chosen = [
        comment
        for comment in call.repo.comments.values()
        if comment.number == issue.number and (since is None or clock.text(comment.updated_at) >= since)
    ]
    return call.page(chosen, lambda comment: issues.comment(call.view, call.repo, comment))


@operation("POST /repos/{owner}/{repo}/issues/{issue_number}/comments", app=WRITE)
def create(call: Call) -> Reply:
    issue = found_issue(call)
    body = checked_comment(call.body["body"])
    level = access.level_of(call.state, call.account, call.repo)
    if issue.locked and not isinstance(call.actor, AsInstallation) and not access.at_least(level, "push"):
        raise Refusal(403, "Unable to create comment because issue is locked.")
    comment = Comment(
        id=call.state.next_id("comment", 60_000_001),
        number=issue.number,
        author_id=call.account.id,
        body=body,
        created_at=call.now,
        updated_at=call.now,
        via_app_id=call.via_app_id,
    )
    call.repo.comments[comment.id] = comment
    timeline.record(
        call.world, issue, "commented", call.account.id, via_app_id=call.via_app_id, comment_id=comment.id
    )
    _tell(call, comment, "created")
    shown = issues.comment(call.view, call.repo, comment)
    return Reply(status=201, body=shown, headers={"location": shown["url"]})


@operation("GET /repos/{owner}/{repo}/issues/comments/{comment_id}", app=READ)
def get(call: Call) -> Reply:
    return Reply(body=issues.comment(call.view, call.repo, _found(call)))


@operation("PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}", app=WRITE)
def update(call: Call) -> Reply:
    comment = _found(call)
    _may_change(call, comment)
    body = checked_comment(call.body["body"])
    before, comment.body = comment.body, body
    comment.updated_at = call.now
    if body != before:
        comment.last_edited_at = call.now
        _tell(call, comment, "edited", changes={"body": {"from": before}})
    return Reply(body=issues.comment(call.view, call.repo, comment))


@operation("DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}", app=WRITE)
def delete(call: Call) -> Reply:
    comment = _found(call)
    _may_change(call, comment)
    del call.repo.comments[comment.id]
    issue = call.repo.issues[comment.number]
    issue.timeline[:] = [event for event in issue.timeline if event.details.get("comment_id") != comment.id]
    _tell(call, comment, "deleted")
    return Reply(status=204)


def _reaction(call: Call, entry: tuple[int, int, str, Any]) -> dict[str, Any]:
    number, user, content, at = entry
    return {
        "id": number,
        "node_id": accounts.node("REA", number),
        "user": accounts.simple_by_id(call.view, user),
        "content": content,
        "created_at": clock.text(at),
    }


@operation("GET /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions", app=READ)
def reactions(call: Call) -> Reply:
    wanted = call.query.get("content")
    chosen = [entry for entry in _found(call).reactions if wanted in {None, entry[2]}]
    return call.page(chosen, lambda entry: _reaction(call, entry))


@operation("POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions", app=WRITE)
def react(call: Call) -> Reply:
    """Add a reaction; the same one twice is answered 200 and counts once. Reactions send no webhook."""
    comment, content = _found(call), call.body["content"]
    for entry in comment.reactions:
        if entry[1:3] == (call.account.id, content):
            return Reply(body=_reaction(call, entry))
    entry = (call.state.next_id("reaction", 70_000_001), call.account.id, content, call.now)
    comment.reactions.append(entry)
    return Reply(status=201, body=_reaction(call, entry))
