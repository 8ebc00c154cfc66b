"""`ownergate pause` and `ownergate resume`: stop all claims, let them go on."""

from __future__ import annotations

from pathlib import Path

import click

from ownergate.commands import bot_api


@click.command(
    epilog="\b\nExample:\n  ownergate pause --reason 'incident 42' --bot-url https://bot.example\n"
)
@bot_api.options
@click.option("--reason", required=True, help="Why; it stands in the audit trail.")
def pause(bot_url: str, token_file: Path, reason: str) -> None:
    """Stop all claims within seconds (needs an admin's token). What already runs goes on."""
    bot_api.call(bot_url, token_file, "POST", "/api/v1/pause", body={"reason": reason})
    click.echo("Paused: no grant can be claimed until `ownergate resume`.")


@click.command(epilog="\b\nExample:\n  ownergate resume --bot-url https://bot.example\n")
@bot_api.options
def resume(bot_url: str, token_file: Path) -> None:
    """Let claims go on after a pause (needs an admin's token)."""
    bot_api.call(bot_url, token_file, "POST", "/api/v1/resume")
    click.echo("Claims go on.")
