"""`ownergate bot`: runs the bot; makes, lists and revokes its tokens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bot.tokens import Tokens

CONFIG = click.option(
    "--config",
    type=click.Path(path_type=Path),
    default=Path("bot.yaml"),
    show_default=True,
    metavar="FILE",
    help="The bot's settings.",
)


@click.group(
    epilog="""
\b
Examples:
  ownergate bot run --config bot.yaml
  ownergate bot token create --role agent --name "dana editor" --login dana --github-id 583231 --out token
  ownergate bot token create --role runner --name runner-1 --out runner-token
"""
)
def bot() -> None:
    """Run the bot; make and revoke its tokens."""


@bot.command()
@CONFIG
@click.option(
    "--accept-restore",
    is_flag=True,
    help="Start although the database is older than the audit trail attests; this is recorded.",
)
def run(config: Path, *, accept_restore: bool) -> None:
    """Run the bot until SIGTERM."""
    from bot import service

    service.run(config, accept_restore=accept_restore)


@bot.group()
def token() -> None:
    """Make, list and revoke bearer tokens. Each has one holder and one role; no role can approve."""


@token.command()
@CONFIG
@click.option("--role", type=click.Choice(["agent", "runner", "auditor", "admin"]), required=True)
@click.option("--name", required=True, help="How people call the holder.")
@click.option("--login", help="GitHub login of the person behind an agent.")
@click.option("--github-id", type=int, help="That person's numeric GitHub id; it is what counts.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Where the token goes, alone, with mode 0600. It is shown nowhere.",
)
def create(config: Path, role: str, name: str, login: str | None, github_id: int | None, out: Path) -> None:
    """Make a token and write it to a new file."""
    from bot.tokens import Role

    tokens = _tokens(config)
    try:
        handle = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise click.ClickException(f"{out} can't be made: {error.strerror}. Nothing was created.") from None
    with os.fdopen(handle, "w") as file:
        try:
            file.write(tokens.create(name=name, role=Role(role), person_id=github_id, login=login) + "\n")
        except BaseException:
            out.unlink()
            raise
    click.echo(f"Token of {name} ({role}) in {out}.")


@token.command(name="list")
@CONFIG
def list_tokens(config: Path) -> None:
    """List the holders of live tokens."""
    for holder in _tokens(config).principals():
        person = f"{holder.login} ({holder.person_id})" if holder.person_id else "-"
        click.echo(f"{holder.id:>5}  {holder.role:<8}  {holder.name:<30}  {person}")


@token.command()
@CONFIG
@click.argument("number", type=int)
def revoke(config: Path, number: int) -> None:
    """End the token of the holder with this number (see `list`), at once."""
    if not _tokens(config).revoke(number):
        raise click.ClickException(f"There is no live token with the number {number}.")
    click.echo(f"The token of holder {number} is revoked.")


def _tokens(config: Path) -> Tokens:
    from bot import settings
    from bot.clock import SystemClock
    from bot.database import Database
    from bot.tokens import Tokens

    chosen = settings.load(config)
    chosen.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(chosen.database_url)
    # Every table is made at once, whichever command is the first to need the database.
    import bot.request_tables  # noqa: F401

    database.create()
    return Tokens(database, SystemClock())
