"""A policy, a source and an approved manifest that the runner's tests start from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from policy import manifest, policy_file, source
from policy.manifest import Manifest
from policy.receipt import AuditTip
from policy.runner_protocol import Job, JobKind
from policy.source import SourceArchive
from policy.tools import Policy
from runner import calls

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
REQUEST_ID = "og-" + "0" * 26
BASE, HEAD = "b" * 40, "c" * 40
IMAGE_SHA256 = "2" * 64
TIP = AuditTip(sequence=3, hash="a" * 64)

TEXT = """
version: 1
defaults: {wait: 24h, plan_age: 24h, grant: 30m, sandbox: {timeout: 1m, grace: 2s, output: 64KiB}}
targets:
  demo: {runner: demo, vault: pki, state: folder, providers: [terraform.io/builtin/terraform]}
  other: {runner: elsewhere, vault: pki}
tools:
  report:
    tier: read
    target: demo
    run: {image: tools, argv: [cat, /proc/version, /run/credential/certificate.pem]}
    credential: {role: report, ttl: 5m}
  elsewhere:
    tier: read
    target: other
    run: {image: tools, argv: [cat, /proc/version]}
  echo:
    tier: read
    target: demo
    arguments: {text: {type: string, maxLength: 60000}}
    run: {image: tools, argv: [cat, "{text}"]}
  key_plain:
    tier: read
    target: demo
    run: {image: tools, argv: [cat, /run/credential/key.pem]}
    credential: {role: report, ttl: 5m}
  key_base64:
    tier: read
    target: demo
    run: {image: tools, argv: [base64, -w0, /run/credential/key.pem]}
    credential: {role: report, ttl: 5m}
  key_hex:
    tier: read
    target: demo
    run: {image: tools, argv: [od, -An, -v, -tx1, /run/credential/key.pem]}
    credential: {role: report, ttl: 5m}
  flood:
    tier: read
    target: demo
    run: {image: tools, argv: [head, -c, "5000000", /dev/zero]}
  slow:
    tier: read
    target: demo
    run: {image: tools, argv: [sleep, "50"]}
    credential: {role: report, ttl: 5m}
  terraform_plan:
    tier: read
    target: demo
    arguments: {module: {type: string, pattern: "^[a-z0-9-]+$"}}
    source: terraform/{module}
    state: read
    plan_file: plan.bin
    preview: terraform
    run:
      image: tools
      steps:
        - {argv: [terraform, init, -input=false, -lockfile=readonly, -no-color]}
        - {argv: [terraform, plan, -input=false, -lock=false, -no-color, -out=plan.bin], credential: true}
    credential: {role: terraform-plan, ttl: 5m}
  terraform_apply:
    tier: destructive
    target: demo
    arguments: {module: {type: string, pattern: "^[a-z0-9-]+$"}}
    source: terraform/{module}
    state: write
    plan: terraform_plan
    environment: {TF_VAR_REGION: north}
    run:
      image: tools
      steps:
        - {argv: [terraform, init, -input=false, -lockfile=readonly, -no-color]}
        - {argv: [terraform, apply, -input=false, -no-color, plan.bin], credential: true}
    credential: {role: terraform-apply, ttl: 10m}
    approval:
      via: pull_request
      owned: terraform/{module}/
      required: 1
      rules: [{when: plan.deletes > 0, required: 2}]
  half_done:
    tier: destructive
    target: demo
    arguments: {module: {type: string, pattern: "^[a-z0-9-]+$"}}
    source: terraform/{module}
    state: write
    run:
      image: tools
      sandbox: {timeout: 2s, grace: 1s}
      steps:
        - {argv: [cp, main.tf, errored.tfstate], credential: true}
        - {argv: [sleep, "50"], credential: true}
    credential: {role: half-done, ttl: 5m}
    approval: {via: pull_request, owned: "terraform/{module}/", required: 1}
  forget:
    tier: destructive
    target: demo
    arguments: {module: {type: string, pattern: "^[a-z0-9-]+$"}, address: {type: string}}
    source: terraform/{module}
    state: write
    run:
      image: tools
      steps:
        - {argv: [terraform, init, -input=false, -lockfile=readonly, -no-color]}
        - {argv: [terraform, state, rm, "{address}"], credential: true}
    credential: {role: forget, ttl: 5m}
    approval: {via: pull_request, owned: "terraform/{module}/", required: 1}
"""

POLICY: Policy = policy_file.load(TEXT)
APPLY = POLICY.tool("terraform_apply")
ARGUMENTS: dict[str, Any] = {"module": "web"}
FILES = {
    "terraform/web/main.tf": b'resource "terraform_data" "web" { input = "small" }\n',
    "terraform/web/.terraform.lock.hcl": b"# nothing is locked\n",
}
SOURCE: SourceArchive = source.archive("terraform/web", FILES)
EXECUTION = calls.execution(APPLY, ARGUMENTS, source=SOURCE, image_sha256=IMAGE_SHA256)

PLAN = manifest.Plan(
    kind="terraform",
    sha256="6" * 64,
    masked_json_sha256="7" * 64,
    summary={
        "creates": 1,
        "updates": 0,
        "deletes": 0,
        "replaces": 0,
        "reads": 0,
        "moves": 0,
        "forgets": 0,
        "imports": 0,
        "outputs": 0,
        "drifted": 0,
    },
    state=manifest.TerraformState(lineage="l", serial=4),
    objects=None,
)


def a_manifest(**changes: Any) -> Manifest:
    """The manifest of an apply of `web`, with some fields changed."""
    fields: dict[str, Any] = {
        "version": 1,
        "id": REQUEST_ID,
        "tool": APPLY.name,
        "tool_digest": APPLY.sha256,
        "arguments": ARGUMENTS,
        "requester": manifest.Requester(agent="editor", person_id=5, login="agent-owner"),
        "reason": "a bigger disk",
        "repository": manifest.Repository(id=7, name="acme/infra"),
        "base": manifest.Base(ref="main", sha=BASE),
        "owned": ("terraform/web/",),
        "target": manifest.Target(
            name="demo", runner_pool="demo", cluster_uid=None, vault_mount="pki", backend="folder"
        ),
        "source": SOURCE.described(),
        "plan": PLAN,
        "execution": EXECUTION,
        "policy_sha256": POLICY.sha256,
        "approvals_required": 1,
        "created_at": NOW - timedelta(hours=1),
        "expires_at": NOW + timedelta(hours=1),
        "nonce": "4" * 64,
    }
    return Manifest(**{**fields, **changes})


def a_job(**changes: Any) -> Job:
    """A job for a read of `report`, with some fields changed."""
    tool = POLICY.tool(changes.get("tool", "report"))
    fields: dict[str, Any] = {
        "id": "job-1",
        "kind": JobKind.READ,
        "request_id": REQUEST_ID,
        "at": NOW,
        "audit_tip": TIP,
        "audit_at_remembered": None,
        "tool": tool.name,
        "tool_digest": tool.sha256,
        "policy_sha256": POLICY.sha256,
        "arguments": {},
        "base": manifest.Base(ref="main", sha=BASE),
        "source": None,
        "manifest": None,
        "pull_request": None,
        "head_sha": None,
        "barred": (),
    }
    return Job(**{**fields, **changes})
