"""What the bot does at a request's pull request: open, tell, merge, close.

Each method carries out one effect of the outbox. It reads the request as it is now, looks what GitHub
has already, does what is missing, and returns how to store what it learned. Nothing is decided here.
"""

from __future__ import annotations

import hashlib

from github import GithubException

from bot import (
    endings,
    github_failures,
    locks,
    outbox,
    request_branch,
    request_papers,
    request_store,
    status_comment,
    status_reading,
    wording,
)
from bot.github_writer import GitHubWriter, Row
from bot.outbox import Carrier, Effect, Finish, Impossible, NotYet
from bot.parts import Parts
from bot.request_branch import RequestCommit
from bot.request_papers import Papers
from bot.request_store import Request
from bot.unit_of_work import UnitOfWork, request_topic
from policy import manifest, request_files
from policy.audit import Kind
from policy.canonical import sha256_bytes
from policy.refusal import Code, Refusal
from policy.states import State

MERGE_METHODS = ("merge", "squash", "rebase")
"""Tried in this order: a repository may forbid some of them."""

MERGE_ATTEMPTS = 5
"""GitHub may need a moment until it sees a merge as possible."""


class PullRequestChannel:
    """Carries out effects at pull requests. One thread uses it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def carriers(self) -> dict[Effect, Carrier]:
        """The method for each effect."""
        return {
            Effect.PUBLISH: self.publish,
            Effect.CHECK: self.check,
            Effect.STATUS: self.status,
            Effect.MERGE: self.merge,
            Effect.CLOSE: self.close,
            Effect.DELETE_BRANCH: self.delete_branch,
        }

    def publish(self, request_id: str, again: bool) -> Finish:
        """Opens the pull request; the request is `pending` once it is there."""
        with self._parts.database.reading() as connection:
            request = request_store.need(connection, request_id)
            papers = request_papers.papers_of(connection, request_id)
            changes = request_papers.changes_of(connection, request_id)
        if papers is None:
            raise Impossible("the request has no manifest")
        if request.final and not again:
            return _nothing
        writer = self._parts.writer()
        commit = _commit(papers, changes, request)
        sha, fresh = request_branch.put(writer, commit, look=again)
        found = None if fresh else writer.pull_request_from(commit.branch)
        pull = found or writer.open_pull_request(
            title=papers.title, body=papers.body, branch=commit.branch, base=request.base_ref
        )
        _check_body(papers, pull)
        return lambda unit: self._published(unit, request_id, pull, sha, fresh=fresh)

    def _published(self, unit: UnitOfWork, request_id: str, pull: Row, sha: str, *, fresh: bool) -> None:
        number, link = int(pull["number"]), str(pull["html_url"])
        request_store.note(unit.connection, request_id, pull_request=number, link=link, head_sha=sha)
        request = request_store.need(unit.connection, request_id)
        if request.predecessor_id is not None:
            # The other's comment can now say where it goes on.
            outbox.enqueue(unit, request.predecessor_id, Effect.STATUS)
        unit.append(
            Kind.APPROVAL_REQUESTED,
            request_id,
            {"number": number, "head_sha": sha, "digest": request.digest, "required": request.required},
        )
        if request.state is not State.PLANNING:
            # It was cancelled while the pull request was being opened.
            endings.close(unit, request)
            return
        request_store.transition(unit.connection, request, State.PENDING, cause=wording.PENDING, at=unit.now)
        # A pull request that was there already may have its comment and its check, too.
        outbox.enqueue(unit, request_id, Effect.STATUS, Effect.CHECK, tried=not fresh)
        unit.wake(request_topic(request_id))

    def check(self, request_id: str, again: bool) -> Finish:
        """Makes or updates the check run."""
        with self._parts.database.reading() as connection:
            request = request_store.need(connection, request_id)
        if request.head_sha is None:
            return _nothing
        writer = self._parts.writer()
        content = _check_run(request)
        check_run_id = request.check_run_id
        if check_run_id is None and again:
            check_run_id = self._found_check_run(writer, request)
        if check_run_id is None:
            check_run_id = writer.make_check_run({"head_sha": request.head_sha, **content})
        else:
            writer.update_check_run(check_run_id, content)
        return lambda unit: request_store.note(unit.connection, request_id, check_run_id=check_run_id)

    def _found_check_run(self, writer: GitHubWriter, request: Request) -> int | None:
        for run in writer.check_runs(str(request.head_sha), wording.CHECK_NAME):
            app = run.get("app") or {}
            if run.get("external_id") == request.id and app.get("id") == self._parts.identity.app_id:
                return int(run["id"])
        return None

    def status(self, request_id: str, again: bool) -> Finish:
        """Writes the one status comment, or updates it in place."""
        with self._parts.database.reading() as connection:
            status = status_reading.read(self._parts, connection, request_id)
        request = status.request
        if request.pull_request is None:
            return _nothing
        writer = self._parts.writer()
        text = status_comment.write(status)
        comment_id = request.comment_id
        if comment_id is None and again:
            comment_id = self._found_comment(writer, request)
        if comment_id is None or not writer.edit_comment(comment_id, text):
            comment_id = writer.comment(request.pull_request, text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return lambda unit: request_store.note(
            unit.connection, request_id, comment_id=comment_id, comment_sha256=digest
        )

    def _found_comment(self, writer: GitHubWriter, request: Request) -> int | None:
        first_line = status_comment.marker(request.id)
        for comment in writer.comments(int(request.pull_request or 0)):
            author = comment.get("user") or {}
            ours = author.get("id") == self._parts.identity.app_user_id
            if ours and str(comment.get("body", "")).startswith(first_line):
                return int(comment["id"])
        return None

    def merge(self, request_id: str, again: bool) -> Finish:
        """Merges the pull request of a change that was carried out."""
        with self._parts.database.reading() as connection:
            request = request_store.need(connection, request_id)
        if request.state is not State.SUCCEEDED or request.pull_request is None:
            return _nothing
        number, writer = request.pull_request, self._parts.writer()
        if again and writer.pull_request(number).get("merged"):
            return lambda unit: self._merged(unit, request_id)
        refusals: list[str] = []
        for method in MERGE_METHODS:
            try:
                title = wording.merge_title(request_id, number)
                writer.merge(number, sha=str(request.head_sha), method=method, title=title)
            except GithubException as error:
                if error.status not in (405, 409):
                    raise
                refusals.append(github_failures.message(error))
                if error.status == 405 and github_failures.says(error, "not allowed"):
                    continue
                break
            else:
                return lambda unit: self._merged(unit, request_id)
        if writer.pull_request(number).get("merged"):
            return lambda unit: self._merged(unit, request_id)
        return self._merge_refused(request, refusals[-1])

    def _merge_refused(self, request: Request, why: str) -> Finish:
        with self._parts.database.reading() as connection:
            attempts = outbox.attempts(connection, request.id, Effect.MERGE)
        if attempts < MERGE_ATTEMPTS:
            raise NotYet(f"GitHub does not merge it yet: {why}")
        raise Impossible(f"GitHub does not merge it: {why}")

    def _merged(self, unit: UnitOfWork, request_id: str) -> None:
        request_store.note(unit.connection, request_id, merged="merged")
        request = request_store.need(unit.connection, request_id)
        unit.append(Kind.PULL_REQUEST_MERGED, request_id, {"number": request.pull_request})
        locks.free(unit, request)
        outbox.enqueue(unit, request_id, Effect.STATUS, Effect.DELETE_BRANCH)
        unit.wake(request_topic(request_id))

    def close(self, request_id: str, _again: bool) -> Finish:
        """Closes the pull request of a request that is over."""
        with self._parts.database.reading() as connection:
            request = request_store.need(connection, request_id)
        if request.pull_request is None or not request.final:
            return _nothing
        number = request.pull_request
        self._parts.writer().close_pull_request(number)

        def closed(unit: UnitOfWork) -> None:
            unit.append(Kind.PULL_REQUEST_CLOSED, request_id, {"number": number})

        return closed

    def delete_branch(self, request_id: str, _again: bool) -> Finish:
        """Deletes the branch; `refs/pull/N/head` keeps its commit."""
        with self._parts.database.reading() as connection:
            request = request_store.need(connection, request_id)
        if request.final:
            self._parts.writer().delete_branch(request_branch.name(request_id))
        return _nothing

    def given_up(self, unit: UnitOfWork, request_id: str, effect: Effect, why: str) -> None:
        """What it means that GitHub will never do an effect."""
        request = request_store.need(unit.connection, request_id)
        match effect:
            case Effect.PUBLISH if request.state is State.PLANNING:
                refusal = Refusal(
                    code=Code.PULL_REQUEST_IMPOSSIBLE,
                    what=f"the pull request of {request_id}: GitHub does not take it",
                    rule="What people can't be shown can't be approved.",
                    remedy="Ask an administrator to look at the bot's log and the App's permissions.",
                )
                endings.end(unit, request, State.FAILED, cause=wording.PUBLISHING_FAILED, refusal=refusal)
            case Effect.MERGE:
                request_store.note(unit.connection, request_id, merged="failed", cause=wording.MERGE_FAILED)
                outbox.enqueue(unit, request_id, Effect.CHECK, Effect.STATUS)
                unit.wake(request_topic(request_id))
            case _:
                return


def _nothing(_unit: UnitOfWork) -> None:
    return


def _commit(papers: Papers, changes: dict[str, bytes | None], request: Request) -> RequestCommit:
    document = manifest.parse(papers.manifest)
    files = request_files.paths(document)
    return RequestCommit(
        branch=request_branch.name(request.id),
        base_sha=document.base.sha,
        message=wording.commit_message(request.id, papers.title),
        files={
            **changes,
            files.manifest: papers.manifest.encode(),
            files.rendering: papers.rendering.encode(),
        },
    )


def _check_body(papers: Papers, pull: Row) -> None:
    # An approval is void once the body differs from what was written. So a body that GitHub stored
    # differently must be known now, and not look like somebody's edit later.
    stored = str(pull.get("body") or "")
    if sha256_bytes(stored.encode()) != sha256_bytes(papers.body.encode()):
        raise Impossible("GitHub stored another text for the pull request than the bot wrote")


def _check_run(request: Request) -> Row:
    summary = request.cause
    if request.verdict:
        summary = f"{request.verdict}\n\n{summary}"
    content: Row = {
        "name": wording.CHECK_NAME,
        "external_id": request.id,
        "output": {"title": wording.HEADLINES[request.state].capitalize(), "summary": summary},
    }
    if request.final:
        conclusion = "failure" if request.merged == "failed" else wording.CONCLUSIONS[request.state]
        return {**content, "status": "completed", "conclusion": conclusion}
    return {**content, "status": "in_progress"}
