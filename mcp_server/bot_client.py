"""The bot's REST API as an agent's server uses it: six calls, strict answers, clear failures."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

import httpx2

from policy import agent_protocol, record
from policy.agent_protocol import CallRequest, Problem, RequestList, RequestView, SandboxStatus, ToolList
from policy.next_action import SENTENCES, NextAction
from policy.refusal import Code, Refusal, Refused

T = TypeVar("T")

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = agent_protocol.LONGEST_WAIT_SECONDS + 15.0
"""How long an answer may take: the longest wait and what the bot needs around it."""

LARGEST_ANSWER = 8 * 1024 * 1024
"""Bytes. A larger answer is not the bot's."""


class BotRefused(Exception):  # noqa: N818  The bot's no is an answer, not a fault.
    """The bot said no, or can't be reached; carries the `Problem` to show to the agent."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.refusal.what)
        self.problem = problem


class BotClient:
    """One bot, seen with one agent's token. Use as an async context manager.

    The token goes into one header of one connection pool and is never shown.
    """

    def __init__(self, url: str, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._url = url
        self._http = httpx2.AsyncClient(
            base_url=url,
            timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            follow_redirects=False,
            trust_env=False,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def tools(self, token: str) -> ToolList:
        """What this agent may call."""
        return await self._call(ToolList, token, "GET", "/api/v1/tools")

    async def submit(self, token: str, call: CallRequest) -> RequestView:
        """Sends one tool call."""
        return await self._call(RequestView, token, "POST", "/api/v1/requests", body=record.encode(call))

    async def view(
        self, token: str, request_id: str, *, wait_seconds: int = 0, seen_state: str = ""
    ) -> RequestView:
        """Shows one request; with `wait_seconds` only once its state is no longer `seen_state`."""
        path = f"/api/v1/requests/{quote(request_id, safe='')}"
        if wait_seconds:
            path += f"?wait_seconds={wait_seconds}&seen_state={quote(seen_state, safe='')}"
        return await self._call(RequestView, token, "GET", path)

    async def cancel(self, token: str, request_id: str) -> RequestView:
        """Takes back one request."""
        return await self._call(
            RequestView, token, "POST", f"/api/v1/requests/{quote(request_id, safe='')}/cancel"
        )

    async def requests(self, token: str) -> RequestList:
        """The agent's own requests."""
        return await self._call(RequestList, token, "GET", "/api/v1/requests")

    async def sandbox(self, token: str) -> SandboxStatus:
        """The runners and whether their isolation is proved."""
        return await self._call(SandboxStatus, token, "GET", "/api/v1/sandbox")

    async def _call(self, kind: type[T], token: str, method: str, path: str, body: bytes | None = None) -> T:
        headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
        if body is not None:
            headers["content-type"] = "application/json"
        try:
            response = await self._http.request(method, path, headers=headers, content=body)
        except httpx2.HTTPError as error:
            raise self._unreachable(type(error).__name__) from None
        if len(response.content) > LARGEST_ANSWER:
            raise self._unreachable("an answer of more than 8 MiB")
        try:
            if response.is_success:
                return _read(kind, response.content)
            answer = _read(Problem, response.content)
        except Refused:
            raise self._unreachable(f"status {response.status_code} without an answer in its form") from None
        raise BotRefused(answer)

    def _unreachable(self, how: str) -> BotRefused:
        return BotRefused(
            problem(
                Refusal(
                    code=Code.BOT_UNREACHABLE,
                    what=f"the bot at {self._url} gave no answer ({how})",
                    rule="Without the bot nothing is decided; whether this call reached it is not known.",
                    remedy="Start the bot or correct its address; call list_requests before asking again.",
                ),
                NextAction.ASK_A_PERSON,
            )
        )


def _read(kind: type[T], content: bytes) -> T:
    return record.read(kind, content, what="the bot's answer", code=Code.BOT_ANSWER_INVALID)


def problem(refusal: Refusal, action: NextAction) -> Problem:
    """A refusal made on this side, in the form in which the bot's own arrive."""
    return Problem(
        refusal=agent_protocol.RefusalView(**refusal.as_json()),
        next_action=action,
        next_action_text=SENTENCES[action],
    )
