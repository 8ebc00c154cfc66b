"""A ref moves: pull requests follow, stale approvals fall, owners are asked, everybody is told.

Every change of a branch passes here: REST, ``git push``, merges and the buttons on the pages.
"""

from typing import TYPE_CHECKING

from github_simulator import access, codeowners, events, push_event, timeline
from github_simulator.calls import Refusal
from github_simulator.model import Account, Issue, PullRequest, Repository
from github_simulator.representation import accounts
from github_simulator.representation import teams as teams_json

if TYPE_CHECKING:
    from github_simulator.records import Records


def protected(
    world: "Records", repository: Repository, ref: str, account: Account, sha: str | None
) -> str | None:
    """Why branch protection refuses a direct change of a ref; None when it does not."""
    branch = ref.removeprefix("refs/heads/")
    protection = repository.protections.get(branch)
    if protection is None or not ref.startswith("refs/heads/"):
        return None
    admin = access.granted_level(world.state, account.id, repository) == "admin"
    if sha is None:
        return None if protection.allow_deletions else "Cannot delete this protected branch"
    before = repository.refs.get(ref)
    forced = before is not None and not world.store(repository).is_ancestor(before, sha)
    if forced and not protection.allow_force_pushes:
        return "Cannot force-push to this branch"
    if (protection.reviews_required or protection.status_checks_required) and not (
        admin and not protection.enforce_admins
    ):
        return "Changes must be made through a pull request."
    return None


def move(
    world: "Records",
    repository: Repository,
    ref: str,
    sha: str | None,
    account: Account,
    *,
    via_app_id: int | None = None,
    in_git_already: bool = False,
    merging: int | None = None,
) -> None:
    """Point a ref at a commit (or delete it) and let everything that follows happen.

    ``merging`` is the number of the pull request whose merge causes this; it is not closed a second time.
    """
    before = repository.refs.get(ref)
    if before == sha:
        return
    if not in_git_already:
        world.store(repository).set_ref(ref, sha)
    if sha is None:
        repository.refs.pop(ref, None)
    else:
        repository.refs[ref] = sha
    repository.pushed_at = repository.updated_at = world.clock.now()
    if not ref.startswith(("refs/heads/", "refs/tags/")):
        return
    forced = before is not None and sha is not None and not world.store(repository).is_ancestor(before, sha)
    push_event.tell(world, repository, ref, before, sha, account, forced=forced)
    if not ref.startswith("refs/heads/"):
        return
    branch = ref.removeprefix("refs/heads/")
    for base in list(world.state.repositories.values()):
        for pull in list(base.pulls.values()):
            if base.issues[pull.number].state != "open" or pull.number == merging:
                continue
            if pull.head_repository_id == repository.id and pull.head_ref == branch:
                _head_moved(world, base, pull, sha, account, via_app_id=via_app_id, forced=forced)
            elif base.id == repository.id and pull.base_ref == branch:
                _base_moved(world, base, pull, sha, account, via_app_id)


def _head_moved(
    world: "Records",
    repository: Repository,
    pull: PullRequest,
    sha: str | None,
    account: Account,
    *,
    via_app_id: int | None,
    forced: bool,
) -> None:
    issue = repository.issues[pull.number]
    if sha is None:
        timeline.record(world, issue, "head_ref_deleted", account.id, via_app_id=via_app_id)
        close(world, repository, pull, account, via_app_id=via_app_id)
        return
    before, store = pull.head_sha, world.store(repository)
    ref = f"refs/pull/{pull.number}/head"
    if pull.head_repository_id is not None and pull.head_repository_id != repository.id:
        store.fetch(world.store(world.state.repositories[pull.head_repository_id]), sha, ref)
    store.set_ref(ref, sha)
    repository.refs[ref] = sha
    base_tip = repository.refs[f"refs/heads/{pull.base_ref}"]
    pull.head_sha, pull.base_sha, pull.mergeability, pull.merge_commit_sha = sha, base_tip, None, None
    if forced:
        timeline.record(
            world, issue, "head_ref_force_pushed", account.id, commit_id=sha, via_app_id=via_app_id
        )
    record_commits(
        world, repository, pull, issue, exclude=(base_tip,) if forced else (base_tip, before), account=account
    )
    if world.faults.repoint_on_base_merge:
        _repoint(world, repository, pull, before, base_tip)
    _dismiss_stale(world, repository, pull, account)
    request_owners(world, repository, pull, account)
    events.pull_request(world, repository, pull, "synchronize", account, before=before, after=sha)


def record_commits(
    world: "Records",
    repository: Repository,
    pull: PullRequest,
    issue: Issue,
    *,
    exclude: tuple[str, ...],
    account: Account,
) -> None:
    """Put the head's new commits into the timeline, oldest first."""
    for sha in reversed(world.store(repository).log(pull.head_sha, exclude)):
        timeline.record(world, issue, "committed", account.id, commit_id=sha)


def _repoint(world: "Records", repository: Repository, pull: PullRequest, before: str, base_tip: str) -> None:
    commit = world.store(repository).commit(pull.head_sha)
    if commit is not None and len(commit.parents) == 2 and before in commit.parents:
        other = next((parent for parent in commit.parents if parent != before), before)
        if world.store(repository).is_ancestor(other, base_tip):
            for review in pull.reviews:
                if review.state != "PENDING":
                    review.commit_id = pull.head_sha


def _dismiss_stale(world: "Records", repository: Repository, pull: PullRequest, account: Account) -> None:
    protection = repository.protections.get(pull.base_ref)
    if protection is None or not (protection.reviews_required and protection.dismiss_stale_reviews):
        return
    for review in pull.reviews:
        if review.state == "APPROVED":
            review.state = "DISMISSED"
            issue = repository.issues[pull.number]
            dismissed = {"review_id": review.id, "state": "approved", "dismissal_message": None}
            timeline.record(world, issue, "review_dismissed", account.id, dismissed_review=dismissed)
            events.review(world, repository, pull, review, "dismissed", account)


def request_owners(world: "Records", repository: Repository, pull: PullRequest, account: Account) -> None:
    """Ask the code owners of the changed paths for a review, as CODEOWNERS of the base branch says.

    Drafts ask nobody until they are ready; the author is not asked; who has reviewed is not asked again.
    """
    if pull.draft:
        return
    lines, _ = world.codeowners(repository, repository.refs[f"refs/heads/{pull.base_ref}"])
    found = codeowners.requested(world.state, repository, lines, world.pull_paths(repository, pull))
    issue = repository.issues[pull.number]
    reviewed = {review.author_id for review in pull.reviews if review.state != "PENDING"}
    users = [user for user in found.users if user != issue.author_id and user not in reviewed]
    teams = [
        team
        for team in found.teams
        if not reviewed & set(access.team_members(world.state, world.state.teams[team]))
    ]
    ask(world, repository, pull, users, teams, account)


def ask(
    world: "Records",
    repository: Repository,
    pull: PullRequest,
    users: list[int],
    teams: list[int],
    account: Account,
    via_app_id: int | None = None,
) -> None:
    """Add requested reviewers that are not there yet; each gets an event."""
    view, issue = world.view(), repository.issues[pull.number]
    for user in users:
        if user not in pull.requested_reviewers:
            pull.requested_reviewers.append(user)
            timeline.record(
                world,
                issue,
                "review_requested",
                account.id,
                via_app_id=via_app_id,
                requested_reviewer_id=user,
            )
            asked = accounts.simple(view, view.account(user))
            events.pull_request(
                world, repository, pull, "review_requested", account, requested_reviewer=asked
            )
    for team in teams:
        if team not in pull.requested_teams:
            pull.requested_teams.append(team)
            timeline.record(
                world, issue, "review_requested", account.id, via_app_id=via_app_id, requested_team_id=team
            )
            asked = teams_json.listed(view, view.state.teams[team])
            events.pull_request(world, repository, pull, "review_requested", account, requested_team=asked)


def _base_moved(
    world: "Records",
    repository: Repository,
    pull: PullRequest,
    sha: str | None,
    account: Account,
    via_app_id: int | None,
) -> None:
    if sha is None:
        close(world, repository, pull, account, via_app_id=via_app_id)
    elif world.store(repository).is_ancestor(pull.head_sha, sha):
        # GitHub marks a pull request as merged when its head arrives in the base by a push.
        merged(world, repository, pull, sha, account, via_app_id=via_app_id)


def close(
    world: "Records",
    repository: Repository,
    pull: PullRequest,
    account: Account,
    *,
    via_app_id: int | None = None,
) -> None:
    """Close without merging."""
    issue, now = repository.issues[pull.number], world.clock.now()
    issue.state, issue.closed_at, issue.closed_by = "closed", now, account.id
    pull.base_sha = repository.refs.get(f"refs/heads/{pull.base_ref}", pull.base_sha)
    timeline.record(world, issue, "closed", account.id, via_app_id=via_app_id)
    events.pull_request(world, repository, pull, "closed", account)


def merged(
    world: "Records",
    repository: Repository,
    pull: PullRequest,
    merge_sha: str,
    account: Account,
    *,
    via_app_id: int | None = None,
) -> None:
    """Write down that a pull request was merged."""
    issue, now = repository.issues[pull.number], world.clock.now()
    issue.state, issue.closed_at, issue.closed_by = "closed", now, account.id
    pull.merged_at, pull.merged_by, pull.merge_commit_sha = now, account.id, merge_sha
    timeline.record(world, issue, "merged", account.id, commit_id=merge_sha, via_app_id=via_app_id)
    timeline.record(world, issue, "closed", account.id, via_app_id=via_app_id)
    events.pull_request(world, repository, pull, "closed", account)


def set_draft(
    world: "Records", repository: Repository, pull: PullRequest, account: Account, *, draft: bool
) -> None:
    """Turn a pull request into a draft, or make it ready, which asks the owners for a review."""
    if pull.draft == draft:
        return
    pull.draft = draft
    kind = "convert_to_draft" if draft else "ready_for_review"
    timeline.record(world, repository.issues[pull.number], kind, account.id)
    action = "converted_to_draft" if draft else "ready_for_review"
    events.pull_request(world, repository, pull, action, account)
    if not draft:
        request_owners(world, repository, pull, account)


def checked_sha(world: "Records", repository: Repository, sha: str, what: str = "Object") -> str:
    """A commit SHA that exists here. Raises Refusal 422."""
    if world.store(repository).commit(sha) is None:
        raise Refusal(422, f"{what} does not exist")
    return sha
