"""How the server is reached: the token's file, and each caller's own token over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from mcp_server import transports
from mcp_server.bot_client import BotClient
from policy.refusal import Code, Refused
from tests.unit.mcp_server.scripted_bot import TOKEN, ScriptedBot

OWN_URL = "http://127.0.0.1:8500"


def token_file(tmp_path: Path, content: str = TOKEN + "\n", mode: int = 0o600) -> Path:
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(mode)
    return path


def test_the_token_is_read_from_a_private_file(tmp_path: Path) -> None:
    assert transports.read_token(token_file(tmp_path)) == TOKEN


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620])
def test_a_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(Refused, match="by others") as caught:
        transports.read_token(token_file(tmp_path, mode=mode))
    assert caught.value.refusal.code is Code.TOKEN_FILE
    assert "chmod 600" in caught.value.refusal.remedy


@pytest.mark.parametrize("content", ["", "og_admin_" + "A" * 43, "ghp_x", "og_agent_a b", "og_agent_\x00"])
def test_what_is_not_an_agents_token_is_refused_and_not_shown(tmp_path: Path, content: str) -> None:
    with pytest.raises(Refused, match="doesn't hold an agent's token") as caught:
        transports.read_token(token_file(tmp_path, content))
    assert not content or content not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="can't be read"):
        transports.read_token(tmp_path / "nothing")


def test_over_http_each_caller_brings_its_own_token() -> None:
    bot = ScriptedBot()

    async def run() -> None:
        app = transports.http_app(BotClient("http://bot", transport=httpx2.ASGITransport(app=bot.app())))
        async with app.router.lifespan_context(app):
            for token in (TOKEN, "og_agent_" + "B" * 43):
                http = httpx2.AsyncClient(
                    transport=httpx2.ASGITransport(app=app), headers={"authorization": f"Bearer {token}"}
                )
                async with (
                    http,
                    Client(streamable_http_client(f"{OWN_URL}/mcp", http_client=http)) as mcp,
                ):
                    assert len((await mcp.list_tools()).tools) == 6
                assert bot.tokens[-1] == f"Bearer {token}"

    asyncio.run(run())


@pytest.mark.parametrize("header", [None, "", "Bearer ", "Bearer og_runner_x", "Basic og_agent_x"])
def test_over_http_nobody_calls_without_a_token(header: str | None) -> None:
    bot = ScriptedBot()

    async def run() -> httpx2.Response:
        app = transports.http_app(BotClient("http://bot", transport=httpx2.ASGITransport(app=bot.app())))
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:8500"
            ) as http,
        ):
            headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
            if header is not None:
                headers["authorization"] = header
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
            return await http.post("/mcp", json=body, headers=headers)

    assert "unauthenticated" in asyncio.run(run()).text
    assert bot.tokens == []
