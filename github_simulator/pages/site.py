"""Which page answers which address, and what the buttons do."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, quote

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from github_simulator.dispatch import Dispatcher, Incoming
from github_simulator.model import Repository
from github_simulator.pages import discussion, files, lists
from github_simulator.pages.frame import POLICY, page
from github_simulator.pages.markup import tag
from github_simulator.world import World

STYLE = Path(__file__).parent / "style.css"
REPOSITORY = re.compile(r"/([\w.-]+)/([\w.-]+?)(?:/(.*))?")
REVIEWS = {"approve": "APPROVE", "request_changes": "REQUEST_CHANGES"}
LARGEST_FORM = 1_000_000


class Pages:
    """The pages of a world; buttons go through the dispatcher like any REST call."""

    def __init__(self, world: World, dispatcher: Dispatcher) -> None:
        self._world = world
        self._dispatcher = dispatcher

    async def answer(self, request: Request, path: str) -> Response:
        """The page at a path, or what became of a button."""
        form: dict[str, str] = {}
        if request.method == "POST":
            raw = await request.body()
            if len(raw) > LARGEST_FORM:
                return _html(_missing(), 413)
            form = {key: values[-1] for key, values in parse_qs(raw.decode(errors="replace")).items()}
        elif request.method not in {"GET", "HEAD"}:
            return _html(_missing(), 404)
        host = f"{request.url.scheme}://{request.headers.get('host', request.url.netloc)}"
        persona = form.get("persona") or request.cookies.get("persona", "")
        response = await run_in_threadpool(self._respond, path, form, persona, host)
        if form and persona:
            response.set_cookie("persona", persona, httponly=True, samesite="strict")
        return response

    def _respond(self, path: str, form: dict[str, str], persona: str, host: str) -> Response:
        if path == "/":
            with self._world.lock:
                return _html(lists.repository_list(self._world))
        match = REPOSITORY.fullmatch(path)
        with self._world.lock:
            repository = self._world.state.repository_by_name(match[1], match[2]) if match else None
        if match is None or repository is None:
            return _html(_missing(), 404)
        rest = (match[3] or "").strip("/")
        refused = None
        numbered = re.fullmatch(r"(pull|issues)/(\d+)(?:/\w+)?", rest)
        if form and numbered:
            refused = self._act(repository, int(numbered[2]), form, persona, host)
            if refused is None:
                return Response(status_code=303, headers={"location": quote(path)})
        with self._world.lock:
            return self._show(repository, rest, persona, refused)

    def _show(self, repository: Repository, rest: str, persona: str, refused: str | None) -> Response:
        world = self._world
        kind, _, tail = rest.partition("/")
        number = int(tail.partition("/")[0]) if tail.partition("/")[0].isdigit() else 0
        if kind in {"pulls", "issues"} and not tail:
            return _html(lists.numbered_list(world, repository, pulls=kind == "pulls"))
        if kind in {"pull", "issues"} and number in repository.pulls:
            return _html(discussion.pull_page(world, repository, repository.pulls[number], persona, refused))
        if kind == "issues" and number in repository.issues:
            return _html(
                discussion.issue_page(world, repository, repository.issues[number], persona, refused)
            )
        if kind in {"", "tree"}:
            return self._folder(repository, tail or repository.default_branch)
        if kind in {"blob", "raw"}:
            return self._file(repository, tail, raw=kind == "raw")
        return _html(_missing(), 404)

    def _split_ref(self, repository: Repository, tail: str) -> tuple[str, str, str] | None:
        """Ref, commit and path of ``ref/path``; branch names may hold slashes."""
        parts = tail.split("/")
        for end in range(1, len(parts) + 1):
            ref = "/".join(parts[:end])
            sha = self._world.resolve(repository, ref)
            if sha is not None:
                return ref, sha, "/".join(parts[end:])
        return None

    def _folder(self, repository: Repository, tail: str) -> Response:
        found = self._split_ref(repository, tail)
        store = self._world.store(repository)
        entries = store.tree(f"{found[1]}:{found[2]}") if found is not None else None
        if found is None or entries is None:
            return _html(_missing(), 404)
        readme = next((entry for entry in entries if entry.path.lower() == "readme.md"), None)
        content = store.read(readme.sha) if readme is not None else None
        text = content[2].decode(errors="replace") if content is not None else None
        return _html(files.folder_page(self._world, repository, found[0], found[2], entries, text))

    def _file(self, repository: Repository, tail: str, *, raw: bool) -> Response:
        found = self._split_ref(repository, tail)
        content = self._world.store(repository).file(found[1], found[2]) if found is not None else None
        if found is None or content is None:
            return _html(_missing(), 404)
        if raw:
            headers = {
                "content-security-policy": "sandbox; default-src 'none'",
                "x-content-type-options": "nosniff",
            }
            return Response(content, media_type="text/plain; charset=utf-8", headers=headers)
        return _html(files.file_page(self._world, repository, found[0], found[2], content))

    def _act(
        self, repository: Repository, number: int, form: dict[str, str], persona: str, host: str
    ) -> str | None:
        """Press a button as somebody; returns GitHub's refusal, or None when it worked."""
        action, body = form.get("action", ""), form.get("body", "").replace("\r\n", "\n")
        with self._world.lock:
            name = self._world.state.full_name(repository)
            try:
                token = self._world.token(persona)
            except KeyError:
                return f"there is nobody called {persona!r}"
            is_pull = number in repository.pulls
        at = f"/repos/{name}/{'pulls' if is_pull else 'issues'}/{number}"
        asked: tuple[str, str, dict[str, str]]
        if action in REVIEWS and is_pull:
            asked = ("POST", f"{at}/reviews", {"event": REVIEWS[action], "body": body})
        elif action == "comment":
            asked = ("POST", f"/repos/{name}/issues/{number}/comments", {"body": body})
        elif action == "merge" and is_pull:
            asked = ("PUT", f"{at}/merge", {})
        elif action in {"close", "reopen"}:
            asked = ("PATCH", at, {"state": "closed" if action == "close" else "open"})
        else:
            return f"there is no button {action!r} here"
        answer = self._dispatcher.answer(
            Incoming(
                method=asked[0],
                path=asked[1],
                query={},
                headers={"authorization": f"Bearer {token}", "user-agent": "pages"},
                body=json.dumps(asked[2]).encode(),
                host=host,
            )
        )
        if answer.status < 300:
            return None
        told = json.loads(answer.body)
        details = [
            one if isinstance(one, str) else str(one.get("message", one)) for one in told.get("errors", [])
        ]
        return ": ".join([f"{answer.status} {told['message']}", *details])


def _html(body: str, status: int = 200) -> Response:
    headers = {
        "content-security-policy": POLICY,
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    return Response(body, status_code=status, media_type="text/html; charset=utf-8", headers=headers)


def _missing() -> str:
    text = "There is no such repository, pull request, issue or file."
    return page(
        "Not found", tag("h1", "Not found"), tag("p", text), tag("p", tag("a", "All repositories", href="/"))
    )
