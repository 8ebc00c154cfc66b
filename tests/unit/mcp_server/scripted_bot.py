"""A bot that answers as a test scripts it, over the bot's real HTTP forms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from policy import record
from policy.agent_protocol import (
    ApprovalView,
    CallRequest,
    LeaseView,
    Problem,
    RefusalView,
    RequestList,
    RequestView,
    ResultView,
    SandboxStatus,
    ToolList,
    ToolView,
)
from policy.next_action import SENTENCES, NextAction
from policy.refusal import Code
from policy.states import State, Tier

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ID = "og-" + "0123456789abcdefghjkmnpqrs"
TOKEN = "og_agent_" + "A" * 43

MODULE = {
    "type": "object",
    "properties": {
        "module": {"type": "string", "pattern": "^[a-z0-9-]+(/[a-z0-9-]+)*$"},
        "count": {"type": "integer", "minimum": 0},
    },
    "required": ["module"],
    "additionalProperties": False,
}
TOOLS = ToolList(
    policy_sha256="a" * 64,
    tools=(
        ToolView(
            name="terraform_show_state",
            title="Show state",
            description="Shows the state.",
            tier=Tier.READ,
            arguments=MODULE,
            source=False,
        ),
        ToolView(
            name="terraform_apply",
            title="Apply",
            description="Applies a module.",
            tier=Tier.DESTRUCTIVE,
            arguments=MODULE,
            source=True,
        ),
    ),
)


def a_view(**changes: Any) -> RequestView:
    """A pending destructive request."""
    view = RequestView(
        id=ID,
        tool="terraform_apply",
        tier=Tier.DESTRUCTIVE,
        state=State.PENDING,
        final=False,
        cause="it waits for code owners",
        next_action=NextAction.SHARE_LINK_AND_STOP,
        next_action_text=SENTENCES[NextAction.SHARE_LINK_AND_STOP],
        created_at=NOW,
        expires_at=NOW,
        link="https://github.example/acme/infra/pull/1",
        digest="d" * 64,
        verdict="REPLACES 1",
        plan=None,
        approval=ApprovalView(required=2, given=0, may_approve=("alice", "bob")),
        refusal=None,
        result=None,
        successor_id=None,
    )
    return replace(view, **changes)


def a_result(output: str) -> ResultView:
    """The result of a call that ran well."""
    return ResultView(
        exit_code=0,
        output=output,
        output_cut_bytes=0,
        kernel="Linux version 4.4.0",
        started_at=NOW,
        ended_at=NOW,
        leases=(
            LeaseView(
                lease_id="pki/issue/reader/1",
                scope="CN=reader",
                expires_at=NOW,
                revoked_at=NOW,
                powerless_after_ms=7,
            ),
        ),
        residue="not_planned",
    )


@dataclass
class ScriptedBot:
    """Answers submissions with `views[0]` and each later look with the next view."""

    views: list[RequestView] = field(default_factory=list)
    problem: Problem | None = None
    calls: list[CallRequest] = field(default_factory=list)
    looks: list[dict[str, str]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def app(self) -> Starlette:
        """The bot as an ASGI application."""
        return Starlette(
            routes=[
                Route("/api/v1/tools", self._tools),
                Route("/api/v1/requests", self._submit, methods=["POST"]),
                Route("/api/v1/requests", self._list),
                Route("/api/v1/requests/{id}", self._view),
                Route("/api/v1/requests/{id}/cancel", self._cancel, methods=["POST"]),
                Route("/api/v1/sandbox", self._sandbox),
            ]
        )

    def _next(self) -> RequestView:
        return self.views.pop(0) if len(self.views) > 1 else self.views[0]

    async def _tools(self, request: Request) -> Response:
        self.tokens.append(request.headers["authorization"])
        return _answer(TOOLS)

    async def _submit(self, request: Request) -> Response:
        self.tokens.append(request.headers["authorization"])
        self.calls.append(
            record.read(CallRequest, await request.body(), what="the call", code=Code.ARGUMENTS_INVALID)
        )
        return _answer(self.problem, status=422) if self.problem else _answer(self._next())

    async def _view(self, request: Request) -> Response:
        self.looks.append(dict(request.query_params))
        return _answer(self.problem, status=404) if self.problem else _answer(self._next())

    async def _cancel(self, request: Request) -> Response:
        return _answer(a_view(state=State.CANCELLED, final=True, next_action=NextAction.NONE))

    async def _list(self, request: Request) -> Response:
        return _answer(RequestList(requests=tuple(self.views)))

    async def _sandbox(self, request: Request) -> Response:
        return _answer(SandboxStatus(runners=(), paused=True))


def a_problem(code: str = "source_invalid", action: NextAction = NextAction.FIX_ARGUMENTS) -> Problem:
    """A refusal by the bot."""
    return Problem(
        refusal=RefusalView(
            code=code, what="the source holds a link", rule="Links are refused.", remedy="Copy it."
        ),
        next_action=action,
        next_action_text=SENTENCES[action],
    )


def _answer(value: object, status: int = 200) -> Response:
    return Response(record.encode(value), status, media_type="application/json")
