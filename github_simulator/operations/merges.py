"""Merging a pull request, and bringing its branch up to date."""

from github_simulator import access, mergeability, pushes
from github_simulator.calls import AsInstallation, Call, Refusal, Reply, not_found
from github_simulator.git_store import Person
from github_simulator.model import PullRequest
from github_simulator.operations.pull_requests import found
from github_simulator.routing import operation


@operation("GET /repos/{owner}/{repo}/pulls/{pull_number}/merge", app="contents:read|pull_requests:read")
def is_merged(call: Call) -> Reply:
    if found(call).merged_at is None:
        raise not_found()
    return Reply(status=204)


@operation(
    "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge",
    app="contents:write",
    level="push",
    refused=(403, "Must have push access to merge pull requests."),
)
def merge(call: Call) -> Reply:
    """Merge, squash or rebase. ``sha`` guards the head: another head is 409, any other obstacle 405."""
    pull, asked = found(call), call.body or {}
    issue = call.repo.issues[pull.number]
    method = asked.get("merge_method", "merge")
    if issue.state != "open":
        raise Refusal(405, "Pull Request is not mergeable")
    if asked.get("sha") not in {None, pull.head_sha}:
        raise Refusal(409, "Head branch was modified. Review and try the merge again.")
    if pull.draft:
        raise Refusal(405, "Pull Request is still a draft")
    allowed = {
        "merge": call.repo.allow_merge_commit,
        "squash": call.repo.allow_squash_merge,
        "rebase": call.repo.allow_rebase_merge,
    }
    if not allowed[method]:
        name = {"merge": "Merge commits are", "squash": "Squash merges are", "rebase": "Rebase merges are"}[
            method
        ]
        raise Refusal(405, f"{name} not allowed on this repository.")
    _refuse_protected(call, pull)
    computed = mergeability.compute(call.world, call.repo, pull)
    if computed is None or not computed.clean:
        raise Refusal(405, "Pull Request is not mergeable")
    before = computed.base_tip
    sha = _merged_commit(call, pull, before, method, asked)
    pull.base_sha = before
    pushes.move(
        call.world,
        call.repo,
        f"refs/heads/{pull.base_ref}",
        sha,
        call.account,
        via_app_id=call.via_app_id,
        merging=pull.number,
    )
    pushes.merged(call.world, call.repo, pull, sha, call.account, via_app_id=call.via_app_id)
    if call.repo.delete_branch_on_merge and pull.head_repository_id == call.repo.id:
        pushes.move(call.world, call.repo, f"refs/heads/{pull.head_ref}", None, call.account)
    return Reply(body={"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


def _refuse_protected(call: Call, pull: PullRequest) -> None:
    blockers = mergeability.blockers(call.world, call.state, call.repo, pull)
    if not blockers:
        return
    protection = call.repo.protections[pull.base_ref]
    bot = isinstance(call.actor, AsInstallation)
    admin = not bot and access.granted_level(call.state, call.account.id, call.repo) == "admin"
    if admin and not protection.enforce_admins:
        return
    raise Refusal(405, blockers[0])


def _web_flow(call: Call) -> Person:
    """GitHub is the committer of what its merge button makes."""
    return Person(name="GitHub", email="noreply@github.com", date=call.now)


def _merged_commit(call: Call, pull: PullRequest, base: str, method: str, asked: dict[str, str]) -> str:
    store, issue = call.world.store(call.repo), call.repo.issues[pull.number]
    author, committer = call.world.person(call.account), _web_flow(call)
    if method == "rebase":
        return _rebased(call, pull, base)
    tree = store.merge(base, pull.head_sha).tree
    if tree is None:
        raise Refusal(405, "Pull Request is not mergeable")
    if method == "squash":
        title = asked.get("commit_title") or f"{issue.title} (#{pull.number})"
        parents: tuple[str, ...] = (base,)
        message = asked.get("commit_message") or ""
    else:
        owner = call.state.accounts.get(pull.head_owner_id)
        name = f"{owner.login if owner is not None else 'ghost'}/{pull.head_ref}"
        title = asked.get("commit_title") or f"Merge pull request #{pull.number} from {name}"
        parents = (base, pull.head_sha)
        message = asked.get("commit_message") or issue.title
    text = f"{title}\n\n{message}" if message else title
    return store.write_commit(tree=tree, parents=parents, message=text, author=author, committer=committer)


def _rebased(call: Call, pull: PullRequest, base: str) -> str:
    """Put each commit on top of the base, one by one, keeping its author."""
    store, tip = call.world.store(call.repo), base
    for sha in call.world.pull_commits(call.repo, pull):
        commit = store.commit(sha)
        if commit is None or len(commit.parents) != 1:
            raise Refusal(405, "This branch can't be rebased")
        current = store.commit(tip)
        if current is None:
            raise Refusal(405, "This branch can't be rebased")
        # A commit with the tip's tree on the picked commit's parent makes that parent the merge base.
        stand_in = store.write_commit(
            tree=current.tree,
            parents=commit.parents,
            message="",
            author=commit.author,
            committer=commit.committer,
        )
        picked = store.merge(stand_in, sha)
        if picked.tree is None:
            raise Refusal(405, "This branch can't be rebased")
        tip = store.write_commit(
            tree=picked.tree,
            parents=(tip,),
            message=commit.message,
            author=commit.author,
            committer=_web_flow(call),
        )
    return tip


@operation(
    "PUT /repos/{owner}/{repo}/pulls/{pull_number}/update-branch", app="pull_requests:write", level="push"
)
def update_branch(call: Call) -> Reply:
    """Merge the base into the head. The answer is 202; the simulator has then already done it."""
    pull = found(call)
    guard = (call.body or {}).get("expected_head_sha")
    if guard is not None and guard != pull.head_sha:
        raise Refusal(422, "expected head sha didn\u2019t match current head ref.")
    source = call.state.repositories.get(pull.head_repository_id or 0)
    tip = call.repo.refs[f"refs/heads/{pull.base_ref}"]
    if source is None:
        raise Refusal(422, "The head repository was deleted.")
    store = call.world.store(call.repo)
    if store.is_ancestor(tip, pull.head_sha):
        raise Refusal(422, "There are no new commits on the base branch.")
    merged = store.merge(pull.head_sha, tip)
    if merged.tree is None:
        raise Refusal(422, "merge conflict between base and head")
    sha = store.write_commit(
        tree=merged.tree,
        parents=(pull.head_sha, tip),
        message=f"Merge branch '{pull.base_ref}' into {pull.head_ref}",
        author=call.world.person(call.account),
        committer=_web_flow(call),
    )
    if source.id != call.repo.id:
        call.world.store(source).fetch(store, sha, f"refs/simulator/{sha}")
    pushes.move(
        call.world, source, f"refs/heads/{pull.head_ref}", sha, call.account, via_app_id=call.via_app_id
    )
    url = f"{call.view.repo_api(call.repo)}/pulls/{pull.number}"
    return Reply(status=202, body={"message": "Updating pull request branch.", "url": url})
