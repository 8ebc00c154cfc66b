"""`ownergate mcp`: serves MCP tools to an agent, over stdio or HTTP."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(
    epilog="""
\b
Examples:
  ownergate mcp --bot-url http://127.0.0.1:8400 --token-file ~/.config/ownergate/token
  ownergate mcp --bot-url https://bot.example --http 127.0.0.1:8500
"""
)
@click.option(
    "--bot-url", required=True, envvar="OWNERGATE_BOT_URL", metavar="URL", help="Where the bot listens."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    envvar="OWNERGATE_TOKEN_FILE",
    metavar="FILE",
    help="The agent's bot token, alone in a file with mode 0600 (stdio only).",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve streamable HTTP at /mcp instead; each caller sends its own bearer token.",
)
def mcp(bot_url: str, token_file: Path | None, http: str | None) -> None:
    """Serve MCP tools to an agent.

    Over standard input and output for one editor, or with --http for several agents. It holds one bot
    token and no other authority: it can ask, and never approve.
    """
    from mcp_server import transports

    if http is None:
        if token_file is None:
            raise click.UsageError("--token-file (or OWNERGATE_TOKEN_FILE) is needed over standard input.")
        transports.run_stdio(bot_url, token_file.expanduser())
        return
    host, _, port = http.rpartition(":")
    if not host or not port.isdecimal():
        raise click.BadParameter(f"{http!r} is not of the form HOST:PORT.", param_hint="--http")
    transports.serve_http(bot_url, host, int(port))
