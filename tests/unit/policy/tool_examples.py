"""A small policy file that several tests start from, and what is wrong with a changed one."""

from __future__ import annotations

import pytest

from policy import policy_file
from policy.policy_errors import PolicyError, PolicyErrors
from policy.tools import Policy, Tool

POLICY = """\
version: 1
targets:
  demo: {runner: demo, vault: pki, state: folder, providers: [terraform.io/builtin/terraform]}
tools:
  show:
    tier: read
    target: demo
    arguments:
      name: {type: string, pattern: "^[a-z.-]+$", maxLength: 20}
      lines: {type: integer, minimum: 1, maximum: 100, default: 10}
      follow: {type: boolean, default: false}
    run: {image: tools, argv: [head, "--lines={lines}", "{name}"]}
    credential: {role: show, ttl: 5m}
  plan:
    tier: read
    target: demo
    arguments: {module: {type: string, pattern: "^[a-z-]+$"}}
    source: terraform/{module}
    state: read
    plan_file: plan.bin
    preview: terraform
    run: {image: tools, argv: [terraform, plan, -out=plan.bin]}
    credential: {role: plan, ttl: 5m}
  apply:
    tier: destructive
    target: demo
    arguments: {module: {type: string, pattern: "^[a-z-]+$"}}
    source: terraform/{module}
    state: write
    plan: plan
    run:
      image: tools
      sandbox: {timeout: 10m}
      steps:
        - {argv: [terraform, init]}
        - {argv: [terraform, apply, plan.bin], credential: true}
    credential: {role: apply, ttl: 15m}
    approval:
      via: pull_request
      owned: terraform/{module}/
      required: 1
      rules: [{when: plan.deletes + plan.replaces > 0, required: 2}]
  forget:
    tier: destructive
    target: demo
    arguments: {module: {type: string, pattern: "^[a-z-]+$"}}
    run: {image: tools, argv: [rm, "{module}"]}
    credential: {role: forget, ttl: 5m}
    approval: {via: pull_request, owned: "terraform/{module}/", required: 2}
"""


def load(text: str = POLICY) -> Policy:
    """The policy of a text that has no mistake."""
    return policy_file.load(text)


def tool(name: str, text: str = POLICY) -> Tool:
    """One tool of such a text."""
    return load(text).tools[name]


def changed(*changes: tuple[str, str]) -> str:
    """The example with each first text replaced by the second, once; a text that isn't there is a fault."""
    text = POLICY
    for before, after in changes:
        if before not in text:
            raise LookupError(f"the example holds no {before!r}")
        text = text.replace(before, after, 1)
    return text


def mistakes(*changes: tuple[str, str]) -> tuple[PolicyError, ...]:
    """What is wrong with the changed example."""
    with pytest.raises(PolicyErrors) as caught:
        load(changed(*changes))
    return caught.value.errors


def only_mistake(*changes: tuple[str, str]) -> PolicyError:
    """The single mistake of the changed example."""
    found = mistakes(*changes)
    if len(found) != 1:
        raise LookupError("\n".join(error.text() for error in found))
    return found[0]
