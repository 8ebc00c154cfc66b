"""The page of one pull request or issue."""

from github_simulator import mergeability
from github_simulator.model import Issue, PullRequest, Repository
from github_simulator.pages.changes import changed_files
from github_simulator.pages.conversation import conversation
from github_simulator.pages.frame import act_bar, avatar, page, state_badge, who
from github_simulator.pages.lists import tabs
from github_simulator.pages.markdown import rendered
from github_simulator.pages.markup import Markup, joined, tag
from github_simulator.world import World

MARKS = {"success": ("✓", "good"), "failure": ("✕", "bad"), "error": ("✕", "bad")}


def pull_page(
    world: World, repository: Repository, pull: PullRequest, persona: str, refused: str | None
) -> str:
    """Conversation, checks, owners, files, and the bar to act with."""
    issue, name = repository.issues[pull.number], world.state.full_name(repository)
    files = world.pull_files(repository, pull)
    merged = pull.merged_at is not None
    commits = len(world.pull_commits(repository, pull))
    about = joined(
        who(world, issue.author_id),
        f" wants to merge {commits} {'commit' if commits == 1 else 'commits'} into ",
        tag("code", pull.base_ref),
        " from ",
        tag("code", pull.head_ref),
    )
    side = tag(
        "aside",
        _reviewers(world, repository, pull),
        _checks(world, repository, pull.head_sha),
        _mergebox(world, repository, pull),
    )
    buttons = [("approve", "Approve", "good"), ("request_changes", "Request changes", "bad")]
    buttons += [("comment", "Comment", ""), ("merge", "Merge", "merge")]
    buttons.append(("close", "Close", "") if issue.state == "open" else ("reopen", "Reopen", ""))
    if merged:
        buttons = [("comment", "Comment", "")]
    address = f"/{name}/pull/{pull.number}"
    return page(
        f"{issue.title} · Pull request #{pull.number} · {name}",
        tabs(world, repository, "Pull requests"),
        _title(issue),
        tag("p", state_badge(issue.state, draft=pull.draft, merged=merged), " ", about, class_="about"),
        _refusal(refused),
        tag(
            "div",
            tag(
                "div",
                conversation(world, repository, issue),
                act_bar(world, persona, f"{address}#act", buttons),
                tag("h2", f"Files changed ({len(files)})", id="files"),
                changed_files(f"/{name}", pull.head_sha, files),
                class_="main",
            ),
            side,
            class_="split",
        ),
        crumbs=((name, f"/{name}"), (f"#{pull.number}", address)),
    )


def issue_page(world: World, repository: Repository, issue: Issue, persona: str, refused: str | None) -> str:
    """Conversation and the bar to act with."""
    name = world.state.full_name(repository)
    address = f"/{name}/issues/{issue.number}"
    change = ("close", "Close", "") if issue.state == "open" else ("reopen", "Reopen", "")
    return page(
        f"{issue.title} · Issue #{issue.number} · {name}",
        tabs(world, repository, "Issues"),
        _title(issue),
        tag("p", state_badge(issue.state), " opened by ", who(world, issue.author_id), class_="about"),
        _refusal(refused),
        conversation(world, repository, issue),
        act_bar(world, persona, address, [("comment", "Comment", "good"), change]),
        crumbs=((name, f"/{name}"), (f"#{issue.number}", address)),
    )


def _title(issue: Issue) -> Markup:
    return tag("h1", issue.title, " ", tag("span", f"#{issue.number}", class_="quiet"))


def _refusal(refused: str | None) -> Markup | None:
    return tag("p", tag("strong", "Refused: "), refused, class_="refused", role="alert") if refused else None


def _reviewers(world: World, repository: Repository, pull: PullRequest) -> Markup:
    rows = []
    for user, review in mergeability.latest_decisions(pull).items():
        mark, kind = {"APPROVED": ("✓", "good"), "CHANGES_REQUESTED": ("✕", "bad")}.get(
            review.state, ("·", "quiet")
        )
        stale = review.commit_id != pull.head_sha and review.state == "APPROVED"
        rows.append(
            tag(
                "li",
                avatar(world.state.accounts.get(user), 20),
                who(world, user),
                tag("span", " of an older commit", class_="quiet") if stale else None,
                tag("span", mark, class_=f"mark {kind}", title=review.state.replace("_", " ").lower()),
            )
        )
    waiting = tag("span", "●", class_="mark wait", title="asked for a review")
    rows += [
        tag("li", avatar(world.state.accounts.get(user), 20), who(world, user), waiting)
        for user in pull.requested_reviewers
    ]
    for number in pull.requested_teams:
        team = world.state.teams.get(number)
        if team is not None:
            organization = world.state.accounts[team.organization_id].login
            rows.append(tag("li", tag("strong", f"{organization}/{team.slug}"), waiting))
    body = tag("ul", *rows) if rows else tag("p", "Nobody was asked.", class_="quiet")
    return tag("section", tag("h2", "Reviewers"), body)


def _checks(world: World, repository: Repository, sha: str) -> Markup | None:
    rows = []
    for run in repository.check_runs.values():
        if run.head_sha == sha:
            passed = run.conclusion in {"success", "neutral", "skipped"}
            waiting = run.status != "completed"
            mark, kind = ("●", "wait") if waiting else ("✓", "good") if passed else ("✕", "bad")
            text = run.title or run.conclusion or run.status
            summary = tag("div", rendered(run.summary), class_="markdown") if run.summary else None
            head = joined(tag("span", mark, class_=f"mark {kind}"), tag("strong", run.name), " ", text)
            rows.append(tag("li", tag("details", tag("summary", head), summary) if summary else head))
    for status in {status.context: status for status in repository.statuses if status.sha == sha}.values():
        mark, kind = MARKS.get(status.state, ("●", "wait"))
        rows.append(
            tag(
                "li",
                tag("span", mark, class_=f"mark {kind}"),
                tag("strong", status.context),
                f" {status.description or ''}",
            )
        )
    return tag("section", tag("h2", "Checks"), tag("ul", *rows, class_="checks")) if rows else None


def _mergebox(world: World, repository: Repository, pull: PullRequest) -> Markup | None:
    if repository.issues[pull.number].state != "open":
        return None
    mergeability.compute(world, repository, pull)
    mergeable, state = mergeability.state_of(world, world.state, repository, pull)
    words = {
        "clean": "Can be merged.",
        "dirty": "Has conflicts with the base branch.",
        "draft": "Is a draft.",
        "behind": "Is behind the base branch.",
        "unstable": "Can be merged, but not all checks have passed.",
    }
    reasons = mergeability.blockers(world, world.state, repository, pull)
    text = " ".join(reasons) if reasons else words.get(state, state)
    return tag(
        "section", tag("h2", "Merging"), tag("p", text, class_="bad" if mergeable is False else "quiet")
    )
