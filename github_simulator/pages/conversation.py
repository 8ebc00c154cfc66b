"""The conversation of an issue or pull request: everything that happened, in order."""

from github_simulator.model import Issue, Repository, Review, TimelineEvent
from github_simulator.pages.frame import avatar, when, who
from github_simulator.pages.markdown import rendered
from github_simulator.pages.markup import Markup, joined, tag
from github_simulator.world import World

VERDICTS = {
    "APPROVED": ("approved these changes", "good"),
    "CHANGES_REQUESTED": ("requested changes", "bad"),
    "COMMENTED": ("reviewed", "quiet"),
    "DISMISSED": ("left a review that was dismissed", "quiet"),
}
WORDS = {
    "closed": "closed this",
    "reopened": "reopened this",
    "merged": "merged this",
    "head_ref_deleted": "deleted the branch",
    "head_ref_force_pushed": "force-pushed the branch",
    "base_ref_changed": "changed the base branch",
    "convert_to_draft": "marked this as a draft",
    "ready_for_review": "marked this as ready for review",
    "locked": "locked the conversation",
    "unlocked": "unlocked the conversation",
}


def conversation(world: World, repository: Repository, issue: Issue) -> Markup:
    """The opening text and then the timeline."""
    opening = _card(world, issue.author_id, joined("opened this ", when(issue.created_at)), issue.body or "")
    events = [_event(world, repository, issue, event) for event in issue.timeline]
    return tag("section", opening, *events, class_="conversation")


def _card(world: World, account_id: int, said: Markup, body: str, kind: str = "", anchor: str = "") -> Markup:
    head = tag(
        "div", avatar(world.state.accounts.get(account_id)), who(world, account_id), " ", said, class_="head"
    )
    text = tag("div", rendered(body), class_="markdown") if body.strip() else None
    return tag("article", head, text, class_=f"card {kind}".strip(), id=anchor or None)


def _event(world: World, repository: Repository, issue: Issue, event: TimelineEvent) -> Markup | None:
    if event.kind == "commented":
        comment = repository.comments[event.details["comment_id"]]
        edited = tag("span", " · edited", class_="quiet") if comment.last_edited_at is not None else None
        said = joined("commented ", when(comment.created_at), edited)
        return _card(world, comment.author_id, said, comment.body, anchor=f"issuecomment-{comment.id}")
    if event.kind == "reviewed":
        pull = repository.pulls[issue.number]
        return _review(world, next(r for r in pull.reviews if r.id == event.details["review_id"]))
    return tag("div", *_line(world, repository, event), " ", when(event.at), class_=f"event {event.kind}")


def _review(world: World, review: Review) -> Markup:
    words, kind = VERDICTS[review.state]
    at = tag("code", review.commit_id[:7], title=review.commit_id)
    moment = when(review.submitted_at) if review.submitted_at is not None else None
    card = _card(
        world,
        review.author_id,
        joined(words, " at ", at, " ", moment),
        review.body,
        f"review {kind}",
        f"pullrequestreview-{review.id}",
    )
    lines = [
        tag(
            "article",
            tag("div", tag("code", f"{comment.path}:{comment.line or ''}"), class_="head"),
            tag("div", rendered(comment.body), class_="markdown"),
            class_="card inline",
            id=f"discussion_r{comment.id}",
        )
        for comment in review.comments
    ]
    return joined(card, *lines)


def _line(world: World, repository: Repository, event: TimelineEvent) -> tuple[str | Markup, ...]:
    actor = who(world, event.actor_id)
    match event.kind:
        case "committed":
            commit = world.store(repository).commit(str(event.commit_id))
            title = commit.message.split("\n")[0] if commit is not None else ""
            return (tag("span", "●", class_="dot"), tag("code", str(event.commit_id)[:7]), " ", title)
        case "labeled" | "unlabeled":
            verb = " added the label " if event.kind == "labeled" else " removed the label "
            return (actor, verb, tag("span", event.details["label"]["name"], class_="label"))
        case "renamed":
            change = event.details["rename"]
            return (
                actor,
                " changed the title from ",
                tag("s", change["from"]),
                " to ",
                tag("strong", change["to"]),
            )
        case "review_requested" | "review_request_removed":
            verb = " asked " if event.kind == "review_requested" else " no longer asks "
            return (actor, verb, _reviewer(world, event), " for a review")
        case "review_dismissed":
            reason = event.details["dismissed_review"]["dismissal_message"]
            return (actor, " dismissed a review", f": {reason}" if reason else "")
        case _:
            return (actor, " ", WORDS.get(event.kind, event.kind.replace("_", " ")))


def _reviewer(world: World, event: TimelineEvent) -> Markup:
    team = world.state.teams.get(event.details.get("requested_team_id", 0))
    if team is not None:
        return tag("strong", f"{world.state.accounts[team.organization_id].login}/{team.slug}")
    return who(world, event.details.get("requested_reviewer_id"))
