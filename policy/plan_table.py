"""The table of changes, worst first, each with its cause in plain words.

A table is an overview: it names every resource it lists, and shortens values and lists of
attributes openly. What is approved stands whole in the document below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import assert_never

from policy.inert_text import code, value_code
from policy.plan import Absent, Action, AttributeChange, ResourceChange
from policy.plan_values import write

DESTROYING = frozenset({Action.DELETE, Action.REPLACE, Action.FORGET})
"""Actions that every reader must see, however large the plan is."""

_LONGEST_VALUE = 60
_MOST_CAUSES = 3
_MOST_ATTRIBUTES = 4

WORDS: Mapping[Action, str] = MappingProxyType(
    {
        Action.DELETE: "**DELETE**",
        Action.REPLACE: "**REPLACE**",
        Action.FORGET: "**FORGET**",
        Action.UPDATE: "update",
        Action.CREATE: "create",
        Action.IMPORT: "import",
        Action.MOVE: "move",
        Action.READ: "read",
        Action.NO_OP: "nothing",
    }
)

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "replace_because_cannot_update": "a change that can't be made in place",
        "replace_because_tainted": "the last apply left it broken (tainted)",
        "replace_by_request": "the plan was told to replace it",
        "replace_by_triggers": "something in its `replace_triggered_by` changed",
        "delete_because_no_resource_config": "it is no longer in the source",
        "delete_because_wrong_repetition": "the source uses `count` or `for_each` differently now",
        "delete_because_count_index": "`count` is smaller now",
        "delete_because_each_key": "its key is no longer in `for_each`",
        "delete_because_no_module": "its module is no longer in the source",
        "delete_because_no_move_target": "a `moved` block points to nothing",
        "read_because_config_unknown": "its arguments are not known yet",
        "read_because_dependency_pending": "it depends on a change of this plan",
        "read_because_check_nested": "a check reads it",
    }
)
"""Terraform's reasons ("action_reason" in its JSON output format) in words."""


def table(resources: Iterable[ResourceChange]) -> list[str]:
    """The lines of the table, in the order of the resources.

    The cause stands under the resource, not beside it: a third column is out of sight on a phone.
    """
    return [
        "| What | Resource, and why |",
        "| --- | --- |",
        *(f"| {WORDS[item.action]} | {_line(item)} |" for item in resources),
    ]


def reason(word: str) -> str:
    """The engine's reason in words, or the word itself when it is a new one."""
    return REASONS.get(word) or code(word)


def _line(resource: ResourceChange) -> str:
    why = _why(resource)
    return f"{_name(resource)}<br>{why}" if why else _name(resource)


def _name(resource: ResourceChange) -> str:
    name = code(resource.address)
    if resource.deposed is not None:
        name += f" (left over from an unfinished replacement, {code(resource.deposed)})"
    return name


def _why(resource: ResourceChange) -> str:
    clauses: list[str] = []
    match resource.action:
        case Action.REPLACE:
            clauses += _causes(resource)
            clauses.append(
                "the new one is made before the old one goes"
                if resource.create_before_destroy
                else "**destroyed first**, then made anew"
            )
        case Action.DELETE:
            clauses += [reason(resource.reason)] if resource.reason else []
        case Action.FORGET:
            clauses.append("the object stays, but nothing manages it any more")
        case Action.UPDATE | Action.READ:
            clauses.append(_attributes(resource.attributes))
        case Action.CREATE | Action.IMPORT | Action.MOVE | Action.NO_OP:
            pass
        case _:
            assert_never(resource.action)
    if resource.previous_address is not None:
        clauses.append(f"moves from {code(resource.previous_address)}")
    if resource.imported is not None:
        clauses.append(f"takes over the existing object {_short(write(resource.imported))}")
    return "; ".join(clause for clause in clauses if clause)


def _causes(resource: ResourceChange) -> list[str]:
    forcing = [change for change in resource.attributes if change.forces_replacement]
    told = [_cause(change) for change in forcing[:_MOST_CAUSES]]
    if len(forcing) > _MOST_CAUSES:
        told.append(f"and {len(forcing) - _MOST_CAUSES} more")
    if not told:
        told.append(reason(resource.reason) if resource.reason else "the plan does not say why")
    elif resource.reason not in (None, "replace_because_cannot_update"):
        told.append(reason(str(resource.reason)))
    return told


def _cause(change: AttributeChange) -> str:
    before, after = write(change.before), write(change.after)
    if isinstance(change.before, Absent) and isinstance(change.after, Absent):
        return f"{code(change.path)} forces it"
    if change.sensitive:
        return f"{code(change.path)} changes, a sensitive value"
    if len(before) > _LONGEST_VALUE or len(after) > _LONGEST_VALUE:
        return f"{code(change.path)} changes"
    return f"{code(change.path)} changes from {value_code(before)} to {value_code(after)}"


def _attributes(changes: tuple[AttributeChange, ...]) -> str:
    told = ", ".join(code(change.path) for change in changes[:_MOST_ATTRIBUTES])
    more = len(changes) - _MOST_ATTRIBUTES
    return f"{told} and {more} more" if more > 0 else told


def _short(shown: str) -> str:
    return value_code(shown if len(shown) <= _LONGEST_VALUE else shown[:_LONGEST_VALUE] + "⟦…⟧")
