"""`ownergate`: the commands, each loaded only when it is called, and how errors reach a person."""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

import click

COMMANDS: dict[str, tuple[str, str]] = {
    "audit": ("ownergate.commands.audit:audit", "Show, verify and export the audit trail."),
    "bot": ("ownergate.commands.bot:bot", "Run the bot; make and revoke its tokens."),
    "image": ("ownergate.commands.image:image", "Build the images that sandboxes on one machine run in."),
    "keys": ("ownergate.commands.keys:keys", "Make the key files that bot and runner need."),
    "mcp": ("ownergate.commands.mcp:mcp", "Serve MCP tools to an agent."),
    "pause": ("ownergate.commands.pause:pause", "Stop all claims within seconds."),
    "policy": ("ownergate.commands.policy:policy", "Check the policy, explain what a call would do."),
    "requests": ("ownergate.commands.requests:requests", "List and show requests."),
    "resume": ("ownergate.commands.pause:resume", "Let claims go on."),
    "runner": ("ownergate.commands.runner:runner", "Run a runner."),
    "vault": ("ownergate.commands.vault:vault", "Compare OpenBao or Vault with the policy; set it up."),
    "verify": ("ownergate.commands.verify:verify", "Prove by trying that the sandbox isolates."),
}
"""Each command: where it is, and its line in `ownergate --help`."""

OURS = frozenset({"bot", "evidence", "mcp_server", "ownergate", "policy", "runner"})

EXAMPLES = """
\b
Examples:
  ownergate bot run --config bot.yaml
  ownergate runner --config runner.yaml
  ownergate mcp --bot-url https://bot.example --token-file ~/.config/ownergate/token
  ownergate policy explain --policy policy.yaml terraform_apply module=web
  ownergate audit verify --export trail.jsonl
"""


class LazyGroup(click.Group):
    """A group that knows its commands' names and lines, and imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in order."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Names the nearest command when there is none of that name."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"There is no command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=EXAMPLES,
)
@click.version_option(package_name="ownergate", message="%(prog)s %(version)s")
def ownergate() -> None:
    """Agents ask. Code owners approve on GitHub. A runner does exactly that, once, in a sandbox."""


def main() -> NoReturn:
    """The entry point: a refusal becomes two plain sentences and exit code 2, never a traceback."""
    try:
        ownergate.main(standalone_mode=False)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:  # noqa: BLE001  The outermost door: nobody beyond it reads tracebacks.
        click.echo(_sentence(error), err=True)
        sys.exit(2)
    sys.exit(0)


def _sentence(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    # What our own packages raise is written for people; anything else is a fault that has no words yet.
    if type(error).__module__.partition(".")[0] in OURS:
        return text
    return f"ownergate stopped because of an error that it doesn't know ({type(error).__name__}): {text}"
