"""`ownergate keys`: makes the key files that bot and runner need, with mode 0600."""

from __future__ import annotations

import os
from pathlib import Path

import click

FILE = click.Path(path_type=Path)


@click.group(
    epilog="\b\nExample:\n  ownergate keys signing --private grant-key.pem --public grant-keys.pem\n"
)
def keys() -> None:
    """Make key files.

    Each private key is made where it is used and never leaves that machine; only public keys travel.
    """


@keys.command()
@click.option(
    "--private", type=FILE, required=True, metavar="FILE", help="Where the private key goes (0600)."
)
@click.option("--public", type=FILE, required=True, metavar="FILE", help="Where the public key is appended.")
def signing(private: Path, public: Path) -> None:
    """Make an Ed25519 key pair: for grants (bot), receipts or OpenBao logins (runner)."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from policy import signing as statement

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    _write_new(private, pem)
    with public.open("ab") as file:
        file.write(key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo))
    click.echo(f"Key {statement.key_id(key.public_key())}: private in {private}, public added to {public}.")


@keys.command()
@click.argument("file", type=FILE)
def sealing(file: Path) -> None:
    """Make the 256-bit key with which runners seal saved plans."""
    _write_new(file, os.urandom(32))
    click.echo(f"Sealing key in {file}. Every runner of the pool needs the same one.")


def _write_new(path: Path, content: bytes) -> None:
    # O_EXCL: an existing key is never overwritten, because what it sealed or signed would be lost.
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise click.ClickException(f"{path} exists already. Choose another name, or move it away.") from None
    except OSError as error:
        raise click.ClickException(f"{path} can't be written: {error.strerror}.") from None
    with os.fdopen(handle, "wb") as file:
        file.write(content)
