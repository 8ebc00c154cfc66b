"""What `make demo-keep` prints: the pages, the editor configurations, and what to try."""

from __future__ import annotations

import json

from demo import processes
from demo.stage import Stage


def instructions(stage: Stage) -> str:
    """How to try it by hand."""
    server = {
        "command": processes.OWNERGATE,
        "args": ["mcp"],
        "env": {"OWNERGATE_BOT_URL": stage.bot_url, "OWNERGATE_TOKEN_FILE": stage.agent_token_file},
    }
    for_most = json.dumps({"mcpServers": {"ownergate": server}}, indent=2)
    for_vscode = json.dumps({"servers": {"ownergate": {"type": "stdio", **server}}}, indent=2)
    environment = ", ".join(f"{name} = {json.dumps(value)}" for name, value in server["env"].items())  # type: ignore[attr-defined]
    return f"""
It is still running. `make down` ends it.

Read the pull requests and approve as any of the personas:
  {stage.github_url}/{stage.repository}/pulls

Point an editor at it. Claude Code (.mcp.json), Claude Desktop, Cursor (.cursor/mcp.json), Gemini CLI:
{for_most}

VS Code (.vscode/mcp.json):
{for_vscode}

Codex (~/.codex/config.toml):
[mcp_servers.ownergate]
command = {json.dumps(server["command"])}
args = ["mcp"]
env = {{ {environment} }}

Then ask the agent, for example:
  "In terraform/demo/main.tf, make the team label 'growth' and apply the module demo with ownergate."
It answers with a link. Open it, act as alice, approve, and ask the agent how the request stands.
"""
