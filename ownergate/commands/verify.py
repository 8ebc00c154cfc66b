"""`ownergate verify`: proves by trying that sandboxes on this machine isolate."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click


@click.command(
    epilog="\b\nExample:\n  ownergate verify --images .demo/runner/images --scratch /dev/shm/verify\n"
)
@click.option("--images", type=click.Path(path_type=Path), required=True, help="Folder of built images.")
@click.option("--scratch", type=click.Path(path_type=Path), required=True, help="A private folder in memory.")
@click.option("--runsc", type=click.Path(path_type=Path), help="The program; found on the PATH if left out.")
@click.option("--json", "as_json", is_flag=True, help="The trials as JSON.")
def verify(images: Path, scratch: Path, runsc: Path | None, *, as_json: bool) -> None:
    """Prove by trying that the sandbox isolates: exit code 0 only if every trial was contained."""
    import shutil

    from runner.sandbox.interface import NotIsolated
    from runner.sandbox.runsc import RunscSandbox

    found = runsc or Path(shutil.which("runsc") or "runsc")
    try:
        proof = RunscSandbox(images=images, scratch=scratch, runsc=found).check()
    except NotIsolated as failed:
        click.echo(json.dumps({"proved": False, "refusal": failed.refusal.as_json()}) if as_json else failed)
        sys.exit(1)
    if as_json:
        trials = [{"name": t.name, "holds": t.holds, "seen": t.seen} for t in proof.trials]
        click.echo(json.dumps({"proved": True, "kernel": proof.kernel, "trials": trials}))
        return
    for trial in proof.trials:
        click.echo(f"{'ok' if trial.holds else 'FAILED':<7} {trial.name:<34} {trial.seen}")
    for limit, enforced in proof.enforcement.items():
        click.echo(f"{'limit':<7} {limit:<34} {enforced}")
    click.echo(f"Proved. The kernel in the sandbox: {proof.kernel}")
