"""One REST call from its bytes to the answer's: the order in which GitHub looks at a request.

Addresses, credentials, rate limit, faults, routing, access, the description, the operation, the
description again, conditional requests, headers.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from github_simulator import admission
from github_simulator.authentication import actor_of, token_in
from github_simulator.calls import (
    Actor,
    AsUser,
    Call,
    Refusal,
    Reply,
    not_found,
)
from github_simulator.conformity import conformity
from github_simulator.model import Repository, State
from github_simulator.operations import graphql
from github_simulator.rate_limits import Budget
from github_simulator.routing import OPERATIONS, Operation, Router
from github_simulator.view import View
from github_simulator.world import World

API_VERSIONS = ("2022-11-28", "2026-03-10")
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
JSON = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request as it came: ``host`` is scheme and authority, ``prefix`` what precedes the API's paths."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    host: str
    prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back; the delays are seconds before the answer and in the middle of its body."""

    status: int
    headers: dict[str, str]
    body: bytes
    delay: float = 0.0
    pause: float = 0.0


class Dispatcher:
    """Answers REST calls on a world. Thread-safe."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._router = Router(OPERATIONS)

    def answer(self, request: Incoming) -> Answer:
        """Carry out one call."""
        world, method, path = self._world, request.method, request.path
        token = token_in(request.headers.get("authorization"))
        with world.lock:
            actor: Actor | None = None
            budget: Budget | None = None
            try:
                if world.faults.take("revoke", method, path, token):
                    raise Refusal(401, "Bad credentials")
                actor = actor_of(world.state, request.headers.get("authorization"), world.clock.now())
                budget = world.rate_limits.budget(actor, world.clock.now())
                self._refuse_early(request, token, actor, budget)
                reply = self._carry_out(request, actor)
            except Refusal as refusal:
                reply = Reply(status=refusal.status, body=refusal.body())
            except _Limited as limited:
                reply = limited.reply
            if failing := world.faults.take("fail_after", method, path, token):
                reply = Reply(status=failing.status, body=_server_error(failing.status))
            answer = self._finish(request, reply, budget, actor)
        slow = world.faults.take("slow_answer", method, path, token)
        paused = world.faults.take("slow_body", method, path, token)
        return replace(answer, delay=slow.seconds if slow else 0.0, pause=paused.seconds if paused else 0.0)

    def _refuse_early(self, request: Incoming, token: str | None, actor: Actor, budget: Budget) -> None:
        faults, method, path = self._world.faults, request.method, request.path
        if "user-agent" not in request.headers:
            raise Refusal(
                403,
                "Request forbidden by administrative rules. Please make sure your request has a User-Agent "
                "header",
            )
        version = request.headers.get("x-github-api-version")
        if version is not None and version not in API_VERSIONS:
            raise Refusal(400, f"The API version {version!r} is not supported: {', '.join(API_VERSIONS)}")
        if failing := faults.take("fail_before", method, path, token):
            raise _Limited(Reply(status=failing.status, body=_server_error(failing.status)))
        if limited := faults.take("secondary", method, path, token):
            extra = {"retry-after": str(limited.retry_after)} if limited.retry_after is not None else {}
            raise _Limited(
                Reply(status=limited.status, body=Refusal(limited.status, SECONDARY).body(), headers=extra)
            )
        exhausted = faults.take("primary", method, path, token)
        if (exhausted or budget.used >= budget.limit) and path != "/rate_limit":
            who = f"user ID {actor.account.id}" if isinstance(actor, AsUser) else "installation"
            headers = budget.headers() | {"x-ratelimit-remaining": "0"}
            if exhausted:
                headers["x-ratelimit-reset"] = str(
                    int(self._world.clock.now().timestamp() + exhausted.seconds)
                )
            body = Refusal(403, f"API rate limit exceeded for {who}.").body()
            raise _Limited(Reply(status=403, body=body, headers=headers))

    def _carry_out(self, request: Incoming, actor: Actor) -> Reply:
        world = self._world
        reading = request.method in {"GET", "HEAD"}
        lagging = world.faults.lag
        old = world.snapshots.current(world.clock.now()) if reading and lagging is not None else None
        state: State = old if old is not None else world.state
        view = View(world=world, state=state, api=request.host + request.prefix, html=request.host)
        body = _json(request.body)
        if request.path == "/graphql":
            return graphql.answer(self._call(request, request.path, actor, view, {}, body))
        path = _canonical(state, request.path)
        found = self._router.find("GET" if request.method == "HEAD" else request.method, path)
        if found is None:
            self._violation(f"{request.method} {request.path}: the simulator has no such operation")
            raise not_found()
        operation, parameters = found
        call = self._call(request, path, actor, view, parameters, body)
        admission.admit(operation, actor)
        if operation.of_repository:
            repository, moved = admission.named_repository(state, parameters)
            admission.check(operation, call, repository)
            if moved:
                return _moved(request, repository, path, parameters)
            call.repository_or_none = repository
        self._check_request(operation, call)
        if not reading and lagging is not None:
            world.snapshots.keep(lambda: deepcopy(world.state), lagging, world.clock.now())
        reply = operation.handler(call)
        self._check_response(operation, call, reply)
        return reply

    def _call(
        self, request: Incoming, path: str, actor: Actor, view: View, parameters: dict[str, str], body: Any
    ) -> Call:
        return Call(
            world=self._world,
            state=view.state,
            view=view,
            actor=actor,
            method=request.method,
            path=path,
            parameters=parameters,
            query=dict(request.query),
            body=body,
            accept=request.headers.get("accept", ""),
            now=self._world.clock.now(),
            page_url=request.host + request.prefix + request.path,
        )

    def _check_request(self, operation: Operation, call: Call) -> None:
        problems = conformity().request(operation.method, operation.template, call.query, call.body)
        if not problems:
            return
        told = [f"{call.method} {call.path}: {problem}" for problem in problems]
        if self._world.strict and not self._world.lenient:
            self._world.violations.extend(told)
            raise Refusal(500, "Strict mode: the request does not fit GitHub's description", told)
        if any(problem.startswith("body") for problem in problems):
            raise Refusal(422, f"Invalid request.\n\n{problems[0]}")

    def _check_response(self, operation: Operation, call: Call, reply: Reply) -> None:
        problems = conformity().response(operation.method, operation.template, reply.status, reply.body)
        told = [f"{call.method} {call.path}: {problem}" for problem in problems]
        if told and self._world.strict:
            self._world.violations.extend(told)
            raise Refusal(500, "Strict mode: the simulator's answer does not fit GitHub's description", told)

    def _violation(self, text: str) -> None:
        if self._world.strict and not self._world.lenient:
            self._world.violations.append(text)
            raise Refusal(500, f"Strict mode: {text}")

    def _finish(self, request: Incoming, reply: Reply, budget: Budget | None, actor: Actor | None) -> Answer:
        headers = {
            "server": "github.com",
            "x-github-request-id": _request_id(),
            "x-github-media-type": "github.v3; format=json",
            "x-github-api-version-selected": request.headers.get("x-github-api-version", API_VERSIONS[0]),
            "access-control-expose-headers": "ETag, Link, Retry-After, X-RateLimit-Remaining",
        }
        raw = reply.body if isinstance(reply.body, bytes) else b""
        if reply.body is not None and not isinstance(reply.body, bytes):
            raw = json.dumps(reply.body, separators=(",", ":")).encode()
            headers["content-type"] = JSON
        status, counted = reply.status, True
        if status == 200 and request.method in {"GET", "HEAD"}:
            etag = f'W/"{hashlib.sha256(raw + reply.headers.get("link", "").encode()).hexdigest()}"'
            headers |= {"etag": etag, "cache-control": "private, max-age=60, s-maxage=60"}
            if request.headers.get("if-none-match") in {etag, etag.removeprefix("W/")}:
                status, raw, counted = 304, b"", False
                del headers["content-type"]
        if budget is not None and actor is not None:
            if counted and request.path != "/rate_limit":
                self._world.rate_limits.count(actor, self._world.clock.now())
            headers |= budget.headers()
        return Answer(status=status, headers=headers | dict(reply.headers), body=raw)


class _Limited(Exception):  # noqa: N818
    """An answer that comes before the call is looked at."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


def _server_error(status: int) -> dict[str, str]:
    message = {500: "Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}
    return {"message": message.get(status, "Server Error"), "status": str(status)}


def _request_id() -> str:
    raw = secrets.token_hex(16).upper()
    return f"{raw[:4]}:{raw[4:10]}:{raw[10:16]}:{raw[16:22]}:{raw[22:30]}"


def _json(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        body = json.loads(raw)
    except (ValueError, UnicodeDecodeError):
        raise Refusal(400, "Problems parsing JSON") from None
    if not isinstance(body, dict | list):
        raise Refusal(400, "Body should be a JSON object")
    return body


def _canonical(state: State, path: str) -> str:
    """Addresses by id, which GitHub gives in answers and redirects, as addresses by name."""
    if match := re.match(r"/repositories/(\d+)(?=/|$)", path):
        repository = state.repositories.get(int(match[1]))
        if repository is None:
            raise not_found()
        return f"/repos/{state.full_name(repository)}{path[match.end() :]}"
    if match := re.match(r"/(?:organizations/\d+/team|teams)/(\d+)(?=/|$)", path):
        team = state.teams.get(int(match[1]))
        if team is None:
            raise not_found()
        owner = state.accounts[team.organization_id].login
        return f"/orgs/{owner}/teams/{team.slug}{path[match.end() :]}"
    return path


def _moved(request: Incoming, repository: Repository, path: str, parameters: dict[str, str]) -> Reply:
    rest = path.removeprefix(f"/repos/{parameters['owner']}/{parameters['repo']}")
    query = "&".join(f"{key}={value}" for key, value in request.query.items())
    url = f"{request.host}{request.prefix}/repositories/{repository.id}{rest}" + (
        f"?{query}" if query else ""
    )
    reading = request.method in {"GET", "HEAD"}
    body = {"message": "Moved Permanently", "url": url, "documentation_url": "https://docs.github.com/rest"}
    return Reply(status=301 if reading else 307, body=body, headers={"location": url})
