"""How the server is reached: over stdio by one editor, or over HTTP by several agents.

Over stdio there is one token, from a file. Over HTTP each caller brings its own bot token and it is
passed on; the server itself then holds none.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp.types as wire
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette

from mcp_server import server
from mcp_server.bot_client import BotClient
from policy.refusal import Code, refuse

LARGEST_TOKEN_FILE = 4096
"""Bytes."""


def read_token(path: Path) -> str:
    """Reads the bot token from a file that only its owner can read.

    Raises:
        Refused: `token_file` when it is missing, readable by others, empty or not a token.
    """
    rule = "The token stands alone in a file with mode 0600, never in an argument or the environment."
    remedy = f"Run: chmod 600 {path}, or get a token with `ownergate bot token create`."
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            token = file.read(LARGEST_TOKEN_FILE).decode("ascii", "replace").strip()
    except OSError as error:
        what = f"the token file {path} can't be read ({error.strerror})"
        raise refuse(Code.TOKEN_FILE, what, rule=rule, remedy=remedy) from None
    if mode & 0o077:
        what = f"the token file {path} can be read by others"
        raise refuse(Code.TOKEN_FILE, what, rule=rule, remedy=remedy)
    if not token.startswith("og_agent_") or not token.isprintable() or " " in token:
        what = f"the file {path} doesn't hold an agent's token"
        raise refuse(Code.TOKEN_FILE, what, rule=rule, remedy=remedy)
    return token


async def serve_stdio(bot_url: str, token: str) -> None:
    """Serves one client over standard input and output until it closes them."""
    async with BotClient(bot_url) as bot:
        mcp = server.build(bot, lambda _ctx: token)
        async with stdio_server() as (receive, send):
            await mcp.run(receive, send, mcp.create_initialization_options())


def http_app(bot: BotClient) -> Starlette:
    """The streamable HTTP application at `/mcp`; each request needs its caller's bearer token."""
    mcp = server.build(bot, _bearer)
    app = mcp.streamable_http_app(json_response=True, stateless_http=True)
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(starlette: Starlette) -> AsyncIterator[Any]:
        async with bot, inner(starlette) as state:
            yield state

    app.router.lifespan_context = lifespan
    return app


def serve_http(bot_url: str, host: str, port: int) -> None:
    """Serves agents over HTTP until it is told to stop."""
    uvicorn.run(http_app(BotClient(bot_url)), host=host, port=port, log_level="warning")


def run_stdio(bot_url: str, token_file: Path) -> None:
    """`ownergate mcp`: reads the token, then serves standard input and output."""
    anyio.run(serve_stdio, bot_url, read_token(token_file))


def _bearer(ctx: ServerRequestContext[Any]) -> str:
    header = ctx.request.headers.get("authorization", "") if ctx.request is not None else ""
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.startswith("og_agent_"):
        raise MCPError(
            wire.INVALID_REQUEST,
            "Send your own bot token as 'Authorization: Bearer og_agent_…'. [unauthenticated]",
        )
    return token
