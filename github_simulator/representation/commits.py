"""Commits, refs, trees and files in JSON."""

from typing import Any
from urllib.parse import quote

from github_simulator import clock
from github_simulator.diffs import ChangedFile
from github_simulator.git_store import Commit, Person
from github_simulator.model import Account, Repository
from github_simulator.representation import accounts
from github_simulator.view import View

UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}


def person(shown: Person) -> dict[str, str]:
    """An author or committer line."""
    return {"name": shown.name, "email": shown.email, "date": clock.text(shown.date)}


def account_of(view: View, shown: Person) -> Account | None:
    """The account whose e-mail address stands in a commit."""
    wanted = shown.email.lower()
    return next((a for a in view.state.accounts.values() if (a.email or "").lower() == wanted), None)


def git_commit(view: View, repository: Repository, commit: Commit) -> dict[str, Any]:
    """Schema git-commit."""
    api, page = view.repo_api(repository), view.repo_html(repository)
    return {
        "sha": commit.sha,
        "node_id": f"C_{commit.sha}",
        "url": f"{api}/git/commits/{commit.sha}",
        "html_url": f"{page}/commit/{commit.sha}",
        "author": person(commit.author),
        "committer": person(commit.committer),
        "tree": {"sha": commit.tree, "url": f"{api}/git/trees/{commit.tree}"},
        "message": commit.message,
        "parents": [
            {"sha": sha, "url": f"{api}/git/commits/{sha}", "html_url": f"{page}/commit/{sha}"}
            for sha in commit.parents
        ],
        "verification": dict(UNSIGNED),
    }


def commit(view: View, repository: Repository, shown: Commit) -> dict[str, Any]:
    """Schema commit, without its files."""
    api, page = view.repo_api(repository), view.repo_html(repository)
    author, committer = account_of(view, shown.author), account_of(view, shown.committer)
    return {
        "sha": shown.sha,
        "node_id": f"C_{shown.sha}",
        "commit": {
            "author": person(shown.author),
            "committer": person(shown.committer),
            "message": shown.message,
            "tree": {"sha": shown.tree, "url": f"{api}/git/trees/{shown.tree}"},
            "url": f"{api}/git/commits/{shown.sha}",
            "comment_count": 0,
            "verification": dict(UNSIGNED),
        },
        "url": f"{api}/commits/{shown.sha}",
        "html_url": f"{page}/commit/{shown.sha}",
        "comments_url": f"{api}/commits/{shown.sha}/comments",
        "author": accounts.simple(view, author) if author is not None else None,
        "committer": accounts.simple(view, committer) if committer is not None else None,
        "parents": [
            {"sha": sha, "url": f"{api}/commits/{sha}", "html_url": f"{page}/commit/{sha}"}
            for sha in shown.parents
        ],
    }


def changed_file(view: View, repository: Repository, head: str, shown: ChangedFile) -> dict[str, Any]:
    """Schema diff-entry."""
    path, page = quote(shown.path), view.repo_html(repository)
    entry: dict[str, Any] = {
        "sha": shown.sha,
        "filename": shown.path,
        "status": shown.status,
        "additions": shown.additions,
        "deletions": shown.deletions,
        "changes": shown.additions + shown.deletions,
        "blob_url": f"{page}/blob/{head}/{path}",
        "raw_url": f"{page}/raw/{head}/{path}",
        "contents_url": f"{view.repo_api(repository)}/contents/{path}?ref={head}",
    }
    if shown.patch is not None:
        entry["patch"] = shown.patch
    if shown.previous_path is not None:
        entry["previous_filename"] = shown.previous_path
    return entry


def ref(view: View, repository: Repository, name: str, sha: str) -> dict[str, Any]:
    """Schema git-ref."""
    api = view.repo_api(repository)
    return {
        "ref": name,
        "node_id": f"REF_{name}",
        "url": f"{api}/git/{quote(name)}",
        "object": {"type": "commit", "sha": sha, "url": f"{api}/git/commits/{sha}"},
    }


def file_links(
    view: View, repository: Repository, ref_name: str, path: str, sha: str, kind: str
) -> dict[str, Any]:
    """The links of one entry of the contents API."""
    api, page, quoted = view.repo_api(repository), view.repo_html(repository), quote(path)
    url = f"{api}/contents/{quoted}?ref={ref_name}"
    git_url = f"{api}/git/{'trees' if kind == 'dir' else 'blobs'}/{sha}"
    html_url = f"{page}/{'tree' if kind == 'dir' else 'blob'}/{ref_name}/{quoted}"
    return {
        "url": url,
        "html_url": html_url,
        "git_url": git_url,
        "download_url": None if kind == "dir" else f"{page}/raw/{ref_name}/{quoted}",
        "_links": {"self": url, "git": git_url, "html": html_url},
    }
