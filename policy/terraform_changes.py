"""From the masked form of a Terraform plan to `plan.Plan`.

Reads only the masked form, never the plan itself, so the bot can do it too: it never holds the
plan. What it says is bound by the digest of the masked form, which stands in the manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import cast

from policy import attribute_paths, canonical, terraform_markers
from policy.attribute_paths import Path
from policy.plan import (
    Action,
    AttributeChange,
    CheckResult,
    Masked,
    OutputChange,
    PartlyMasked,
    Plan,
    ResourceChange,
    Summary,
    Unknown,
    Value,
    Variable,
)
from policy.refusal import Code, Refused, refuse
from policy.terraform_format import FLAG, FREE, INTEGER, TEXT, TEXTS, Many, Named, Record, conform
from policy.terraform_json import RESERVED, Tree, invalid, items, record, text

_CHANGE = Record(
    required={"actions": TEXTS, "before": FREE, "after": FREE, "replace_paths": Many(of=Many(of=FREE))},
    optional={"importing": FREE},
)

_RESOURCE = Record(
    required={"address": TEXT, "mode": TEXT, "type": TEXT, "provider_name": TEXT, "change": _CHANGE},
    optional={"previous_address": TEXT, "deposed": TEXT, "action_reason": TEXT},
)

MASKED = Record(
    required={
        "kind": TEXT,
        "masked_format": INTEGER,
        "format_version": TEXT,
        "terraform_version": TEXT,
        "timestamp": TEXT,
        "applyable": FLAG,
        "complete": FLAG,
        "errored": FLAG,
        "variables": Named(of=FREE),
        "resource_changes": Many(of=_RESOURCE),
        "resource_drift": Many(of=_RESOURCE),
        "output_changes": Named(of=_CHANGE),
        "checks": Many(of=Record(required={"address": TEXT, "status": TEXT, "problems": Many(of=FREE)})),
    },
)
"""The masked form, whole: what `terraform_mask.mask` writes and nothing else."""

ACTIONS: Mapping[tuple[str, ...], Action] = MappingProxyType(
    {
        ("no-op",): Action.NO_OP,
        ("create",): Action.CREATE,
        ("read",): Action.READ,
        ("update",): Action.UPDATE,
        ("delete",): Action.DELETE,
        ("delete", "create"): Action.REPLACE,
        ("create", "delete"): Action.REPLACE,
        ("forget",): Action.FORGET,
    }
)
"""Terraform's action lists ("Change Representation" in its JSON output format)."""


def read(masked: bytes) -> Plan:
    """Reads the masked form of one plan.

    Raises:
        Refused: `json_invalid` or `plan_invalid` when it is not what `mask` writes; `plan_incomplete`
            when the plan failed, leaves something for later, or can't be applied as it stands.
    """
    tree = cast("Tree", canonical.parse(masked, what="the masked plan"))
    conform(tree, MASKED, where="")
    plan = record(tree)
    if plan["kind"] != "terraform" or plan["masked_format"] != 1:
        raise invalid("it is not a masked Terraform plan of version 1")
    if plan["errored"]:
        raise incomplete("planning it failed")
    if not plan["complete"]:
        raise incomplete("it leaves changes for a later plan")
    resources = _worst_first(map(_resource, items(plan["resource_changes"])))
    drift = _worst_first(map(_resource, items(plan["resource_drift"])))
    outputs = tuple(
        _output(name, record(item)) for name, item in sorted(record(plan["output_changes"]).items())
    )
    summary = _summary(resources, drift, outputs)
    if plan["applyable"] is not summary.changes_anything:
        raise incomplete(
            "Terraform says that it can be applied, but it shows no change (a refresh-only plan does that)"
            if plan["applyable"]
            else "it shows changes, but Terraform says that it can't be applied"
        )
    return Plan(
        kind="terraform",
        summary=summary,
        resources=resources,
        drift=drift,
        outputs=outputs,
        variables=tuple(_variable(name, item) for name, item in sorted(record(plan["variables"]).items())),
        checks=tuple(sorted(map(_check, items(plan["checks"])), key=lambda check: check.address)),
        engine_version=text(plan["terraform_version"]),
        planned_at=text(plan["timestamp"]),
        masked=_count_hidden(tree),
    )


def incomplete(why: str) -> Refused:
    """The refusal for a plan that is not the whole of what would happen."""
    return refuse(
        Code.PLAN_INCOMPLETE,
        f"the plan: {why}",
        rule="People approve only a plan that says everything that will happen.",
        remedy="Fix the module so that one plan completes, and ask again.",
    )


def _worst_first(changes: Iterable[ResourceChange]) -> tuple[ResourceChange, ...]:
    return tuple(sorted(changes, key=lambda item: (item.action.severity, item.address, item.deposed or "")))


def _resource(tree: Tree) -> ResourceChange:
    resource = record(tree)
    change = record(resource["change"])
    action = _action(change)
    previous = resource.get("previous_address")
    imported = _leaf(change["importing"]) if "importing" in change else None
    if action is Action.NO_OP and imported is not None:
        action = Action.IMPORT
    elif action is Action.NO_OP and previous is not None:
        action = Action.MOVE
    return ResourceChange(
        address=text(resource["address"]),
        previous_address=None if previous is None else text(previous),
        deposed=_optional(resource, "deposed"),
        type=text(resource["type"]),
        provider=text(resource["provider_name"]),
        action=action,
        reason=_optional(resource, "action_reason"),
        imported=imported,
        attributes=_attributes(change, action),
        create_before_destroy=items(change["actions"]) == ["create", "delete"],
    )


def _optional(tree: dict[str, Tree], name: str) -> str | None:
    return text(tree[name]) if name in tree else None


def _action(change: dict[str, Tree]) -> Action:
    words = tuple(text(word) for word in items(change["actions"]))
    if words not in ACTIONS:
        raise invalid(f"it has the action {'/'.join(words)[:80]!r}, which ownergate does not know")
    return ACTIONS[words]


def _attributes(change: dict[str, Tree], action: Action) -> tuple[AttributeChange, ...]:
    if action is Action.FORGET:
        # Nothing happens to the object itself: only the state loses sight of it.
        return ()
    return attribute_paths.compare(
        terraform_markers.decode(change["before"]),
        terraform_markers.decode(change["after"]),
        forcing=[_path(path) for path in items(change["replace_paths"])],
    )


def _path(steps: Tree) -> Path:
    path = tuple(step for step in items(steps) if isinstance(step, str | int) and not isinstance(step, bool))
    if len(path) != len(items(steps)):
        raise invalid("a path in replace_paths has a step that is neither a name nor an index")
    return path


def _output(name: str, change: dict[str, Tree]) -> OutputChange:
    attributes = attribute_paths.compare(
        terraform_markers.decode(change["before"]), terraform_markers.decode(change["after"]), root=(name,)
    )
    return OutputChange(
        name=name,
        action=_action(change),
        attributes=attributes,
        sensitive=any(attribute.sensitive for attribute in attributes),
    )


def _variable(name: str, value: Tree) -> Variable:
    found = attribute_paths.leaves(terraform_markers.decode(value), (name,))
    return Variable(
        name=name, leaves=tuple((attribute_paths.write(path), leaf) for path, leaf in found.items())
    )


def _check(tree: Tree) -> CheckResult:
    check = record(tree)
    return CheckResult(
        address=text(check["address"]),
        status=text(check["status"]),
        problems=tuple(_leaf(problem) for problem in items(check["problems"])),
    )


def _leaf(tree: Tree) -> Value:
    """A text, whole or in part hidden.

    Raises:
        Refused: `plan_invalid` for anything else.
    """
    value = terraform_markers.decode(tree)
    if isinstance(value, str | Masked | PartlyMasked | Unknown):
        return value
    raise invalid("a text is not text")


def _summary(
    resources: tuple[ResourceChange, ...],
    drift: tuple[ResourceChange, ...],
    outputs: tuple[OutputChange, ...],
) -> Summary:
    def count(action: Action) -> int:
        return sum(resource.action is action for resource in resources)

    return Summary(
        creates=count(Action.CREATE),
        updates=count(Action.UPDATE),
        deletes=count(Action.DELETE),
        replaces=count(Action.REPLACE),
        reads=count(Action.READ),
        forgets=count(Action.FORGET),
        moves=sum(resource.previous_address is not None for resource in resources),
        imports=sum(resource.imported is not None for resource in resources),
        outputs=len(outputs),
        drifted=len(drift),
    )


def _count_hidden(tree: Tree) -> int:
    """How many values were taken out, in all the parts that are shown."""
    if isinstance(tree, dict):
        if tree.get(RESERVED) == "sensitive":
            return 1
        names = sum(terraform_markers.hidden_ordinal(name) is not None for name in tree)
        return names + sum(map(_count_hidden, tree.values()))
    if isinstance(tree, list):
        return sum(map(_count_hidden, tree))
    return 0
