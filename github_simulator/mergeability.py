"""Whether a pull request can be merged, and what stands in the way.

GitHub computes this in the background: the first read after a change says null. ``mergeable_state`` is
one of clean, dirty, blocked, behind, unstable, draft and unknown.
"""

from typing import TYPE_CHECKING

from github_simulator import access, codeowners
from github_simulator.git_store import Person
from github_simulator.model import Mergeability, Protection, PullRequest, Repository, Review, State

if TYPE_CHECKING:
    from github_simulator.records import Records


def known(repository: Repository, pull: PullRequest) -> Mergeability | None:
    """What was computed, if it is about the present head and base."""
    found = pull.mergeability
    if found is None or pull.merged_at is not None:
        return None
    tip = repository.refs.get(f"refs/heads/{pull.base_ref}")
    return found if (found.head_sha, found.base_tip) == (pull.head_sha, tip) else None


def compute(world: "Records", repository: Repository, pull: PullRequest) -> Mergeability | None:
    """Merge head into base for trial, as ``refs/pull/N/merge``; None for one that is closed."""
    tip = repository.refs.get(f"refs/heads/{pull.base_ref}")
    if tip is None or repository.issues[pull.number].state != "open":
        return None
    already = known(repository, pull)
    if already is not None:
        return already
    store = world.store(repository)
    merged = store.merge(tip, pull.head_sha)
    commit = None
    if merged.tree is not None:
        now = world.clock.now()
        person = Person(name="GitHub", email="noreply@github.com", date=now)
        message = f"Merge {pull.head_sha} into {tip}"
        commit = store.write_commit(
            tree=merged.tree, parents=(tip, pull.head_sha), message=message, author=person, committer=person
        )
        ref = f"refs/pull/{pull.number}/merge"
        store.set_ref(ref, commit)
        repository.refs[ref] = commit
    pull.merge_commit_sha = commit
    pull.mergeability = Mergeability(
        head_sha=pull.head_sha, base_tip=tip, clean=commit is not None, merge_commit_sha=commit
    )
    return pull.mergeability


def latest_decisions(pull: PullRequest) -> dict[int, Review]:
    """Each reviewer's last review that decides; comments do not replace an approval."""
    decisions: dict[int, Review] = {}
    for review in pull.reviews:
        if review.state in {"APPROVED", "CHANGES_REQUESTED", "DISMISSED"}:
            decisions[review.author_id] = review
    return decisions


def blockers(world: "Records", state: State, repository: Repository, pull: PullRequest) -> list[str]:
    """Why branch protection refuses a merge, in GitHub's words; empty when it does not."""
    protection = repository.protections.get(pull.base_ref)
    if protection is None:
        return []
    found = []
    if protection.reviews_required:
        found += _missing_reviews(world, state, repository, pull, protection)
    if protection.status_checks_required:
        found += _missing_checks(repository, pull, protection)
    if protection.strict and behind(world, repository, pull):
        found.append("This branch is out-of-date with the base branch")
    return found


def behind(world: "Records", repository: Repository, pull: PullRequest) -> bool:
    """Whether the base has commits that the head lacks."""
    tip = repository.refs[f"refs/heads/{pull.base_ref}"]
    return not world.store(repository).is_ancestor(tip, pull.head_sha)


def _can_write(state: State, repository: Repository, review: Review) -> bool:
    """Whether a review counts: people need write access, an App ``contents: write``."""
    account = state.accounts.get(review.author_id)
    if account is None:
        return False
    if account.kind == "Bot":
        return any(
            installation.account_id == repository.owner_id
            and state.apps[installation.app_id].bot_id == account.id
            and installation.permissions.get("contents") == "write"
            for installation in state.installations.values()
        )
    return access.at_least(access.granted_level(state, account.id, repository), "push")


def _missing_reviews(
    world: "Records", state: State, repository: Repository, pull: PullRequest, protection: Protection
) -> list[str]:
    decisions = {
        user: review
        for user, review in latest_decisions(pull).items()
        if _can_write(state, repository, review)
    }
    if any(review.state == "CHANGES_REQUESTED" for review in decisions.values()):
        return ["Changes have been requested."]
    approvers = {user for user, review in decisions.items() if review.state == "APPROVED"}
    needed = protection.required_approving_reviews
    found = []
    if len(approvers) < needed:
        noun = "review is" if needed == 1 else "reviews are"
        found.append(f"At least {needed} approving {noun} required by reviewers with write access.")
    if protection.require_code_owner_reviews:
        lines, _ = world.codeowners(repository, repository.refs[f"refs/heads/{pull.base_ref}"])
        for path in world.pull_paths(repository, pull):
            owners = codeowners.requested(state, repository, lines, [path])
            people = set(owners.users)
            for team in owners.teams:
                people |= set(access.team_members(state, state.teams[team]))
            if people and not people & approvers:
                found.append("Waiting on code owner review.")
                break
    return found


def check_states(repository: Repository, sha: str) -> dict[str, str]:
    """The newest outcome of each status context and check name at a commit."""
    outcomes: dict[str, str] = {}
    for status in repository.statuses:
        if status.sha == sha:
            outcomes[status.context] = status.state
    for run in repository.check_runs.values():
        if run.head_sha == sha:
            passed = run.conclusion in {"success", "neutral", "skipped"}
            outcomes[run.name] = (
                "pending" if run.status != "completed" else "success" if passed else "failure"
            )
    return outcomes


def _missing_checks(repository: Repository, pull: PullRequest, protection: Protection) -> list[str]:
    outcomes = check_states(repository, pull.head_sha)
    found = []
    for context in protection.contexts:
        outcome = outcomes.get(context)
        if outcome is None or outcome == "pending":
            found.append(f'Required status check "{context}" is expected.')
        elif outcome != "success":
            found.append(f'Required status check "{context}" is failing.')
    return found


def state_of(
    world: "Records", state: State, repository: Repository, pull: PullRequest
) -> tuple[bool | None, str]:
    """``mergeable`` and ``mergeable_state`` as they are known now; starts the computing when they are not."""
    if repository.issues[pull.number].state != "open":
        return None, "unknown"
    found = known(repository, pull)
    if found is None:
        compute(world, repository, pull)
        return None, "unknown"
    if not found.clean:
        return False, "dirty"
    if pull.draft:
        return True, "draft"
    if blockers(world, state, repository, pull):
        protection = repository.protections[pull.base_ref]
        only_behind = protection.strict and blockers(world, state, repository, pull) == [
            "This branch is out-of-date with the base branch"
        ]
        return True, "behind" if only_behind else "blocked"
    if any(outcome != "success" for outcome in check_states(repository, pull.head_sha).values()):
        return True, "unstable"
    return True, "clean"
