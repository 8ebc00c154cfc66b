"""Commits, comparisons and what belongs to a commit."""

from typing import Any

from github_simulator import access
from github_simulator.calls import Call, Refusal, Reply, not_found
from github_simulator.model import Repository
from github_simulator.representation import commits, pulls
from github_simulator.routing import operation

MOST_FILES = 300


def resolved(call: Call, name: str) -> str:
    """The commit that a name in the path or query means. Raises Refusal 422 or 404 as GitHub does."""
    sha = call.world.resolve(call.repo, name)
    if sha is None:
        if len(name) == 40:
            raise Refusal(422, f"No commit found for SHA: {name}")
        raise not_found()
    return sha


@operation("GET /repos/{owner}/{repo}/commits", app="contents:read")
def history(call: Call) -> Reply:
    store = call.world.store(call.repo)
    sha = resolved(call, call.query.get("sha", call.repo.default_branch))
    found = [commit for one in store.log(sha, path=call.query.get("path")) if (commit := store.commit(one))]
    author = call.query.get("author")
    if author is not None:
        account = call.state.account_by_login(author)
        address = account.email if account is not None else author
        found = [commit for commit in found if commit.author.email == address]
    return call.page(found, lambda commit: commits.commit(call.view, call.repo, commit))


@operation("GET /repos/{owner}/{repo}/commits/{ref}", app="contents:read")
def get(call: Call) -> Reply:
    sha = resolved(call, call.parameters["ref"])
    if "sha" in call.accept.split("application/vnd.github.")[-1]:
        return Reply(body=sha.encode(), headers={"content-type": "text/plain; charset=utf-8"})
    commit = call.world.store(call.repo).commit(sha)
    if commit is None:
        raise not_found()
    parent = commit.parents[0] if commit.parents else call.world.empty_tree
    files = call.world.differ(call.repo).between(parent, sha)
    additions, deletions = sum(file.additions for file in files), sum(file.deletions for file in files)
    body = commits.commit(call.view, call.repo, commit) | {
        "stats": {"additions": additions, "deletions": deletions, "total": additions + deletions}
    }
    page = call.page(files, lambda file: commits.changed_file(call.view, call.repo, sha, file))
    return Reply(body=body | {"files": page.body}, headers=page.headers)


@operation("GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls", app="pull_requests:read")
def pulls_of(call: Call) -> Reply:
    sha = resolved(call, call.parameters["commit_sha"])
    found = [
        pull
        for pull in call.repo.pulls.values()
        if sha in {pull.head_sha, pull.merge_commit_sha} or sha in call.world.pull_commits(call.repo, pull)
    ]
    return call.page(found, lambda pull: pulls.simple(call.view, call.repo, pull))


def _side(call: Call, name: str) -> str:
    """One side of a comparison: a ref, or ``owner:branch`` of a fork."""
    owner, colon, branch = name.partition(":")
    if not colon:
        return resolved(call, name)
    account = call.state.account_by_login(owner)
    for other in call.state.repositories.values():
        family = {other.id, other.fork_of} & {call.repo.id, call.repo.fork_of} - {None}
        sha = other.refs.get(f"refs/heads/{branch}")
        if account is not None and other.owner_id == account.id and family and sha is not None:
            _bring(call, other, sha)
            return sha
    raise not_found()


def _bring(call: Call, other: Repository, sha: str) -> None:
    store = call.world.store(call.repo)
    if other.id != call.repo.id and store.commit(sha) is None:
        if access.level_of(call.state, call.account, other) == "none":
            raise not_found()
        store.fetch(call.world.store(other), sha, f"refs/simulator/{sha}")


@operation("GET /repos/{owner}/{repo}/compare/{basehead}", app="contents:read")
def compare(call: Call) -> Reply:
    """What head has that base has not: three dots, from the merge base."""
    base_name, dots, head_name = call.parameters["basehead"].partition("...")
    if not dots:
        raise not_found()
    base, head = _side(call, base_name), _side(call, head_name)
    store, view, repo = call.world.store(call.repo), call.view, call.repo
    merge_base = store.merge_base(base, head)
    if merge_base is None:
        raise Refusal(404, f"No common ancestor between {base_name} and {head_name}.")
    ahead, behind = store.log(head, (base,)), store.log(base, (head,))
    status = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else "identical"
    shown = [commit for sha in reversed(ahead) if (commit := store.commit(sha))]
    page = call.page(shown, lambda commit: commits.commit(view, repo, commit))
    files = call.world.differ(repo).between(merge_base, head)[:MOST_FILES]
    base_commit, base_of_merge = store.commit(base), store.commit(merge_base)
    if base_commit is None or base_of_merge is None:
        raise not_found()
    url = f"{view.repo_api(repo)}/compare/{call.parameters['basehead']}"
    html = f"{view.repo_html(repo)}/compare/{call.parameters['basehead']}"
    body: dict[str, Any] = {
        "url": url,
        "html_url": html,
        "permalink_url": f"{view.repo_html(repo)}/compare/{base[:12]}...{head[:12]}",
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": commits.commit(view, repo, base_commit),
        "merge_base_commit": commits.commit(view, repo, base_of_merge),
        "status": status,
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": page.body,
        "files": [commits.changed_file(view, repo, head, file) for file in files],
    }
    return Reply(body=body, headers=page.headers)
