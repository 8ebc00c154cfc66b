"""The editor examples: each parses, and starts the real server with what it says."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.unit.mcp_server.scripted_bot import TOKEN, ScriptedBot

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "editors"
FILES = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in {".json", ".toml"})


def server_of(name: str) -> dict[str, Any]:
    text = (EXAMPLES / name).read_text()
    whole = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    (servers,) = (whole[key] for key in ("mcpServers", "servers", "mcp_servers") if key in whole)
    assert list(servers) == ["ownergate"]
    return dict(servers["ownergate"])


@pytest.fixture(scope="module")
def bot_url() -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(ScriptedBot().app(), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        pass
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


def test_there_is_one_for_each_editor_that_the_table_names() -> None:
    table = (EXAMPLES / "README.md").read_text()
    assert sorted(name for name in FILES if f"({name})" in table) == FILES
    assert len(FILES) == 6


@pytest.mark.parametrize("name", FILES)
def test_an_example_holds_no_secret(name: str) -> None:
    assert "og_agent_" not in (EXAMPLES / name).read_text()


@pytest.mark.parametrize("name", FILES)
def test_it_starts_the_server(name: str, bot_url: str, tmp_path: Path) -> None:
    example = server_of(name)
    token = tmp_path / ".config" / "ownergate" / "token"
    token.parent.mkdir(parents=True)
    token.touch(mode=0o600)
    token.write_text(TOKEN)
    environment = {
        **example["env"],
        "OWNERGATE_BOT_URL": bot_url,
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    parameters = StdioServerParameters(command=example["command"], args=example["args"], env=environment)

    async def names() -> list[str]:
        async with Client(stdio_client(parameters)) as mcp:
            return [tool.name for tool in (await mcp.list_tools()).tools]

    assert "terraform_apply" in asyncio.run(names())
