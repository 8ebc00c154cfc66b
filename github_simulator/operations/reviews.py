"""Reviews of pull requests."""

from github_simulator import access, events, timeline
from github_simulator.calls import AsInstallation, Call, Refusal, Reply, not_found
from github_simulator.model import PullRequest, Review, ReviewComment, ReviewState
from github_simulator.operations.bodies import LONGEST
from github_simulator.operations.pull_requests import found
from github_simulator.representation import issues
from github_simulator.routing import operation

STATES: dict[str, ReviewState] = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}
ACTIONS_BOT = "github-actions"


def _unprocessable(message: str) -> Refusal:
    """A 422 whose errors are plain strings, as the reviews API has them."""
    return Refusal(422, "Unprocessable Entity", [message])


def _one(call: Call, pull: PullRequest) -> Review:
    number = call.number("review_id")
    for review in pull.reviews:
        if review.id == number and (review.state != "PENDING" or review.author_id == call.account.id):
            return review
    raise not_found()


@operation("GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews", app="pull_requests:read")
def list_reviews(call: Call) -> Reply:
    """Reviews in the order of their making; a pending one is seen by its author only."""
    pull = found(call)
    own = getattr(call.actor, "account", None)
    visible = [
        review
        for review in pull.reviews
        if review.state != "PENDING" or (own is not None and review.author_id == own.id)
    ]
    return call.page(visible, lambda review: issues.review(call.view, call.repo, pull.number, review))


@operation("GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}", app="pull_requests:read")
def get(call: Call) -> Reply:
    pull = found(call)
    return Reply(body=issues.review(call.view, call.repo, pull.number, _one(call, pull)))


def _check_event(call: Call, pull: PullRequest, event: str, body: str, *, has_comments: bool) -> None:
    deciding = event in {"APPROVE", "REQUEST_CHANGES"}
    if deciding and call.repo.issues[pull.number].author_id == call.account.id:
        verb = "approve" if event == "APPROVE" else "request changes on"
        raise _unprocessable(f"Can not {verb} your own pull request")
    if event == "APPROVE" and isinstance(call.actor, AsInstallation) and call.actor.app.slug == ACTIONS_BOT:
        raise _unprocessable("GitHub Actions is not permitted to approve pull requests.")
    if event == "REQUEST_CHANGES" and not body.strip():
        raise _unprocessable("Body can't be blank when requesting changes")
    if event == "COMMENT" and not body.strip() and not has_comments:
        raise _unprocessable("Body can't be blank when commenting")


@operation("POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews", app="pull_requests:write")
def create(call: Call) -> Reply:
    """Review a pull request; without an event the review stays pending. Answers 200, not 201.

    ``commit_id`` is the head unless told otherwise; it may be an older commit of the pull request, but not
    one that the repository does not know.
    """
    pull, asked = found(call), call.body or {}
    event, body = asked.get("event", ""), asked.get("body") or ""
    if len(body) > LONGEST:
        raise _unprocessable("Body is too long (maximum is 65536 characters)")
    sha = asked.get("commit_id") or pull.head_sha
    if sha not in _reviewable(call, pull):
        raise Refusal(422, "Unprocessable Entity", ["Commit is not part of the pull request"])
    if event:
        _check_event(call, pull, event, body, has_comments=bool(asked.get("comments")))
    if any(review.state == "PENDING" and review.author_id == call.account.id for review in pull.reviews):
        raise _unprocessable("User can only have one pending review per pull request")
    if call.repo.issues[pull.number].locked and not _writes(call):
        raise Refusal(403, "Unable to create comment because issue is locked.")
    review = Review(
        id=call.state.next_id("review", 80_000_001),
        author_id=call.account.id,
        body=body,
        state="PENDING",
        commit_id=sha,
        submitted_at=None,
        via_app_id=call.via_app_id,
    )
    for comment in asked.get("comments") or ():
        review.comments.append(
            ReviewComment(
                id=call.state.next_id("review_comment", 90_000_001),
                review_id=review.id,
                author_id=call.account.id,
                body=comment["body"],
                path=comment["path"],
                line=comment.get("line") or comment.get("position"),
                commit_id=sha,
                created_at=call.now,
            )
        )
    pull.reviews.append(review)
    if event:
        _submit(call, pull, review, event)
    return Reply(body=issues.review(call.view, call.repo, pull.number, review))


def _reviewable(call: Call, pull: PullRequest) -> set[str]:
    """Commits that are or ever were part of the pull request."""
    past = {event.commit_id for event in call.repo.issues[pull.number].timeline if event.kind == "committed"}
    return {pull.head_sha, *call.world.pull_commits(call.repo, pull)} | {
        sha for sha in past if sha is not None
    }


def _writes(call: Call) -> bool:
    if isinstance(call.actor, AsInstallation):
        return True
    return access.at_least(access.level_of(call.state, call.account, call.repo), "push")


def _submit(call: Call, pull: PullRequest, review: Review, event: str) -> None:
    review.state, review.submitted_at = STATES[event], call.now
    pull.reviews.remove(review)
    pull.reviews.append(review)
    if call.account.id in pull.requested_reviewers:
        pull.requested_reviewers.remove(call.account.id)
    pull.requested_teams[:] = [
        team
        for team in pull.requested_teams
        if call.account.id not in access.team_members(call.state, call.state.teams[team])
    ]
    issue = call.repo.issues[pull.number]
    timeline.record(
        call.world, issue, "reviewed", call.account.id, via_app_id=call.via_app_id, review_id=review.id
    )
    events.review(call.world, call.repo, pull, review, "submitted", call.account)


@operation(
    "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/events", app="pull_requests:write"
)
def submit(call: Call) -> Reply:
    """Submit one's pending review."""
    pull = found(call)
    review = _one(call, pull)
    if review.state != "PENDING":
        raise _unprocessable("Can not submit a review that is not pending")
    body = (call.body or {}).get("body") or review.body
    event = call.body["event"]
    _check_event(call, pull, event, body, has_comments=bool(review.comments))
    review.body = body
    _submit(call, pull, review, event)
    return Reply(body=issues.review(call.view, call.repo, pull.number, review))


@operation("PUT /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}", app="pull_requests:write")
def update(call: Call) -> Reply:
    """Change the summary of one's review."""
    pull = found(call)
    review = _one(call, pull)
    if review.author_id != call.account.id:
        raise not_found()
    before, review.body = review.body, call.body["body"]
    changes = {"body": {"from": before}} if before != review.body else {}
    if review.state != "PENDING":
        events.review(call.world, call.repo, pull, review, "edited", call.account, changes=changes)
    return Reply(body=issues.review(call.view, call.repo, pull.number, review))


@operation("DELETE /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}", app="pull_requests:write")
def delete(call: Call) -> Reply:
    """Throw away one's pending review; a submitted one cannot be deleted."""
    pull = found(call)
    review = _one(call, pull)
    if review.state != "PENDING":
        raise _unprocessable("Can not delete a non-pending pull request review")
    pull.reviews.remove(review)
    return Reply(body=issues.review(call.view, call.repo, pull.number, review))


@operation(
    "PUT /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/dismissals",
    app="pull_requests:write",
    level="push",
    refused=(403, "Must have admin rights to Repository."),
)
def dismiss(call: Call) -> Reply:
    """Dismiss an approval or a request for changes; its body and commit stay as they were."""
    pull = found(call)
    review = _one(call, pull)
    if review.state not in {"APPROVED", "CHANGES_REQUESTED"}:
        state = {"COMMENTED": "commented", "DISMISSED": "dismissed", "PENDING": "pending"}[review.state]
        raise _unprocessable(f"Can not dismiss a {state} pull request review")
    before = review.state.lower()
    review.state = "DISMISSED"
    dismissed = {"review_id": review.id, "state": before, "dismissal_message": call.body["message"]}
    issue = call.repo.issues[pull.number]
    timeline.record(
        call.world,
        issue,
        "review_dismissed",
        call.account.id,
        via_app_id=call.via_app_id,
        dismissed_review=dismissed,
    )
    events.review(call.world, call.repo, pull, review, "dismissed", call.account)
    return Reply(body=issues.review(call.view, call.repo, pull.number, review))
