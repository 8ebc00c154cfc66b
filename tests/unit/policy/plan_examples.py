"""The plan fixtures, read from their files, and a rendering's surroundings."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from policy import canonical, plan, terraform_plan
from policy import manifest as manifests
from policy.rendering import ApproverView, PathOwners
from policy.tools import Via
from tests.unit.policy import examples

PLANS = Path(__file__).parent / "fixtures" / "plans"
CASES = sorted(path.parent.name for path in PLANS.glob("*/plan.json"))
BUILTIN = "terraform.io/builtin/terraform"


def document(case: str) -> bytes:
    """What `terraform show -json` printed for one case."""
    return (PLANS / case / "plan.json").read_bytes()


def tree(case: str) -> dict[str, Any]:
    """The same as a tree that a test may change; numbers beyond 2^53 lose their form here."""
    result: dict[str, Any] = json.loads(document(case))
    return result


def read(case: str) -> plan.Plan:
    """One case, masked and read."""
    return terraform_plan.read(terraform_plan.mask(document(case)))


def manifest_for(shown: plan.Plan | None, *, masked: bytes = b"", **changes: Any) -> manifests.Manifest:
    """A manifest that belongs to a plan."""
    base = examples.a_manifest()
    bound = None
    if shown is not None and base.plan is not None:
        bound = dataclasses.replace(
            base.plan,
            kind=shown.kind,
            summary={name: int(str(count)) for name, count in shown.summary.as_json().items()},
            masked_json_sha256=canonical.sha256_bytes(masked),
        )
    return dataclasses.replace(base, plan=bound, **changes)


def approvers(**changes: Any) -> ApproverView:
    """Two paths with two teams; dana asked."""
    view = ApproverView(
        required=2,
        because=("The plan deletes or replaces something.",),
        paths=(
            PathOwners(path="terraform/web/", owners=("@acme/web",), people=("alice", "bob")),
            PathOwners(
                path="terraform/shared/net/", owners=("@carol", "@acme/net"), people=("carol", "dave")
            ),
        ),
        barred=("dana",),
        allow_self_approval=False,
        document_path=f"terraform/web/.ownergate/{examples.REQUEST_ID}.md",
        channel=Via.PULL_REQUEST,
    )
    return dataclasses.replace(view, **changes)
