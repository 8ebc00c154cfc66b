"""Loading a policy file: what a good one means, and that a bad one shows all of its mistakes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from policy import policy_file
from policy.policy_errors import PolicyErrors
from policy.states import Tier
from policy.tools import Network, Preview, StateAccess, Via
from tests.unit.policy import tool_examples as examples

DESIGN = """\
version: 1
defaults:
  {wait: 24h, plan_age: 24h, grant: 30m, sandbox: {cpu: 500m, memory: 512Mi, timeout: 2m, output: 256KiB}}
targets:
  demo: {runner: demo, vault: kubernetes, egress: [kubernetes]}
tools:
  k8s_get_pod_status:
    tier: read
    target: demo
    arguments: {namespace: {type: string, enum: [demo-app]}}
    run: {image: tools, argv: [kubectl, get, pods, --namespace, "{namespace}", --output, json]}
    credential: {role: pod-reader, namespace: "{namespace}", ttl: 10m}
  terraform_plan:
    tier: read
    target: demo
    arguments: {module: {type: string, pattern: "^[a-z0-9-]+(/[a-z0-9-]+)*$"}}
    source: terraform/{module}
    plan_file: plan.bin
    preview: terraform
    run: {image: tools, argv: [terraform, plan, -out=plan.bin]}
  terraform_apply:
    tier: destructive
    target: demo
    arguments: {module: {type: string, pattern: "^[a-z0-9-]+(/[a-z0-9-]+)*$"}}
    source: terraform/{module}
    plan: terraform_plan
    run:
      image: tools
      sandbox: {timeout: 20m}
      steps:                       # in order; the credential enters only where named
        - {argv: [terraform, init, -input=false, -lockfile=readonly]}
        - {argv: [terraform, apply, -input=false, plan.bin], credential: true}
    credential: {role: terraform-apply, ttl: 30m}   # must outlive the timeout and its grace
    approval:
      via: pull_request            # or: issue
      owned: terraform/{module}/   # whose owners decide
      required: 1
      rules: [{when: "plan.deletes + plan.replaces > 0", required: 2}]   # CEL
"""


ALL_MISTAKES = """\
policy/policy.yaml:5:3: tools.show: tier is missing. Allowed: tier, which has no default.
policy/policy.yaml:6:5: tools.show.teir: the key 'teir' is unknown. Allowed: title, description, tier, \
target, arguments, source, state, plan, plan_file, preview, run, environment, credential, \
approval, wait, plan_age, grant. Did you mean tier?
policy/policy.yaml:23:35: tools.plan.credential.ttl: the lease lives 1m, a call may take 130s. Allowed: at \
least 130s, the timeout and its grace.
policy/policy.yaml:37:36: tools.apply.credential.ttl: 'soon' stands here. Allowed: a duration such as \
90s, 30m, 24h or 7d.
policy/policy.yaml:41:17: tools.apply.approval.required: 0 stands here. Allowed: an integer from 1; with no \
approval anyone could act.
policy/policy.yaml:47:32: tools.forget.run.argv[0]: bash is a shell. Allowed: a program that does the work \
itself; an argv is never a shell line."""


def test_every_key_and_every_default_arrives() -> None:
    tool = examples.tool("apply")
    assert tool.tier is Tier.DESTRUCTIVE
    assert tool.title == "Apply"
    assert tool.target.base == "main"
    assert tool.target.providers == ("terraform.io/builtin/terraform",)
    assert tool.state is StateAccess.WRITE
    assert tool.plan == "plan"
    assert tool.limits.timeout_seconds == 600
    assert tool.limits.grace_seconds == 10
    assert tool.limits.memory_bytes == 512 << 20
    assert tool.limits.output_bytes == 256 << 10
    assert tool.limits.cpu_millis == 500
    assert [step.argv for step in tool.steps] == [("terraform", "init"), ("terraform", "apply", "plan.bin")]
    assert [step.credential for step in tool.steps] == [False, True]
    assert {step.network for step in tool.steps} == {Network.NONE}
    assert tool.credential is not None
    assert (tool.credential.role, tool.credential.ttl_seconds) == ("apply", 900)
    assert tool.approval is not None
    assert tool.approval.via is Via.PULL_REQUEST
    assert (tool.approval.required, tool.approval.rules[0].required) == (1, 2)
    assert not tool.approval.allow_self_approval
    assert (tool.wait_seconds, tool.plan_age_seconds, tool.grant_seconds) == (86_400, 86_400, 1_800)


def test_a_single_argv_is_one_step_with_the_credential() -> None:
    (step,) = examples.tool("show").steps
    assert step.credential
    (step,) = examples.tool("plan", examples.changed(("    credential: {role: plan, ttl: 5m}\n", ""))).steps
    assert not step.credential


def test_a_destructive_tool_takes_its_preview_from_its_planning_tool() -> None:
    policy = examples.load()
    assert policy.tools["apply"].preview is Preview.TERRAFORM
    assert policy.tools["forget"].preview is None
    assert policy.planning_tool(policy.tools["apply"]) is policy.tools["plan"]
    assert policy.planning_tool(policy.tools["forget"]) is None


def test_the_files_defaults_are_overridden_key_by_key() -> None:
    defaults = "defaults: {grant: 5m, sandbox: {timeout: 1m, memory: 1Gi}}\ntargets:\n"
    policy = examples.load(examples.changed(("targets:\n", defaults)))
    assert policy.tools["show"].limits.timeout_seconds == 60
    assert policy.tools["apply"].limits.timeout_seconds == 600
    assert policy.tools["apply"].limits.memory_bytes == 1 << 30
    assert policy.tools["apply"].grant_seconds == 300


def test_the_designs_example_is_valid() -> None:
    policy = policy_file.load(DESIGN)
    assert policy.targets["demo"].egress == ("kubernetes",)
    credential = policy.tools["k8s_get_pod_status"].credential
    assert credential is not None
    assert credential.parameters == {"namespace": "{namespace}"}


def test_via_issue_is_part_of_the_format() -> None:
    approval = examples.tool("forget", examples.changed(("{via: pull_request", "{via: issue"))).approval
    assert approval is not None
    assert approval.via is Via.ISSUE


def test_layout_and_comments_don_t_change_the_digest() -> None:
    spaced = "# a comment\n" + examples.POLICY.replace(
        "{role: show, ttl: 5m}", "\n      ttl: 5m\n      role: show"
    )
    assert examples.load(spaced).sha256 == examples.load().sha256
    assert (
        examples.load(examples.POLICY).sha256
        != examples.load(examples.changed(("ttl: 15m", "ttl: 16m"))).sha256
    )


def test_all_mistakes_of_a_file_are_shown_together_with_their_places() -> None:
    text = examples.changed(
        ("required: 1", "required: 0"),
        ("tier: read", "teir: read"),
        ("{role: plan, ttl: 5m}", "{role: plan, ttl: 1m}"),
        ("[rm,", "[bash,"),
        ("ttl: 15m", "ttl: soon"),
    )
    with pytest.raises(PolicyErrors) as caught:
        policy_file.load(text, name="policy/policy.yaml")
    shown = "\n".join(error.text() for error in caught.value.errors)
    assert shown == ALL_MISTAKES
    assert str(caught.value) == f"policy/policy.yaml has 6 mistakes:\n{shown}"
    assert caught.value.errors[0].as_json()["line"] == 5


def test_an_empty_file_and_a_file_without_tools_are_refused() -> None:
    for text, what in (
        ("", "the file is empty"),
        ("version: 1\n", "tools is missing"),
        ("version: 1\ntargets: {}\ntools: {}\n", "it is empty"),
        ("[]", "a list stands here"),
        ("text", "'text' stands here"),
    ):
        with pytest.raises(PolicyErrors, match=what):
            policy_file.load(text)


@pytest.mark.parametrize("key", ['"x\\ny"', '"a.b"', '"a[0]"', "ghp_" + "aB3" * 12, '""', '"tools"'])
@pytest.mark.parametrize("section", ["tools", "targets"])
def test_an_odd_key_is_a_mistake_on_one_line_and_never_a_crash(key: str, section: str) -> None:
    found = examples.mistakes((f"{section}:\n", f"{section}:\n  {key}: {{}}\n"))
    assert all(error.text().isprintable() for error in found)


def test_a_mistake_in_one_tool_doesn_t_hide_those_of_others() -> None:
    found = examples.mistakes(("tier: read", "tier: write"), ("[terraform, init]", "[terraform, '{nope}']"))
    assert [error.path for error in found] == ["tools.show.tier", "tools.apply.run.steps[0].argv[1]"]


def test_loading_without_conditions_doesn_t_import_cel() -> None:
    # A tool without rules must not cost the third of a second that cel-python takes to import.
    program = (
        "import sys; from policy import policy_file;"
        "policy_file.load(open(0).read());"
        "sys.exit(any(name in sys.modules for name in ('celpy', 'hcl2')))"
    )
    text = examples.changed(("      rules: [{when: plan.deletes + plan.replaces > 0, required: 2}]\n", ""))
    subprocess.run([sys.executable, "-c", program], input=text.encode(), check=True)
