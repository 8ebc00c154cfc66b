"""Terraform in the sandbox: init, plan, show and apply with a local state, without any network."""

from __future__ import annotations

import json
from pathlib import Path

from runner.sandbox.interface import StateMount, TakeOut
from runner.sandbox.runsc import RunscSandbox
from tests.sandboxes import call, limits, run, step, text

MAIN = b"""
variable "size" {
  type    = number
  default = 1
}
terraform {
  backend "local" {
    path = "/state/terraform.tfstate"
  }
}
resource "terraform_data" "disk" {
  triggers_replace = var.size
}
"""

BOUNDS = limits(memory_bytes=768 << 20, timeout_seconds=60, processes=256)
INIT = step("terraform", "init", "-input=false", "-no-color")
PLAN_OUT = (TakeOut(path="plan.bin", max_bytes=1 << 20),)


def test_plan_is_shown_by_a_fresh_sandbox_and_applied_by_another(
    sandbox: RunscSandbox, tmp_path: Path
) -> None:
    plan = step("terraform", "plan", "-input=false", "-lock=false", "-no-color", "-out=plan.bin")
    planned = run(
        sandbox,
        call(
            INIT,
            plan,
            files={"main.tf": MAIN},
            take_out=PLAN_OUT,
            state=StateMount(folder=tmp_path, writable=False),
            bounds=BOUNDS,
        ),
    )
    assert planned.succeeded, text(planned)
    saved = planned.taken_out["plan.bin"]

    shown = run(
        sandbox,
        call(step("terraform", "show", "-json", "plan.bin"), files={"plan.bin": saved}, bounds=BOUNDS),
    )
    assert shown.succeeded, text(shown)
    (change,) = json.loads(text(shown))["resource_changes"]
    assert change["change"]["actions"] == ["create"]

    applied = run(
        sandbox,
        call(
            INIT,
            step("terraform", "apply", "-input=false", "-no-color", "plan.bin"),
            files={"main.tf": MAIN, "plan.bin": saved},
            state=StateMount(folder=tmp_path, writable=True),
            bounds=BOUNDS,
        ),
    )
    assert applied.succeeded, text(applied)
    assert "1 added" in text(applied)
    state = json.loads((tmp_path / "terraform.tfstate").read_text(encoding="utf-8"))
    assert state["resources"][0]["type"] == "terraform_data"

    replaced = run(
        sandbox,
        call(
            INIT,
            step("terraform", "plan", "-input=false", "-lock=false", "-no-color", "-var=size=2"),
            files={"main.tf": MAIN},
            state=StateMount(folder=tmp_path, writable=False),
            bounds=BOUNDS,
        ),
    )
    assert "must be replaced" in text(replaced)


def test_a_provider_from_the_registry_is_not_to_be_had(sandbox: RunscSandbox) -> None:
    module = b'terraform {\n  required_providers {\n    random = { source = "hashicorp/random" }\n  }\n}\n'
    outcome = run(sandbox, call(INIT, files={"main.tf": module}, bounds=BOUNDS))
    assert outcome.steps[0].exit_code == 1
    assert "hashicorp/random" in text(outcome)
