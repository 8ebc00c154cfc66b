"""The scripted agent: a real MCP client over stdio, talking to the real `ownergate mcp`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from demo import processes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool answered: the words for the model, and the structure."""

    text: str
    data: dict[str, Any]
    is_error: bool


class Agent:
    """One connected agent."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def tools(self) -> list[str]:
        """Names of the tools that it sees."""
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, tool: str, **arguments: Any) -> Answer:
        """Calls a tool."""
        result = await self._client.call_tool(tool, arguments)
        text = "\n".join(part.text for part in result.content if part.type == "text")
        return Answer(text=text, data=result.structured_content or {}, is_error=bool(result.is_error))

    async def wait(self, request_id: str, states: set[str], *, looks: int = 6) -> Answer:
        """Calls check_request until the request is in one of the states, as an agent would.

        Raises:
            TimeoutError: when it isn't after so many looks.
        """
        last = ""
        for _ in range(looks):
            answer = await self.call("check_request", request_id=request_id, wait_seconds=20)
            if answer.data.get("state") in states:
                return answer
            last = answer.text
        raise TimeoutError(f"the request {request_id} did not become {' or '.join(states)}: {last}")


@asynccontextmanager
async def connected(bot_url: str, token_file: str) -> AsyncIterator[Agent]:
    """Starts `ownergate mcp` and connects to it."""
    parameters = StdioServerParameters(
        command=processes.OWNERGATE,
        args=["mcp", "--bot-url", bot_url, "--token-file", token_file],
    )
    async with Client(stdio_client(parameters)) as client:
        yield Agent(client)
