"""`ownergate image`: builds the image folders that sandboxes on one machine run in."""

from __future__ import annotations

from pathlib import Path

import click


@click.group(
    epilog="\b\nExample:\n  ownergate image build images/tools/host.yaml --images /var/lib/ownergate/images\n"
)
def image() -> None:
    """Build the image folders that sandboxes on one machine run in."""


@image.command()
@click.argument("declaration", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--images", type=click.Path(path_type=Path), required=True, help="The runner's image folder.")
def build(declaration: Path, images: Path) -> None:
    """Copy what the declaration names into a read-only folder, and print its digest.

    Nothing is done when nothing it is made of has changed.
    """
    from runner.sandbox import image_declaration, image_folder

    declared = image_declaration.load(declaration)
    built = image_folder.build(declared, images)
    click.echo(f"Image {declared.name} in {built.root}: {built.sha256}")
