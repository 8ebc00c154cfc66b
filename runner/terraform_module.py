"""What the runner adds to a Terraform module so that its state is the policy's and nobody else's.

Terraform merges files named `*_override.tf.json` last, so the backend that stands there replaces any
other; a source that holds a file of that name, or any backend of its own, is refused. After
`terraform init` the folder `.terraform` records the backend that was chosen: that must be exactly this
one. Sources: "Override Files" and "Backend Configuration" in Terraform's documentation.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType

from policy import canonical
from policy.refusal import Code, refuse
from runner.sandbox import interface

OVERRIDE_FILE = "ownergate_override.tf.json"

LOCK_FILE = ".terraform.lock.hcl"
"""Terraform's dependency lock file, in the module's folder."""

BACKEND_RECORD = ".terraform/terraform.tfstate"
"""Where `terraform init` records the backend, below the module's folder."""

RESCUED_STATE = "errored.tfstate"
"""Where Terraform leaves a state that it could not store, below the module's folder."""

STATE_FILE = "terraform.tfstate"
STATE_PATH = f"{interface.STATE}/{STATE_FILE}"

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "CHECKPOINT_DISABLE": "1",
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
    }
)
"""Variables of every step of a tool that uses Terraform: no calls home, no questions.

Where providers come from is the image's own variable, and so a part of its digest.
"""


def override() -> bytes:
    """The content of `OVERRIDE_FILE`: the local backend at `STATE_PATH`."""
    return canonical.encode({"terraform": {"backend": {"local": {"path": STATE_PATH}}}})


def check_names(names: Collection[str]) -> None:
    """Refuses a module's folder that holds what the runner or Terraform puts there.

    Args:
        names: paths of the module's files, below its folder.

    Raises:
        Refused: `source_invalid`.
    """
    for name in names:
        first = name.split("/", 1)[0]
        if name in (OVERRIDE_FILE, RESCUED_STATE) or first == ".terraform":
            raise refuse(
                Code.SOURCE_INVALID,
                f"the source holds {name}",
                rule="That name is the runner's or Terraform's own; it could choose another state.",
                remedy=f"Take {name} out of the repository.",
            )


def check_backend(recorded: bytes | None) -> None:
    """Checks what `terraform init` recorded: the local backend at `STATE_PATH`, and nothing else.

    Args:
        recorded: the content of `BACKEND_RECORD`, None when it was not there. The sandbox wrote it, so
            nothing about its form is taken for granted.

    Raises:
        Refused: `backend_differs`.
    """
    if recorded is None:
        raise _other("there is no record of one")
    try:
        backend = json.loads(recorded)["backend"]
        kind, config = backend["type"], backend["config"]
        found = (kind, config["path"], config.get("workspace_dir"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _other("its record can't be read") from None
    if found != ("local", STATE_PATH, None):
        raise _other("another one is recorded")


def _other(why: str) -> Exception:
    return refuse(
        Code.BACKEND_DIFFERS,
        f"the state backend after terraform init: {why}",
        rule="Terraform uses the state backend that the policy names, and no other.",
        remedy="Take every backend, cloud and override block out of the module.",
    )
