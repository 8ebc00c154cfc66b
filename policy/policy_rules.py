"""Whether the tools and targets of one file fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from policy import branches
from policy.policy_errors import Mistake, Path
from policy.states import Tier
from policy.tools import StateAccess, Target, Tool

SWEEPER_SUFFIX: Final = "-sweeper"
"""Ends the subject of a pool's sweeper, which revokes leases that a crash left behind."""

_STS_MOUNTS: Final = ("aws", "sts")
_REVOCABLE: Final = (
    "a mount whose leases can be revoked; those of STS can't, and they need egress by name, which comes later"
)


def targets(declared: Mapping[str, Target]) -> Iterator[Mistake]:
    """What is wrong with targets."""
    for name, target in declared.items():
        if target.vault.split("/")[0] in _STS_MOUNTS:
            what = f"{target.vault} is a mount of AWS STS"
            yield Mistake(("targets", name, "vault"), what, _REVOCABLE)
        if target.runner.endswith(SWEEPER_SUFFIX):
            what = f"{target.runner} would be the name of another pool's sweeper"
            yield Mistake(("targets", name, "runner"), what, f"a name without {SWEEPER_SUFFIX} at its end")
        if branches.problem(target.base) is not None:
            yield Mistake(
                ("targets", name, "base"), f"{target.base} is no branch name", "a branch such as main"
            )


def plans(tools: Mapping[str, Tool]) -> Iterator[Mistake]:
    """What is wrong between tools and the planning tools that they name; unknown names are left out."""
    for name, tool in tools.items():
        planning = tools.get(tool.plan) if tool.plan is not None else None
        if planning is None or tool.tier is not Tier.DESTRUCTIVE:
            continue
        where: Path = ("tools", name, "plan")
        if planning.plan_file is None or planning.preview is None or planning.tier is not Tier.READ:
            yield Mistake(where, f"{planning.name} makes no plan", "a read tool with plan_file and preview")
            continue
        if planning.target != tool.target:
            yield Mistake(
                where, f"{planning.name} plans for {planning.target.name}", f"a tool of {tool.target.name}"
            )
        if planning.source != tool.source:
            yield Mistake(where, f"{planning.name} plans another source", f"source {planning.source} on both")
        if planning.arguments != tool.arguments or planning.allowances != tool.allowances:
            yield Mistake(where, f"{planning.name} takes other arguments", "the same arguments on both")
        if planning.state is StateAccess.READ and tool.state is not StateAccess.WRITE:
            yield Mistake(where, f"{planning.name} reads a state that this tool can't write", "state: write")
        if not any(planning.plan_file in step.argv for step in tool.steps):
            what = f"no step takes the plan {planning.plan_file}, so something else than the plan would run"
            yield Mistake(where, what, f"an element {planning.plan_file} in a step's argv")


def roles(tools: Mapping[str, Tool]) -> Iterator[Mistake]:
    """Roles that would give one tool the rights of another."""
    holders: dict[str, Tool] = {}
    for name, tool in tools.items():
        if tool.credential is None:
            continue
        role = tool.credential.role
        first = holders.setdefault(role, tool)
        if first is tool:
            continue
        where: Path = ("tools", name, "credential", "role")
        if Tier.DESTRUCTIVE in (first.tier, tool.tier):
            yield Mistake(
                where, f"{role} is the role of {first.name}", "a role of its own for every destructive tool"
            )
        elif (first.target.vault, first.target.runner) != (tool.target.vault, tool.target.runner):
            what = f"{role} is a role of another mount or runner, for {first.name}"
            yield Mistake(where, what, "one mount and one runner for a role")
