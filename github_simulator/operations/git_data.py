"""Git's own objects: refs, blobs, trees, commits."""

import base64
import binascii
from datetime import datetime
from typing import Any

from github_simulator import pushes
from github_simulator.calls import Call, Refusal, Reply, not_found
from github_simulator.git_store import GitError, Person
from github_simulator.representation import commits
from github_simulator.routing import operation

MOST_ENTRIES = 100_000
LARGEST_TREE_BYTES = 7 * 1024 * 1024
"""Limits of a recursive tree (docs.github.com, "Get a tree")."""


def _full(name: str) -> str:
    return name if name.startswith("refs/") else f"refs/{name}"


@operation("GET /repos/{owner}/{repo}/git/ref/{ref}", app="contents:read")
def ref(call: Call) -> Reply:
    name = _full(call.parameters["ref"])
    sha = call.repo.refs.get(name)
    if sha is None:
        raise not_found()
    return Reply(body=commits.ref(call.view, call.repo, name, sha))


@operation("GET /repos/{owner}/{repo}/git/matching-refs/{ref}", app="contents:read")
def matching_refs(call: Call) -> Reply:
    start = _full(call.parameters["ref"])
    names = sorted(name for name in call.repo.refs if name.startswith(start))
    return call.page(names, lambda name: commits.ref(call.view, call.repo, name, call.repo.refs[name]))


@operation("POST /repos/{owner}/{repo}/git/refs", app="contents:write", level="push")
def create_ref(call: Call) -> Reply:
    name, sha = call.body["ref"], call.body["sha"]
    if not name.startswith("refs/") or name.count("/") < 2 or not call.world.store(call.repo).valid_ref(name):
        raise Refusal(422, f"{name} is not a valid ref name.")
    if name in call.repo.refs:
        raise Refusal(422, "Reference already exists")
    if name.startswith("refs/pull/"):
        raise Refusal(422, "Reference update failed")
    pushes.checked_sha(call.world, call.repo, sha)
    pushes.move(call.world, call.repo, name, sha, call.account, via_app_id=call.via_app_id)
    return Reply(
        status=201,
        body=commits.ref(call.view, call.repo, name, sha),
        headers={"location": commits.ref(call.view, call.repo, name, sha)["url"]},
    )


@operation("PATCH /repos/{owner}/{repo}/git/refs/{ref}", app="contents:write", level="push")
def update_ref(call: Call) -> Reply:
    """Move a ref; without ``force`` only forward."""
    name, sha = _full(call.parameters["ref"]), call.body["sha"]
    before = call.repo.refs.get(name)
    if before is None or name.startswith("refs/pull/"):
        raise Refusal(422, "Reference does not exist")
    pushes.checked_sha(call.world, call.repo, sha)
    if not call.body.get("force") and not call.world.store(call.repo).is_ancestor(before, sha):
        raise Refusal(422, "Update is not a fast forward")
    refused = pushes.protected(call.world, call.repo, name, call.account, sha)
    if refused is not None:
        raise Refusal(422, f"Repository rule violations found\n\n{refused}\n\n")
    pushes.move(call.world, call.repo, name, sha, call.account, via_app_id=call.via_app_id)
    return Reply(body=commits.ref(call.view, call.repo, name, sha))


@operation("DELETE /repos/{owner}/{repo}/git/refs/{ref}", app="contents:write", level="push")
def delete_ref(call: Call) -> Reply:
    name = _full(call.parameters["ref"])
    if name not in call.repo.refs or name.startswith("refs/pull/"):
        raise Refusal(422, "Reference does not exist")
    refused = pushes.protected(call.world, call.repo, name, call.account, None)
    if refused is not None:
        raise Refusal(422, refused)
    pushes.move(call.world, call.repo, name, None, call.account, via_app_id=call.via_app_id)
    return Reply(status=204)


@operation("POST /repos/{owner}/{repo}/git/blobs", app="contents:write", level="push")
def create_blob(call: Call) -> Reply:
    content = call.body["content"].encode()
    if call.body.get("encoding", "utf-8") == "base64":
        try:
            content = base64.b64decode(content, validate=False)
        except binascii.Error:
            raise Refusal(422, "content is not valid Base64") from None
    sha = call.world.store(call.repo).write_blob(content)
    url = f"{call.view.repo_api(call.repo)}/git/blobs/{sha}"
    return Reply(status=201, body={"sha": sha, "url": url}, headers={"location": url})


@operation("GET /repos/{owner}/{repo}/git/blobs/{file_sha}", app="contents:read")
def blob(call: Call) -> Reply:
    sha = call.parameters["file_sha"]
    found = call.world.store(call.repo).read(sha) if len(sha) == 40 else None
    if found is None or found[1] != "blob":
        raise not_found()
    if "raw" in call.accept:
        return Reply(body=found[2], headers={"content-type": "application/vnd.github.raw; charset=utf-8"})
    return Reply(
        body={
            "sha": sha,
            "node_id": f"B_{sha}",
            "size": len(found[2]),
            "url": f"{call.view.repo_api(call.repo)}/git/blobs/{sha}",
            "content": base64.encodebytes(found[2]).decode(),
            "encoding": "base64",
        }
    )


@operation("POST /repos/{owner}/{repo}/git/trees", app="contents:write", level="push")
def create_tree(call: Call) -> Reply:
    """A tree from entries with ``sha`` or ``content``, perhaps on ``base_tree``; a null ``sha`` deletes."""
    store = call.world.store(call.repo)
    changes: dict[str, tuple[str, str] | None] = {}
    for entry in call.body["tree"]:
        path, mode = entry.get("path", ""), entry.get("mode", "100644")
        if not path or path.startswith("/") or {"..", ".", "", ".git"} & set(path.split("/")):
            raise Refusal(422, "tree.path contains a malformed path component")
        if "content" in entry:
            changes[path] = (mode, store.write_blob(entry["content"].encode()))
        elif entry.get("sha") is None:
            changes[path] = None
        else:
            if mode != "160000" and store.read(entry["sha"]) is None:
                raise Refusal(422, f"tree.sha {entry['sha']} is not a valid {entry.get('type', 'blob')}")
            changes[path] = (mode, entry["sha"])
    base = call.body.get("base_tree")
    if base is not None and store.tree(base) is None:
        raise Refusal(422, "base_tree is not a valid tree oid")
    try:
        sha = store.write_tree(base, changes)
    except GitError as error:
        raise Refusal(422, f"GitRPC::BadObjectState: {error}") from None
    return Reply(status=201, body=_tree(call, sha, recursive=False))


def _tree(call: Call, sha: str, *, recursive: bool) -> dict[str, Any]:
    api = call.view.repo_api(call.repo)
    entries = call.world.store(call.repo).tree(sha, recursive=recursive)
    if entries is None:
        raise not_found()
    listed: list[dict[str, Any]] = []
    used, truncated = 0, False
    for entry in entries:
        used += len(entry.path) + 120
        if len(listed) >= MOST_ENTRIES or used > LARGEST_TREE_BYTES:
            truncated = True
            break
        shown: dict[str, Any] = {"path": entry.path, "mode": entry.mode, "type": entry.kind, "sha": entry.sha}
        if entry.kind != "commit":
            shown["url"] = f"{api}/git/{'trees' if entry.kind == 'tree' else 'blobs'}/{entry.sha}"
        if entry.size is not None:
            shown["size"] = entry.size
        listed.append(shown)
    return {"sha": sha, "url": f"{api}/git/trees/{sha}", "tree": listed, "truncated": truncated}


@operation("GET /repos/{owner}/{repo}/git/trees/{tree_sha}", app="contents:read")
def tree(call: Call) -> Reply:
    """A tree by its SHA, a commit's SHA or a branch; any value of ``recursive`` turns it on."""
    name = call.parameters["tree_sha"]
    sha = call.world.resolve(call.repo, name) or name
    commit = call.world.store(call.repo).commit(sha)
    tree_sha = commit.tree if commit is not None else sha
    if len(tree_sha) != 40:
        raise not_found()
    return Reply(body=_tree(call, tree_sha, recursive="recursive" in call.query))


def _given(call: Call, given: dict[str, str] | None, default: Person) -> Person:
    if given is None:
        return default
    date = default.date
    if given.get("date"):
        try:
            date = datetime.fromisoformat(given["date"])
        except ValueError:
            raise Refusal(422, "Invalid date") from None
    return Person(name=given["name"], email=given["email"], date=date)


@operation("POST /repos/{owner}/{repo}/git/commits", app="contents:write", level="push")
def create_commit(call: Call) -> Reply:
    store, asked = call.world.store(call.repo), call.body
    found = store.read(asked["tree"])
    if found is None or found[1] != "tree":
        raise Refusal(422, "Tree SHA does not exist")
    parents = tuple(asked.get("parents") or ())
    for parent in parents:
        pushes.checked_sha(call.world, call.repo, parent, "Parent SHA")
    own = call.world.person(call.account)
    author = _given(call, asked.get("author"), own)
    committer = _given(call, asked.get("committer"), author if asked.get("author") else own)
    sha = store.write_commit(
        tree=asked["tree"], parents=parents, message=asked["message"], author=author, committer=committer
    )
    commit = store.commit(sha)
    if commit is None:
        raise not_found()
    shown = commits.git_commit(call.view, call.repo, commit)
    return Reply(status=201, body=shown, headers={"location": shown["url"]})


@operation("GET /repos/{owner}/{repo}/git/commits/{commit_sha}", app="contents:read")
def commit(call: Call) -> Reply:
    found = call.world.store(call.repo).commit(call.parameters["commit_sha"])
    if found is None:
        raise not_found()
    return Reply(body=commits.git_commit(call.view, call.repo, found))
