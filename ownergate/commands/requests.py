"""`ownergate requests`: lists and shows an agent's own requests, as the agent sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from ownergate.commands import bot_api


@click.group(
    epilog="""
\b
Examples:
  ownergate requests list --bot-url https://bot.example --token-file token
  ownergate requests show og-0123456789abcdefghjkmnpqrs --wait 45 --json
"""
)
def requests() -> None:
    """List and show requests.

    With an agent's token: that agent's own requests.
    """


@requests.command(name="list")
@bot_api.options
@click.option("--json", "as_json", is_flag=True, help="The whole answer as JSON.")
def list_requests(bot_url: str, token_file: Path, *, as_json: bool) -> None:
    """List requests, newest first."""
    answer = bot_api.call(bot_url, token_file, "GET", "/api/v1/requests").json()
    if as_json:
        click.echo(json.dumps(answer))
        return
    for view in answer["requests"]:
        click.echo(f"{view['id']}  {view['state']:<9}  {view['tool']:<20}  {view['cause']}")
    if not answer["requests"]:
        click.echo("There are no requests.")


@requests.command()
@bot_api.options
@click.argument("request_id")
@click.option("--wait", type=click.IntRange(0, 45), default=0, help="Seconds to wait for a change of state.")
@click.option("--json", "as_json", is_flag=True, help="The whole answer as JSON.")
def show(bot_url: str, token_file: Path, request_id: str, wait: int, *, as_json: bool) -> None:
    """Show one request."""
    path = f"/api/v1/requests/{quote(request_id, safe='')}"
    view = bot_api.call(bot_url, token_file, "GET", path).json()
    if wait and not view["final"]:
        query = {"wait_seconds": str(wait), "seen_state": str(view["state"])}
        view = bot_api.call(bot_url, token_file, "GET", path, query=query).json()
    click.echo(json.dumps(view) if as_json else _text(view))


def _text(view: dict[str, Any]) -> str:
    lines = [f"{view['id']}  {view['tool']}  {view['state']}: {view['cause']}"]
    lines += [f"  {name}: {view[name]}" for name in ("verdict", "link", "digest", "expires_at") if view[name]]
    if view["approval"]:
        approval = view["approval"]
        lines.append(f"  approvals: {approval['given']} of {approval['required']}")
        lines.append(f"  may approve: {', '.join(approval['may_approve']) or 'nobody'}")
    if view["refusal"]:
        refusal = view["refusal"]
        lines.append(f"  {refusal['what']}. {refusal['rule']} {refusal['remedy']} [{refusal['code']}]")
    if view["result"]:
        lines += [f"  exit code: {view['result']['exit_code']}", "", view["result"]["output"]]
    return "\n".join(lines)
