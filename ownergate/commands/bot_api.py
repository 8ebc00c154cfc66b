"""Plain calls to the bot's API for commands: one token from a file, one answer or one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click
import httpx2

SECONDS = 60.0


def options(command: Any) -> Any:
    """The two options of every command that talks to the bot."""
    command = click.option(
        "--token-file",
        required=True,
        envvar="OWNERGATE_TOKEN_FILE",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A bot token alone in a file with mode 0600 (or OWNERGATE_TOKEN_FILE).",
    )(command)
    return click.option(
        "--bot-url",
        required=True,
        envvar="OWNERGATE_BOT_URL",
        metavar="URL",
        help="Where the bot listens (or OWNERGATE_BOT_URL).",
    )(command)


def read_token(path: Path) -> str:
    """A token of any role, from a file that only its owner can read."""
    path = path.expanduser()
    try:
        mode = path.stat().st_mode
        token = path.read_text("ascii", "replace").strip()
    except OSError as error:
        raise click.ClickException(f"The token file {path} can't be read: {error.strerror}.") from None
    if mode & 0o077:
        raise click.ClickException(f"The token file {path} can be read by others. Run: chmod 600 {path}")
    if not token.startswith("og_"):
        raise click.ClickException(f"The file {path} doesn't hold a bot token.")
    return token


def call(
    bot_url: str,
    token_file: Path,
    method: str,
    path: str,
    *,
    query: dict[str, str] | None = None,
    body: dict[str, Any] | None = None,
) -> httpx2.Response:
    """Calls the bot once.

    Raises:
        click.ClickException: with the bot's own refusal as a sentence, or that it can't be reached.
    """
    url = bot_url.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
    headers = {"authorization": f"Bearer {read_token(token_file)}"}
    try:
        with httpx2.Client(timeout=SECONDS, trust_env=False) as http:
            response = http.request(method, url, headers=headers, json=body)
    except httpx2.HTTPError as error:
        raise click.ClickException(f"The bot at {bot_url} gave no answer ({type(error).__name__}).") from None
    if response.is_success:
        return response
    try:
        refusal = response.json()["refusal"]
        text = f"{refusal['what']}. {refusal['rule']} {refusal['remedy']} [{refusal['code']}]"
    except (ValueError, KeyError, TypeError):
        text = f"the bot answered with status {response.status_code}"
    raise click.ClickException(text)
