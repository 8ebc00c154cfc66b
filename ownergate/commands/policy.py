"""`ownergate policy`: checks a policy file and explains what a call would do, with the code that decides."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from policy.tools import Policy

POLICY = click.option(
    "--policy",
    "policy_path",
    type=click.Path(path_type=Path),
    default=Path("policy/policy.yaml"),
    show_default=True,
    metavar="FILE",
    help="The policy file.",
)


@click.group(
    epilog="""
\b
Examples:
  ownergate policy check
  ownergate policy explain terraform_apply module=web
  ownergate policy explain terraform_apply module=web --plan replaces=2
  ownergate policy test expectations.yaml
  ownergate policy schema > policy.schema.json
"""
)
def policy() -> None:
    """Check the policy, explain what a call would do."""


@policy.command()
@POLICY
@click.option("--json", "as_json", is_flag=True, help="Mistakes as JSON.")
def check(policy_path: Path, *, as_json: bool) -> None:
    """Check the file: every mistake with its line, what is allowed there and the nearest name."""
    from policy import policy_file
    from policy.policy_errors import PolicyErrors

    try:
        loaded = policy_file.load(_text(policy_path), name=str(policy_path))
    except PolicyErrors as wrong:
        if as_json:
            click.echo(json.dumps({"valid": False, "mistakes": [m.as_json() for m in wrong.errors]}))
        else:
            click.echo(str(wrong), err=True)
        sys.exit(1)
    names = sorted(loaded.tools)
    if as_json:
        click.echo(json.dumps({"valid": True, "tools": names, "sha256": loaded.sha256}))
    else:
        click.echo(
            f"{policy_path} is valid: {len(names)} tools ({', '.join(names)}), digest {loaded.sha256}."
        )


@policy.command()
@POLICY
@click.argument("tool")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--plan", "counts", multiple=True, metavar="COUNT=N", help="Suppose a plan, e.g. replaces=2.")
@click.option("--json", "as_json", is_flag=True, help="The explanation as JSON.")
def explain(
    policy_path: Path, tool: str, arguments: tuple[str, ...], counts: tuple[str, ...], *, as_json: bool
) -> None:
    """Say what one call would run, with which lease, and who would have to approve it."""
    from policy import explanation

    call = {name: _value(text) for name, text in map(_pair, arguments)}
    plan = _counts(dict(map(_pair, counts))) if counts else None
    explained = explanation.explain(_load(policy_path), tool, call, plan=plan)
    click.echo(json.dumps(explained.as_json()) if as_json else explained.text(), nl=as_json)


@policy.command()
@POLICY
@click.argument("expectations", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def test(policy_path: Path, expectations: Path) -> None:
    """Check expectations about calls, from a YAML file.

    \b
    - {tool: terraform_apply, arguments: {module: web}, plan: {replaces: 2}, approvals: 2}
    - {tool: terraform_apply, arguments: {module: ../x}, refused: arguments_invalid}
    """
    import yaml

    loaded = _load(policy_path)
    cases = yaml.safe_load(expectations.read_text("utf-8"))
    if not isinstance(cases, list) or not cases:
        raise click.ClickException(f"{expectations} holds no list of expectations.")
    failed = 0
    for number, case in enumerate(cases, 1):
        wrong = _mismatch(loaded, case)
        failed += bool(wrong)
        click.echo(f"{'FAILED' if wrong else 'ok':<7} {number}  {case.get('tool')}  {wrong}".rstrip())
    click.echo(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


@policy.command()
def schema() -> None:
    """Print the JSON Schema of the policy file, for editors."""
    from policy import policy_file

    click.echo(json.dumps(policy_file.SCHEMA, indent=2))


def _mismatch(loaded: Policy, case: dict[str, Any]) -> str:
    from policy import explanation
    from policy.refusal import Refused

    unknown = set(case) - {"tool", "arguments", "plan", "approvals", "refused"}
    if unknown or "tool" not in case or ("approvals" in case) == ("refused" in case):
        raise click.ClickException(
            f"the expectation {case!r} needs: tool, one of approvals and refused; arguments, plan"
        )
    try:
        plan = _counts(case["plan"]) if "plan" in case else None
        explained = explanation.explain(loaded, case["tool"], case.get("arguments", {}), plan=plan)
    except Refused as refused:
        code = refused.refusal.code.value
        return "" if code == case.get("refused") else f"refused with {code}: {refused.refusal.what}"
    if "refused" in case:
        return f"not refused, expected {case['refused']}"
    approval = explained.approval
    needed = 0 if approval is None else approval.for_plan.count if approval.for_plan else approval.required
    return "" if needed == case["approvals"] else f"{needed} approvals, expected {case['approvals']}"


def _counts(given: dict[str, Any]) -> dict[str, int]:
    from dataclasses import fields

    from policy.plan import Summary

    names = [field.name for field in fields(Summary)]
    unknown = sorted(set(given) - set(names))
    if unknown or not all(str(count).isdecimal() for count in given.values()):
        raise click.ClickException(f"a plan is counts of {', '.join(names)}; got {given!r}")
    return {name: int(given.get(name, 0)) for name in names}


def _load(path: Path) -> Policy:
    from policy import policy_file

    return policy_file.load(_text(path), name=str(path))


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise click.ClickException(f"The policy file {path} can't be read: {error.strerror}.") from None


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.ClickException(f"{text!r} is not of the form NAME=VALUE.")
    return name, value


def _value(text: str) -> Any:
    # An agent sends JSON; on the command line `3` and `true` mean the number and the truth value.
    return json.loads(text) if text in {"true", "false"} or text.lstrip("-").isdecimal() else text
