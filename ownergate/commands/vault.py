"""`ownergate vault`: compares OpenBao or Vault with what the policy needs, and sets it up."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from policy.vault_roles import VaultSettings, VaultWrite
    from runner.lease.vault_calls import VaultCalls

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(
    epilog="""
\b
Example:
  ownergate vault plan --address https://bao.example --operator-token-file operator-token \\
    --repository-id 1296269 --runner-keys login-keys.pem --grant-keys grant-keys.pem --runner-cidr 10.0.0.7/32
"""
)
def vault() -> None:
    """Compare OpenBao or Vault with the policy; set it up.

    A tool's scope is written once, in the policy. Roles and policies are computed from it, so that a
    destructive role can be had only with a grant for that tool and target. Only an operator runs this;
    neither bot nor runner has the rights.
    """


def _options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One JSON document instead of lines."),
        click.option("--runner-cidr", "cidrs", multiple=True, required=True, help="Addresses of runners."),
        click.option("--grant-keys", type=FILE, required=True, help="The bot's public grant keys (PEM)."),
        click.option("--runner-keys", type=FILE, required=True, help="Runners' public login keys (PEM)."),
        click.option(
            "--runner-issuer",
            default="ownergate:runner",
            show_default=True,
            help="The issuer in runners' login tokens (`openbao.login_issuer` in runner.yaml).",
        ),
        click.option("--repository-id", type=int, required=True, help="Numeric id of the repository."),
        click.option("--operator-token-file", type=FILE, required=True, help="Your token, mode 0600."),
        click.option("--ca-file", type=FILE, help="Certificate authority of the address."),
        click.option("--address", required=True, metavar="URL", help="Where OpenBao or Vault listens."),
        click.option(
            "--policy",
            "policy_path",
            type=FILE,
            default=Path("policy/policy.yaml"),
            show_default=True,
            help="The policy file.",
        ),
    ):
        command = option(command)
    return command


@vault.command()
@_options
def plan(*, as_json: bool, **chosen: Any) -> None:
    """Show what differs; exit code 1 when something does."""
    from runner.lease import openbao_setup

    writes, calls, client, _ = _prepared(chosen)
    changes = openbao_setup.plan(writes, calls, client)
    needed = [change for change in changes if change.needed]
    _print(needed, as_json=as_json, nothing="OpenBao holds exactly what the policy needs.")
    sys.exit(1 if needed else 0)


@vault.command()
@_options
@click.option(
    "--make-mounts",
    is_flag=True,
    help="Make missing mounts too, with a certificate authority inside OpenBao: for a trial.",
)
def apply(*, as_json: bool, make_mounts: bool, **chosen: Any) -> None:
    """Write what differs."""
    from runner.lease import openbao_setup

    writes, calls, client, settings = _prepared(chosen)
    if make_mounts:
        mounts = (settings.runner_mount, settings.grant_mount)
        openbao_setup.prepare(calls, client, engines=tuple(settings.engines), jwt_mounts=mounts)
    made = openbao_setup.apply(writes, calls, client)
    _print(list(made), as_json=as_json, nothing="Nothing was to be done.")


def _prepared(chosen: dict[str, Any]) -> tuple[tuple[VaultWrite, ...], VaultCalls, Any, VaultSettings]:
    from policy import grant, policy_file, vault_roles
    from policy.vault_roles import VaultSettings
    from runner import key_files
    from runner.lease.vault_calls import VaultCalls
    from runner.secret_bytes import SecretBytes

    path: Path = chosen["policy_path"]
    settings = VaultSettings(
        runner_issuer=chosen["runner_issuer"],
        grant_issuer=grant.issuer(chosen["repository_id"]),
        runner_keys=_public_keys(chosen["runner_keys"]),
        grant_keys=_public_keys(chosen["grant_keys"]),
        runner_cidrs=tuple(chosen["cidrs"]),
    )
    writes = vault_roles.desired(policy_file.load(path.read_bytes(), name=str(path)), settings)
    calls = VaultCalls(chosen["address"], ca_file=chosen["ca_file"])
    token = key_files.read_secret(chosen["operator_token_file"], what="the operator's token")
    return writes, calls, calls.client(SecretBytes(token.reveal().strip())), settings


def _public_keys(path: Path) -> tuple[str, ...]:
    end = "-----END PUBLIC KEY-----"
    blocks = [block.strip() for block in path.read_text("ascii").split(end) if block.strip()]
    if not blocks:
        raise click.ClickException(f"{path} holds no public key.")
    return tuple(f"{block}\n{end}\n" for block in blocks)


def _print(changes: list[Any], *, as_json: bool, nothing: str) -> None:
    if as_json:
        rows = [{"path": c.path, "why": c.why, "new": c.new, "fields": list(c.fields)} for c in changes]
        click.echo(json.dumps({"changes": rows}))
        return
    for change in changes:
        what = "new" if change.new else f"differs in {', '.join(change.fields)}"
        click.echo(f"{change.path}  ({what})\n    {change.why}")
    if not changes:
        click.echo(nothing)
