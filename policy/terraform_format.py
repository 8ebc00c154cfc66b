"""The parts of `terraform show -json` that are known, as one table.

Source: Terraform 1.11, packages `jsonplan`, `jsonstate`, `jsonconfig`, `jsonchecks`, and "JSON
Output Format" in HashiCorp's documentation. A name that is not in the table is refused, whatever
the minor version of the format: a part that nobody here knows could be the part that does harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias, assert_never

from policy.terraform_json import Tree, invalid, parse


class Leaf(Enum):
    """What a leaf of the format may be. `FREE` is data of providers and authors, of any shape."""

    TEXT = auto()
    FLAG = auto()
    INTEGER = auto()
    FREE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Many:
    """A list of one kind of part; null counts as empty."""

    of: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An object whose names the author chose, each holding one kind of part; null counts as empty."""

    of: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An object whose names the format defines."""

    required: Mapping[str, Part] = field(default_factory=dict)
    optional: Mapping[str, Part] = field(default_factory=dict)


Part: TypeAlias = Leaf | Many | Named | Record

TEXT, FLAG, INTEGER, FREE = Leaf.TEXT, Leaf.FLAG, Leaf.INTEGER, Leaf.FREE
TEXTS = Many(of=TEXT)

CHANGE = Record(
    required={"actions": TEXTS},
    optional={
        "before": FREE,
        "after": FREE,
        "after_unknown": FREE,
        "before_sensitive": FREE,
        "after_sensitive": FREE,
        "replace_paths": Many(of=Many(of=FREE)),
        "importing": Record(optional={"id": TEXT, "unknown": FLAG}),
    },
)

RESOURCE_CHANGE = Record(
    required={"address": TEXT, "mode": TEXT, "type": TEXT, "provider_name": TEXT, "change": CHANGE},
    optional={
        "name": TEXT,
        "index": FREE,
        "previous_address": TEXT,
        "module_address": TEXT,
        "deposed": TEXT,
        "action_reason": TEXT,
    },
)

_STATE_RESOURCE = Record(
    required={"address": TEXT, "mode": TEXT, "type": TEXT, "provider_name": TEXT},
    optional={
        "name": TEXT,
        "index": FREE,
        "schema_version": INTEGER,
        "values": FREE,
        "sensitive_values": FREE,
        "depends_on": TEXTS,
        "tainted": FLAG,
        "deposed_key": TEXT,
    },
)

_state_module: dict[str, Part] = {"address": TEXT, "resources": Many(of=_STATE_RESOURCE)}
_state_module["child_modules"] = Many(of=Record(optional=_state_module))

_STATE_VALUES = Record(
    optional={
        "outputs": Named(of=Record(required={"sensitive": FLAG}, optional={"type": FREE, "value": FREE})),
        "root_module": Record(optional=_state_module),
    },
)

_CHECK_ADDRESS = Record(
    required={"to_display": TEXT},
    optional={
        "kind": TEXT,
        "module": TEXT,
        "mode": TEXT,
        "type": TEXT,
        "name": TEXT,
        "instance_key": FREE,
    },
)

_CHECKS = Many(
    of=Record(
        required={"address": _CHECK_ADDRESS, "status": TEXT},
        optional={
            "instances": Many(
                of=Record(
                    required={"address": _CHECK_ADDRESS, "status": TEXT},
                    optional={"problems": Many(of=Record(optional={"message": TEXT}))},
                )
            )
        },
    )
)

_EXPRESSIONS = Named(of=FREE)

_CONFIGURED_RESOURCE = Record(
    required={"address": TEXT, "mode": TEXT, "type": TEXT},
    optional={
        "name": TEXT,
        "provider_config_key": TEXT,
        "provisioners": Many(of=Record(optional={"type": TEXT, "expressions": FREE})),
        "expressions": _EXPRESSIONS,
        "schema_version": INTEGER,
        "count_expression": FREE,
        "for_each_expression": FREE,
        "depends_on": TEXTS,
    },
)

_configured_module: dict[str, Part] = {
    "outputs": Named(
        of=Record(
            optional={
                "sensitive": FLAG,
                "ephemeral": FLAG,
                "expression": FREE,
                "depends_on": TEXTS,
                "description": TEXT,
            },
        )
    ),
    "resources": Many(of=_CONFIGURED_RESOURCE),
    "variables": Named(
        of=Record(
            optional={
                "type": FREE,
                "default": FREE,
                "description": TEXT,
                "sensitive": FLAG,
                "ephemeral": FLAG,
            },
        )
    ),
}
_configured_module["module_calls"] = Named(
    of=Record(
        optional={
            "source": TEXT,
            "expressions": _EXPRESSIONS,
            "count_expression": FREE,
            "for_each_expression": FREE,
            "module": Record(optional=_configured_module),
            "version_constraint": TEXT,
            "depends_on": TEXTS,
        },
    )
)

_PROVIDER_CONFIG = Record(
    required={"full_name": TEXT},
    optional={
        "name": TEXT,
        "alias": TEXT,
        "version_constraint": TEXT,
        "module_address": TEXT,
        "expressions": _EXPRESSIONS,
    },
)

PLAN = Record(
    required={
        "format_version": TEXT,
        "terraform_version": TEXT,
        "configuration": Record(
            optional={
                "provider_config": Named(of=_PROVIDER_CONFIG),
                "root_module": Record(optional=_configured_module),
            }
        ),
        "applyable": FLAG,
        "complete": FLAG,
        "errored": FLAG,
    },
    optional={
        "variables": Named(of=Record(optional={"value": FREE})),
        "planned_values": _STATE_VALUES,
        "resource_drift": Many(of=RESOURCE_CHANGE),
        "resource_changes": Many(of=RESOURCE_CHANGE),
        "deferred_changes": FREE,
        "deferred_action_invocations": FREE,
        "action_invocations": FREE,
        "output_changes": Named(of=CHANGE),
        "prior_state": Record(
            required={"format_version": TEXT},
            optional={"terraform_version": TEXT, "values": _STATE_VALUES, "checks": _CHECKS},
        ),
        "checks": _CHECKS,
        "relevant_attributes": Many(of=Record(optional={"resource": TEXT, "attribute": FREE})),
        "timestamp": TEXT,
    },
)

PLAN_MAJOR = "1"
"""The major version of the plan format and of the state format inside it. 0.2 is older than 1.1."""


def read(document: bytes) -> dict[str, Tree]:
    """Parses `terraform show -json` and refuses whatever is not in the table.

    Raises:
        Refused: `plan_invalid`, or `cannot_be_shown_whole` when it is too large.
    """
    tree = parse(document)
    conform(tree, PLAN, where="")
    if not isinstance(tree, dict):
        raise invalid("it is not an object")
    _check_version(tree["format_version"], "format_version")
    state = tree.get("prior_state")
    if isinstance(state, dict):
        _check_version(state["format_version"], "prior_state.format_version")
    return tree


def _check_version(version: Tree, where: str) -> None:
    if not isinstance(version, str) or version.partition(".")[0] != PLAN_MAJOR:
        raise invalid(f"{where} is {version!r}, and only versions {PLAN_MAJOR}.x are read")


def conform(tree: Tree, part: Part, *, where: str) -> None:
    """Refuses a tree that is not of the part's shape.

    Args:
        where: the place of the tree, for the error: `resource_changes[3].change`.

    Raises:
        Refused: `plan_invalid`, naming the place.
    """
    match part:
        case Leaf():
            _conform_leaf(tree, part, where)
        case Many(of=inner):
            if tree is None:
                return
            if not isinstance(tree, list):
                raise invalid(f"{where} is not a list")
            for index, item in enumerate(tree):
                conform(item, inner, where=f"{where}[{index}]")
        case Named(of=inner):
            if tree is None:
                return
            if not isinstance(tree, dict):
                raise invalid(f"{where} is not an object")
            for name, item in tree.items():
                conform(item, inner, where=f"{where}.{name[:80]}")
        case Record():
            _conform_record(tree, part, where)
        case _:
            assert_never(part)


def _conform_record(tree: Tree, part: Record, where: str) -> None:
    if not isinstance(tree, dict):
        raise invalid(f"{where or 'it'} is not an object")
    for name in part.required:
        if name not in tree:
            raise invalid(f"{_join(where, name)} is missing")
    for name, item in tree.items():
        inner = part.required.get(name) or part.optional.get(name)
        if inner is None:
            raise invalid(f"{_join(where, name[:80])} is a part that ownergate does not know")
        conform(item, inner, where=_join(where, name))


def _conform_leaf(tree: Tree, leaf: Leaf, where: str) -> None:
    match leaf:
        case Leaf.TEXT:
            fits = isinstance(tree, str)
        case Leaf.FLAG:
            fits = isinstance(tree, bool)
        case Leaf.INTEGER:
            fits = isinstance(tree, int) and not isinstance(tree, bool)
        case Leaf.FREE:
            fits = True
        case _:
            assert_never(leaf)
    if not fits:
        raise invalid(f"{where} is not {'a flag' if leaf is Leaf.FLAG else leaf.name.lower()}")


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
