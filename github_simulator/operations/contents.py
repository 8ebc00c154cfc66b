"""Files and folders at a ref: reading, writing, deleting."""

import base64
import binascii
from typing import Any

from github_simulator import pushes
from github_simulator.calls import Call, Refusal, Reply, not_found
from github_simulator.git_store import GitError, Person, TreeEntry
from github_simulator.representation import commits
from github_simulator.routing import operation

LARGEST_INLINE = 1024 * 1024
LARGEST = 100 * 1024 * 1024
"""Up to 1 MB inline, up to 100 MB raw (docs.github.com, "Get repository content")."""


def _ref(call: Call) -> tuple[str, str]:
    name = call.query.get("ref") or call.repo.default_branch
    sha = call.world.resolve(call.repo, name)
    if sha is None:
        raise Refusal(404, f"No commit found for the ref {name}")
    return name, sha


def _entry(call: Call, sha: str, path: str) -> TreeEntry | None:
    """The tree entry of a path; parents are looked up one by one."""
    tree: str | None = sha
    entry = None
    for part in path.split("/"):
        found = call.world.store(call.repo).tree(tree) if tree is not None else None
        entry = next((one for one in found or () if one.path == part), None)
        if entry is None:
            return None
        tree = entry.sha if entry.kind == "tree" else None
    return entry


@operation("GET /repos/{owner}/{repo}/contents/{path}", app="contents:read")
def read(call: Call) -> Reply:
    name, sha = _ref(call)
    path = call.parameters["path"].strip("/")
    if ".." in path.split("/"):
        raise Refusal(400, "path contains a malformed path component")
    if not path:
        return _folder(call, name, sha, "")
    entry = _entry(call, sha, path)
    if entry is None:
        raise not_found()
    if entry.kind == "tree":
        return _folder(call, name, entry.sha, path)
    found = call.world.store(call.repo).read(entry.sha)
    if found is None:
        raise not_found()
    content = found[2]
    if "raw" in call.accept:
        return Reply(body=content, headers={"content-type": "application/vnd.github.raw; charset=utf-8"})
    if len(content) > LARGEST:
        raise Refusal(403, "This API returns blobs up to 100 MB in size.")
    shown = {
        "type": "file",
        "encoding": "base64",
        "size": len(content),
        "name": path.rpartition("/")[2],
        "path": path,
        "content": base64.encodebytes(content).decode(),
        "sha": entry.sha,
    }
    if entry.mode == "120000":
        shown |= {"type": "symlink", "target": content.decode(errors="replace")}
    if len(content) > LARGEST_INLINE:
        shown |= {"encoding": "none", "content": ""}
    return Reply(body=shown | commits.file_links(call.view, call.repo, name, path, entry.sha, "file"))


def _folder(call: Call, name: str, tree: str, path: str) -> Reply:
    kinds = {"tree": "dir", "blob": "file", "commit": "submodule"}
    listed = []
    for entry in call.world.store(call.repo).tree(tree) or ():
        full, kind = f"{path}/{entry.path}".lstrip("/"), kinds[entry.kind]
        shown = {
            "type": "symlink" if entry.mode == "120000" else kind,
            "size": entry.size or 0,
            "name": entry.path,
            "path": full,
            "sha": entry.sha,
        }
        listed.append(shown | commits.file_links(call.view, call.repo, name, full, entry.sha, kind))
    return Reply(body=listed)


def _branch(call: Call) -> tuple[str, str]:
    branch = (call.body or {}).get("branch") or call.query.get("branch") or call.repo.default_branch
    tip = call.repo.refs.get(f"refs/heads/{branch}")
    if tip is None:
        raise Refusal(404, f"Branch {branch} not found")
    return branch, tip


def _commit(call: Call, change: tuple[str, str] | None, asked: dict[str, Any]) -> str:
    branch, tip = _branch(call)
    store, path = call.world.store(call.repo), call.parameters["path"]
    base = store.commit(tip)
    try:
        tree = store.write_tree(base.tree if base is not None else None, {path: change})
    except GitError as error:
        raise Refusal(422, f"path is not valid: {error}") from None
    own = call.world.person(call.account)
    people = []
    for role in ("author", "committer"):
        given = asked.get(role)
        people.append(Person(name=given["name"], email=given["email"], date=own.date) if given else own)
    message = asked.get("message") or f"Update {path}"
    sha = store.write_commit(
        tree=tree, parents=(tip,), message=message, author=people[0], committer=people[1]
    )
    refused = pushes.protected(call.world, call.repo, f"refs/heads/{branch}", call.account, sha)
    if refused is not None:
        raise Refusal(409, f"Repository rule violations found\n\n{refused}\n\n")
    pushes.move(call.world, call.repo, f"refs/heads/{branch}", sha, call.account, via_app_id=call.via_app_id)
    return sha


@operation("PUT /repos/{owner}/{repo}/contents/{path}", app="contents:write", level="push")
def write(call: Call) -> Reply:
    """Create a file, or replace the blob that ``sha`` names; another blob there is a conflict."""
    asked, path = call.body or {}, call.parameters["path"]
    try:
        content = base64.b64decode(asked["content"], validate=False)
    except (binascii.Error, ValueError):
        raise Refusal(422, "content is not valid Base64") from None
    branch, tip = _branch(call)
    existing = _entry(call, tip, path)
    given = asked.get("sha")
    if existing is not None and given is None:
        raise Refusal(422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    if given is not None and (existing is None or existing.sha != given):
        raise Refusal(409, f"{path} does not match {given}")
    blob = call.world.store(call.repo).write_blob(content)
    sha = _commit(call, ("100644", blob), asked)
    commit = call.world.store(call.repo).commit(sha)
    if commit is None:
        raise not_found()
    shown = {
        "type": "file",
        "size": len(content),
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": blob,
    } | commits.file_links(call.view, call.repo, branch, path, blob, "file")
    body = {"content": shown, "commit": commits.git_commit(call.view, call.repo, commit)}
    return Reply(status=200 if existing is not None else 201, body=body)


@operation("DELETE /repos/{owner}/{repo}/contents/{path}", app="contents:write", level="push")
def delete(call: Call) -> Reply:
    asked = (call.body or {}) | call.query
    _, tip = _branch(call)
    existing = _entry(call, tip, call.parameters["path"])
    if existing is None or existing.kind != "blob":
        raise not_found()
    if existing.sha != asked.get("sha"):
        raise Refusal(409, f"{call.parameters['path']} does not match {asked.get('sha')}")
    sha = _commit(call, None, {"message": f"Delete {call.parameters['path']}"} | asked)
    commit = call.world.store(call.repo).commit(sha)
    if commit is None:
        raise not_found()
    return Reply(body={"content": None, "commit": commits.git_commit(call.view, call.repo, commit)})
