"""Planning: what it gives, what it never gives, and the modules that it refuses."""

from __future__ import annotations

import base64

import pytest

from policy import canonical, terraform_plan
from policy.audit import Kind
from policy.refusal import Code
from policy.runner_protocol import JobOutcome, JobResult
from runner.sealing import SealingKeys
from tests.runner_stack import MAIN, Stack


def planned(stack: Stack, text: str, *, name: str = "main.tf") -> JobResult:
    """What planning a module with this text says."""
    module = stack.module()
    files = {f"terraform/{module}/{name}": text}
    return stack.plan(module, source={"files": files})[1]


def test_a_plan_holds_all_that_the_manifest_binds(stack: Stack) -> None:
    module = stack.module()
    job, result = stack.plan(module)
    assert result.outcome is JobOutcome.PLANNED, result
    assert result.reason == "The plan creates 1, changes 1 output."
    assert result.output == ""
    made = result.plan
    assert made is not None
    assert made.plan is not None
    assert made.source is not None
    assert [file.path for file in made.source.files] == [f"terraform/{module}/main.tf"]
    assert made.plan.state is None
    assert made.plan.summary["creates"] == 1
    assert made.masked_plan is not None
    assert canonical.sha256_bytes(made.masked_plan.encode()) == made.plan.masked_json_sha256
    assert terraform_plan.read(made.masked_plan.encode()).summary.creates == 1
    assert made.sealed_plan is not None
    sealing = SealingKeys.from_files([stack.folder / "sealing.key"])
    saved = sealing.open(
        base64.b64decode(made.sealed_plan),
        request=job.request_id,
        source=made.source.sha256,
        plan_sha256=made.plan.sha256,
    )
    assert saved.startswith(b"PK")
    assert made.execution.image_sha256 == stack.receipt(result).image_sha256
    assert stack.bot.kinds(job.id)[-1] is Kind.CREDENTIAL_REVOKED
    assert [lease.role for lease in stack.receipt(result).leases] == ["terraform-plan"]
    assert not stack.state(module).exists(), "planning can't write the state"


def test_a_module_that_does_not_plan_says_why(stack: Stack) -> None:
    result = planned(stack, 'resource "terraform_data" "a" { input = var.none }\n')
    assert result.outcome is JobOutcome.FAILED
    assert "Reference to undeclared input variable" in result.output
    assert result.plan is None


def test_what_planning_prints_is_never_the_credential(stack: Stack) -> None:
    text = """
variable "size" { default = 1 }
resource "terraform_data" "a" {
  input = 1
  lifecycle {
    precondition {
      condition     = var.size == 2
      error_message = base64encode(file("/run/credential/key.pem"))
    }
  }
}
"""
    result = planned(stack, text)
    assert result.outcome is JobOutcome.FAILED
    assert "ownergate took out" in result.output
    assert "LS0tLS1CRUdJTi" not in result.output.replace("\n", "")


@pytest.mark.parametrize(
    "expression",
    [
        'file("/run/credential/key.pem")',
        'base64encode(file("/run/credential/key.pem"))',
        'urlencode(file("/run/credential/key.pem"))',
        'split("\\n", file("/run/credential/key.pem"))',
    ],
)
def test_a_plan_that_holds_the_credential_is_shown_to_nobody(stack: Stack, expression: str) -> None:
    text = f'output "key" {{ value = {expression} }}\nresource "terraform_data" "a" {{}}\n'
    result = planned(stack, text)
    assert result.outcome is JobOutcome.REFUSED
    assert result.refusal is not None
    assert result.refusal.code == Code.CREDENTIAL_LITERAL
    assert result.plan is None
    assert result.structure is None


REFUSED = {
    "a provisioner": (
        'resource "terraform_data" "a" { provisioner "local-exec" { command = "id" } }',
        "main.tf",
    ),
    "its own backend": ('terraform { backend "http" { address = "http://x" } }', "main.tf"),
    "its own override": (
        '{"terraform": {"backend": {"local": {"path": "/work/x"}}}}',
        "ownergate_override.tf.json",
    ),
    "a backend in another override": (
        '{"terraform": {"backend": {"local": {"path": "/work/x"}}}}',
        "zz_override.tf.json",
    ),
    "a remote module": ('module "m" { source = "git::https://example.com/m.git" }', "main.tf"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_module_that_is_refused(stack: Stack, name: str) -> None:
    text, file = REFUSED[name]
    result = planned(stack, text, name=file)
    assert result.outcome is JobOutcome.REFUSED, result
    assert result.refusal is not None
    assert result.refusal.code in (Code.TERRAFORM_SOURCE, Code.SOURCE_INVALID)


def test_a_provider_that_is_not_in_the_image(stack: Stack) -> None:
    result = planned(stack, 'resource "null_resource" "a" {}\n')
    assert result.outcome in (JobOutcome.FAILED, JobOutcome.REFUSED)
    assert result.plan is None


def test_a_provider_that_only_the_state_names(stack: Stack) -> None:
    module = stack.module()
    state = stack.state(module)
    state.parent.mkdir(parents=True)
    resource = '{"provider": "provider[\\"registry.terraform.io/evil/evil\\"]"}'
    state.write_text(f'{{"version": 4, "serial": 1, "lineage": "x", "resources": [{resource}]}}')
    job, result = stack.plan(module)
    assert result.refusal is not None
    assert result.refusal.code == Code.PLAN_PROVIDER
    assert stack.bot.kinds(job.id) == [Kind.RUNNER_REFUSED], "nothing was started"


def test_a_local_module_comes_along(stack: Stack) -> None:
    """Its folder is outside of the call's, so it is the base's, and it counts as source."""
    module, other = stack.module(), stack.module()
    text = f'module "other" {{ source = "../{other}" }}\n'
    job = stack.job(
        "terraform_plan", {"module": module}, source={"files": {f"terraform/{module}/main.tf": text}}
    )
    result = stack.work(job)
    assert result.outcome is JobOutcome.SUCCEEDED, result
    assert "module.other.terraform_data.disk" in str(result.structure)


def test_github_that_can_not_be_read(stack: Stack) -> None:
    stack.forge.github.faults.fail(503, path="*/git/*", times=50)
    try:
        _, result = stack.plan(stack.module())
    finally:
        stack.forge.github.faults.clear()
    assert result.outcome is JobOutcome.FAILED
    assert result.refusal is not None
    assert result.refusal.code == Code.GITHUB_UNAVAILABLE


def test_the_module_used_by_these_tests_is_what_they_think() -> None:
    assert b"triggers_replace" in MAIN
