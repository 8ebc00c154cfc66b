"""The webhooks that tell of a moved ref: push, create, delete."""

from typing import TYPE_CHECKING, Any

from github_simulator import clock, events
from github_simulator.git_store import ZERO, Commit
from github_simulator.model import Account, Repository
from github_simulator.representation import commits

if TYPE_CHECKING:
    from github_simulator.records import Records

MOST_COMMITS_IN_EVENT = 2048


def tell(
    world: "Records",
    repository: Repository,
    ref: str,
    before: str | None,
    sha: str | None,
    account: Account,
    *,
    forced: bool,
) -> None:
    """Send ``push``, and ``create`` or ``delete`` when the ref is new or gone."""
    view, store = world.view(), world.store(repository)
    kind = "branch" if ref.startswith("refs/heads/") else "tag"
    short = ref.split("/", 2)[2]
    common: dict[str, Any] = {"ref": short, "ref_type": kind, "pusher_type": "user"}
    if before is None:
        more = {"master_branch": repository.default_branch, "description": repository.description}
        events.emit(world, "create", None, common | more, sender=account, repository=repository)
    if sha is None:
        events.emit(world, "delete", None, common, sender=account, repository=repository)
    new: list[Commit] = []
    if sha is not None:
        default_tip = repository.refs.get(f"refs/heads/{repository.default_branch}", sha)
        known = (before,) if before is not None else (default_tip,) if default_tip != sha else ()
        shas = store.log(sha, known, limit=MOST_COMMITS_IN_EVENT)
        new = [commit for found in reversed(shas) if (commit := store.commit(found)) is not None]
    listed = [_simple_commit(world, repository, commit) for commit in new]
    head = store.commit(sha) if sha is not None else None
    page = view.repo_html(repository)
    payload = {
        "ref": ref,
        "before": before or ZERO,
        "after": sha or ZERO,
        "created": before is None,
        "deleted": sha is None,
        "forced": forced,
        "base_ref": None,
        "compare": f"{page}/compare/{(before or ZERO)[:12]}...{(sha or ZERO)[:12]}",
        "commits": listed,
        "head_commit": _simple_commit(world, repository, head) if head is not None else None,
        "pusher": {"name": account.login, "email": account.email},
    }
    events.emit(world, "push", None, payload, sender=account, repository=repository)


def _simple_commit(world: "Records", repository: Repository, commit: Commit) -> dict[str, Any]:
    view = world.view()
    people = {}
    for role, person in (("author", commit.author), ("committer", commit.committer)):
        account = commits.account_of(view, person)
        people[role] = {"name": person.name, "email": person.email, "date": clock.text(person.date)}
        if account is not None:
            people[role]["username"] = account.login
    parent = commit.parents[0] if commit.parents else world.empty_tree
    changed = world.differ(repository).between(parent, commit.sha)
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "distinct": True,
        "message": commit.message,
        "timestamp": clock.text(commit.committer.date),
        "url": f"{view.repo_html(repository)}/commit/{commit.sha}",
        "added": [file.path for file in changed if file.status == "added"],
        "removed": [file.path for file in changed if file.status == "removed"],
        "modified": [file.path for file in changed if file.status not in {"added", "removed"}],
    } | people
