"""`ownergate runner`: runs a runner until SIGTERM."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(epilog="\b\nExample:\n  ownergate runner --config runner.yaml\n")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    default=Path("runner.yaml"),
    show_default=True,
    metavar="FILE",
    help="The runner's settings.",
)
@click.option(
    "--accept-audit-restore",
    is_flag=True,
    help="Forget the bot's audit tip that was seen last, because you restored the bot yourself; then end.",
)
def runner(config: Path, *, accept_audit_restore: bool) -> None:
    """Run a runner: it pulls work, checks everything itself, and runs it in a sandbox."""
    from runner import service

    if accept_audit_restore:
        forgotten = service.accept_audit_restore(config)
        seen = f"event {forgotten.sequence}" if forgotten else "nothing"
        click.echo(f"Forgotten: {seen}. The runner works for the bot as it is from its next start on.")
        return
    service.run(config)
