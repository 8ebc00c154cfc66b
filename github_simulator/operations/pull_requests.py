"""Pull requests: opening, reading, changing, closing."""

from typing import Any

from github_simulator import access, events, mergeability, pushes, timeline
from github_simulator.calls import AsInstallation, Call, Refusal, Reply, not_found
from github_simulator.model import Issue, PullRequest, Repository
from github_simulator.operations.bodies import checked_body
from github_simulator.representation import commits, pulls
from github_simulator.routing import operation

MOST_FILES = 3000
MOST_COMMITS = 250
ADMIN_ONLY = (403, "Must have admin rights to Repository.")


def found(call: Call) -> PullRequest:
    """The pull request that the path names."""
    pull = call.repo.pulls.get(call.number("pull_number"))
    if pull is None:
        raise not_found()
    return pull


def shown_in_full(call: Call, pull: PullRequest) -> dict[str, Any]:
    """A pull request as the single-item operations answer it."""
    mergeable, state = mergeability.state_of(call.world, call.state, call.repo, pull)
    return pulls.full(call.view, call.repo, pull, mergeable=mergeable, state=state)


def may_edit(call: Call, issue: Issue) -> None:
    """The author and people with triage rights may change an issue or pull request. Raises Refusal 403."""
    if isinstance(call.actor, AsInstallation) or issue.author_id == call.account.id:
        return
    if not access.at_least(access.level_of(call.state, call.account, call.repo), "triage"):
        raise Refusal(*ADMIN_ONLY)


@operation("GET /repos/{owner}/{repo}/pulls", app="pull_requests:read")
def list_pulls(call: Call) -> Reply:
    """Pull requests, newest first unless told otherwise; ``head`` is ``owner:branch``."""
    query, wanted = call.query, call.query.get("state", "open")
    chosen = []
    for pull in call.repo.pulls.values():
        owner = call.state.accounts.get(pull.head_owner_id)
        label = f"{owner.login if owner is not None else ''}:{pull.head_ref}"
        if wanted not in {"all", call.repo.issues[pull.number].state}:
            continue
        if (
            query.get("head", label).lower() != label.lower()
            or query.get("base", pull.base_ref) != pull.base_ref
        ):
            continue
        chosen.append(pull)
    by_update = query.get("sort") == "updated"
    chosen.sort(key=lambda pull: (call.repo.issues[pull.number].updated_at if by_update else 0, pull.number))
    if query.get("direction", "desc") == "desc":
        chosen.reverse()
    return call.page(chosen, lambda pull: pulls.simple(call.view, call.repo, pull))


def _head(call: Call, name: str) -> tuple[Repository, str]:
    """Repository and branch of ``branch`` or ``owner:branch``. Raises Refusal 422."""
    owner, colon, branch = name.rpartition(":")
    repository = call.repo
    if colon:
        account = call.state.account_by_login(owner)
        candidates = [
            other
            for other in call.state.repositories.values()
            if account is not None
            and other.owner_id == account.id
            and (other.id == call.repo.id or call.repo.id == other.fork_of)
        ]
        if not candidates:
            raise Refusal(
                422, "Validation Failed", [{"resource": "PullRequest", "field": "head", "code": "invalid"}]
            )
        repository = candidates[0]
    if f"refs/heads/{branch}" not in repository.refs:
        raise Refusal(
            422, "Validation Failed", [{"resource": "PullRequest", "field": "head", "code": "invalid"}]
        )
    return repository, branch


@operation("POST /repos/{owner}/{repo}/pulls", app="pull_requests:write")
def create(call: Call) -> Reply:
    """Open a pull request. Refuses duplicates and heads without new commits."""
    asked, store = call.body, call.world.store(call.repo)
    base = asked["base"]
    if f"refs/heads/{base}" not in call.repo.refs:
        raise Refusal(
            422, "Validation Failed", [{"resource": "PullRequest", "field": "base", "code": "invalid"}]
        )
    source, branch = _head(call, asked["head"])
    if not isinstance(call.actor, AsInstallation):
        level = access.level_of(call.state, call.account, source)
        if not access.at_least(level, "push"):
            problem = {"resource": "PullRequest", "field": "head", "code": "invalid"}
            raise Refusal(422, "Validation Failed", [problem])
    label = f"{call.state.accounts[source.owner_id].login}:{branch}"
    for other in call.repo.pulls.values():
        is_open = call.repo.issues[other.number].state == "open"
        if is_open and (other.head_repository_id, other.head_ref, other.base_ref) == (
            source.id,
            branch,
            base,
        ):
            raise _custom(f"A pull request already exists for {label}.")
    head_sha, base_tip = source.refs[f"refs/heads/{branch}"], call.repo.refs[f"refs/heads/{base}"]
    number = _next_number(call.repo)
    head_ref = f"refs/pull/{number}/head"
    if source.id != call.repo.id:
        store.fetch(call.world.store(source), head_sha, head_ref)
    if store.is_ancestor(head_sha, base_tip):
        raise _custom(f"No commits between {base} and {branch}")
    title = asked.get("title") or branch
    if not title.strip():
        raise Refusal(
            422, "Validation Failed", [{"resource": "PullRequest", "code": "missing_field", "field": "title"}]
        )
    issue = new_issue(call, number, title, checked_body(asked.get("body")))
    pull = PullRequest(
        id=call.state.next_id("pull", 900_001),
        number=number,
        head_repository_id=source.id,
        head_owner_id=source.owner_id,
        head_ref=branch,
        head_sha=head_sha,
        base_ref=base,
        base_sha=base_tip,
        draft=bool(asked.get("draft")),
        maintainer_can_modify=bool(asked.get("maintainer_can_modify")) and source.id != call.repo.id,
    )
    call.repo.pulls[number] = pull
    store.set_ref(head_ref, head_sha)
    call.repo.refs[head_ref] = head_sha
    pushes.record_commits(call.world, call.repo, pull, issue, exclude=(base_tip,), account=call.account)
    events.pull_request(call.world, call.repo, pull, "opened", call.account)
    pushes.request_owners(call.world, call.repo, pull, call.account)
    body = pulls.full(call.view, call.repo, pull, mergeable=None, state="unknown")
    return Reply(status=201, body=body, headers={"location": body["url"]})


def _custom(message: str) -> Refusal:
    problem = {"resource": "PullRequest", "code": "custom", "message": message}
    return Refusal(422, "Validation Failed", [problem])


def _next_number(repository: Repository) -> int:
    return max(repository.issues, default=0) + 1


def new_issue(call: Call, number: int, title: str, body: str | None) -> Issue:
    """Store a new issue, which a pull request also is."""
    issue = Issue(
        id=call.state.next_id("issue", 2_000_001),
        number=number,
        title=title,
        body=body,
        author_id=call.account.id,
        created_at=call.now,
        updated_at=call.now,
        via_app_id=call.via_app_id,
    )
    call.repo.issues[number] = issue
    return issue


@operation("GET /repos/{owner}/{repo}/pulls/{pull_number}", app="pull_requests:read")
def get(call: Call) -> Reply:
    """One pull request; with a diff or patch media type, its diff."""
    pull = found(call)
    if ".diff" in call.accept or ".patch" in call.accept:
        base = call.world.pull_base(call.repo, pull)
        _, text = call.world.store(call.repo).run("diff", "--no-color", base, pull.head_sha)
        return Reply(body=text, headers={"content-type": "application/vnd.github.diff; charset=utf-8"})
    return Reply(body=shown_in_full(call, pull))


@operation("PATCH /repos/{owner}/{repo}/pulls/{pull_number}", app="pull_requests:write")
def update(call: Call) -> Reply:
    """Change title, body, base or state; each change has its event."""
    pull, asked = found(call), call.body or {}
    issue = call.repo.issues[pull.number]
    may_edit(call, issue)
    changes = edit_texts(call, issue, asked)
    base = asked.get("base", pull.base_ref)
    if base != pull.base_ref:
        changes["base"] = _retarget(call, pull, issue, base)
    if changes:
        events.pull_request(call.world, call.repo, pull, "edited", call.account, changes=changes)
    if asked.get("state") == "closed" and issue.state == "open":
        pushes.close(call.world, call.repo, pull, call.account, via_app_id=call.via_app_id)
    elif asked.get("state") == "open" and issue.state == "closed":
        _reopen(call, pull, issue)
    return Reply(body=shown_in_full(call, pull))


def edit_texts(call: Call, issue: Issue, asked: dict[str, Any]) -> dict[str, Any]:
    """Change title and body, and return what the ``edited`` event says about it."""
    changes: dict[str, Any] = {}
    body = checked_body(asked["body"]) if "body" in asked else issue.body
    title = asked.get("title") or issue.title
    if title != issue.title:
        changes["title"] = {"from": issue.title}
        rename = {"from": issue.title, "to": str(title)}
        timeline.record(
            call.world, issue, "renamed", call.account.id, via_app_id=call.via_app_id, rename=rename
        )
        issue.title = str(title)
    if body != issue.body:
        changes["body"] = {"from": issue.body or ""}
        issue.body, issue.last_edited_at, issue.updated_at = body, call.now, call.now
    return changes


def _retarget(call: Call, pull: PullRequest, issue: Issue, base: str) -> dict[str, Any]:
    tip = call.repo.refs.get(f"refs/heads/{base}")
    if tip is None:
        raise Refusal(
            422, "Validation Failed", [{"resource": "PullRequest", "field": "base", "code": "invalid"}]
        )
    if issue.state != "open":
        raise _custom("Cannot change the base branch of a closed pull request.")
    before = {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}
    pull.base_ref, pull.base_sha, pull.mergeability, pull.merge_commit_sha = base, tip, None, None
    timeline.record(call.world, issue, "base_ref_changed", call.account.id, via_app_id=call.via_app_id)
    return before


def _reopen(call: Call, pull: PullRequest, issue: Issue) -> None:
    source = call.state.repositories.get(pull.head_repository_id or 0)
    tip = source.refs.get(f"refs/heads/{pull.head_ref}") if source is not None else None
    if pull.merged_at is not None or tip is None or f"refs/heads/{pull.base_ref}" not in call.repo.refs:
        raise Refusal(
            422,
            "Validation Failed",
            [
                {
                    "resource": "PullRequest",
                    "code": "custom",
                    "field": "state",
                    "message": "state cannot be changed. The pull request cannot be reopened.",
                }
            ],
        )
    if tip != pull.head_sha and not call.world.store(call.repo).is_ancestor(pull.head_sha, tip):
        message = f"state cannot be changed. The {pull.head_ref} branch was force-pushed or recreated."
        problem = {"resource": "PullRequest", "code": "custom", "field": "state", "message": message}
        raise Refusal(422, "Validation Failed", [problem])
    issue.state, issue.closed_at, issue.closed_by = "open", None, None
    timeline.record(call.world, issue, "reopened", call.account.id, via_app_id=call.via_app_id)
    events.pull_request(call.world, call.repo, pull, "reopened", call.account)
    if tip != pull.head_sha:
        pull.head_sha, pull.mergeability = tip, None
        call.world.store(call.repo).set_ref(f"refs/pull/{pull.number}/head", tip)
        call.repo.refs[f"refs/pull/{pull.number}/head"] = tip


@operation("GET /repos/{owner}/{repo}/pulls/{pull_number}/files", app="pull_requests:read")
def files(call: Call) -> Reply:
    pull = found(call)
    changed = call.world.pull_files(call.repo, pull)[:MOST_FILES]
    return call.page(changed, lambda file: commits.changed_file(call.view, call.repo, pull.head_sha, file))


@operation("GET /repos/{owner}/{repo}/pulls/{pull_number}/commits", app="pull_requests:read")
def list_commits(call: Call) -> Reply:
    store = call.world.store(call.repo)
    shas = call.world.pull_commits(call.repo, found(call))[:MOST_COMMITS]
    listed = [commit for sha in shas if (commit := store.commit(sha))]
    return call.page(listed, lambda commit: commits.commit(call.view, call.repo, commit))


@operation("GET /repos/{owner}/{repo}/pulls/{pull_number}/comments", app="pull_requests:read")
def review_comments(call: Call) -> Reply:
    return call.page(pulls.review_comment(call.view, call.repo, found(call)))
