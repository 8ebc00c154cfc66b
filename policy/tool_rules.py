"""Whether one declared tool makes sense in itself: what a schema of single keys can't say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from policy import argument_schema, conditions, durations, paths, step_rules, templates
from policy.policy_errors import Mistake, Path
from policy.states import Tier
from policy.tools import StateAccess, Tool

RESERVED: Final = ("cancel_request", "check_request", "list_requests", "sandbox_status")
"""Names of tools that the MCP server serves itself."""

RESERVED_ARGUMENTS: Final = ("expect", "idempotency_key", "reason", "source", "wait_seconds")
"""Names that stand beside the arguments in a call."""

LONGEST_TIMEOUT: Final = 6 * 3600
"""Seconds that one call may take at most."""

LONGEST_LEASE: Final = 24 * 3600
"""Seconds that a lease may live at most."""

MOST_CPU: Final = 64_000
"""Thousandths of a core at most."""

_PATH_WILDCARDS: Final = frozenset("*?[]!#")


def mistakes(tool: Tool, content: Mapping[str, Any]) -> Iterator[Mistake]:
    """What is wrong with a tool, seen from its entry in the file.

    Args:
        tool: the tool as built.
        content: its declaration in the file, for what the built tool no longer shows.
    """
    if tool.name in RESERVED:
        yield Mistake((), "the MCP server has a tool of this name", f"any name but {', '.join(RESERVED)}")
    for name, declared in content.get("arguments", {}).items():
        if name in RESERVED_ARGUMENTS:
            allowed = f"any name but {', '.join(RESERVED_ARGUMENTS)}"
            yield Mistake(("arguments", name), f"every call has {name} beside its arguments", allowed)
        for wrong in argument_schema.mistakes(declared):
            yield wrong._replace(where=("arguments", name, *wrong.where))
    yield from _tier(tool, content)
    yield from step_rules.mistakes(tool, short="argv" in content["run"])
    yield from _source(tool)
    yield from _limits(tool)
    yield from _credential(tool)
    yield from _approval(tool)


def _tier(tool: Tool, content: Mapping[str, Any]) -> Iterator[Mistake]:
    if tool.tier is Tier.READ:
        yield from _read_tool(tool, content)
        return
    for key, why in (
        ("approval", "with no rule nobody could approve"),
        ("credential", "without one, nothing but the runner would hold the tool back"),
    ):
        if key not in content:
            yield Mistake((), f"a destructive tool has no {key}", f"{key}; {why}")
    for key in ("plan_file", "preview"):
        if key in content:
            yield Mistake((key,), f"a destructive tool has {key}", f"{key} on the read tool that plan names")


def _read_tool(tool: Tool, content: Mapping[str, Any]) -> Iterator[Mistake]:
    for key in ("approval", "plan", "wait", "plan_age", "grant"):
        if key in content:
            yield Mistake((key,), f"a read tool has {key}", f"{key} on destructive tools only")
    if tool.state is StateAccess.WRITE:
        yield Mistake(("state",), "a read tool writes state", "none, read")
    if (tool.plan_file is None) is not (tool.preview is None):
        yield Mistake((), "plan_file and preview stand apart", "both on a planning tool, neither on another")
    if tool.plan_file is not None and tool.source is None:
        yield Mistake((), "a planning tool has no source", "source, the folder that is planned")


def _source(tool: Tool) -> Iterator[Mistake]:
    where: Path = ("source",)
    if tool.source is not None:
        yield from step_rules.template(tool, where, tool.source)
        yield from _repository_path(where, tool.source)
        if tool.source.startswith("{") and not tool.source.startswith("{{"):
            yield Mistake(where, "an argument alone chooses the folder", "a fixed folder first: work/{name}")
    if tool.state is not StateAccess.NONE and tool.target.state is None:
        what = f"the target {tool.target.name} has no state"
        yield Mistake(("state",), what, "none, or state on the target")


def _repository_path(where: Path, template: str) -> Iterator[Mistake]:
    try:
        example = "".join(part if isinstance(part, str) else "x" for part in templates.split(template))
    except ValueError:
        return
    reason = paths.problem(example)
    if reason is None and _PATH_WILDCARDS & set(example):
        reason = "it holds a character that CODEOWNERS reads as a pattern"
    if reason is None and paths.is_record(example):
        reason = f"it leads into {paths.RECORDS}"
    if reason is not None:
        yield Mistake(where, f"the path can't be used: {reason}", "a path in the repository: work/{name}")


def _limits(tool: Tool) -> Iterator[Mistake]:
    limits = tool.limits
    where: Path = ("run", "sandbox")
    if limits.timeout_seconds > LONGEST_TIMEOUT:
        what = f"the timeout is {durations.show(limits.timeout_seconds)}"
        yield Mistake((*where, "timeout"), what, f"at most {durations.show(LONGEST_TIMEOUT)}")
    if limits.cpu_millis > MOST_CPU:
        yield Mistake((*where, "cpu"), f"it asks for {limits.cpu_millis}m of CPU", f"at most {MOST_CPU}m")
    if limits.work_bytes > limits.memory_bytes:
        what = "the work folder, which is held in memory, is larger than the memory"
        yield Mistake(where, what, "work up to memory")


def _credential(tool: Tool) -> Iterator[Mistake]:
    rule = tool.credential
    if rule is None:
        return
    for key, template in rule.parameters.items():
        yield from step_rules.template(tool, ("credential", key), template)
    where: Path = ("credential", "ttl")
    life = durations.show(rule.ttl_seconds)
    needed = tool.limits.timeout_seconds + tool.limits.grace_seconds
    if rule.ttl_seconds < needed:
        what = f"the lease lives {life}, a call may take {durations.show(needed)}"
        yield Mistake(where, what, f"at least {durations.show(needed)}, the timeout and its grace")
    if rule.ttl_seconds > LONGEST_LEASE:
        yield Mistake(where, f"the lease lives {life}", f"at most {durations.show(LONGEST_LEASE)}")


def _approval(tool: Tool) -> Iterator[Mistake]:
    rule = tool.approval
    if rule is None:
        return
    where: Path = ("approval", "owned")
    yield from step_rules.template(tool, where, rule.owned)
    yield from _repository_path(where, rule.owned.removesuffix("/"))
    acting = _acting_placeholders(tool)
    for name in _placeholders(rule.owned):
        if name in step_rules.arguments(tool) and name not in acting:
            what = f"{{{name}}} chooses who approves, and nothing else"
            yield Mistake(where, what, "placeholders that source, a step or credential uses too")
    for index, raised in enumerate(rule.rules):
        at: Path = ("approval", "rules", index)
        if raised.required <= rule.required:
            what = f"the rule asks for {raised.required}, which is asked for anyway"
            yield Mistake((*at, "required"), what, f"more than {rule.required}")
        try:
            conditions.check(
                raised.when, has_plan=tool.plan is not None, arguments=step_rules.arguments(tool)
            )
        except conditions.ConditionError as error:
            yield Mistake((*at, "when"), f"the condition can't be used: {error}", "CEL that is true or false")


def _acting_placeholders(tool: Tool) -> frozenset[str]:
    """The arguments that decide what happens, or where."""
    acting = [element for step in tool.steps for element in step.argv]
    acting += [tool.source] if tool.source is not None else []
    acting += list(tool.credential.parameters.values()) if tool.credential is not None else []
    return frozenset(name for template in acting for name in _placeholders(template))


def _placeholders(template: str) -> tuple[str, ...]:
    try:
        return templates.placeholders(template)
    except ValueError:
        return ()
