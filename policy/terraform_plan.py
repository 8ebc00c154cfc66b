"""Terraform plans: the four things that the rest of ownergate does with one.

The runner calls `check` and `mask` on the JSON of a saved plan, which it alone has. Bot and runner
call `read` on the masked form, and everything shown or counted comes from that. `structure` is what
the agent that asked may see.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from policy import terraform_changes, terraform_mask, terraform_refusals
from policy.canonical import Json
from policy.plan import Plan, ResourceChange

mask = terraform_mask.mask
read = terraform_changes.read
check = terraform_refusals.check

_INSTANCE_KEY = re.compile(r'\["(?:[^"\\]|\\.)*"\]')
_TOP_LEVEL = re.compile(r"[A-Za-z0-9_-]+")


def public_address(address: str) -> str:
    """An address as the agent may see it: instance keys that are texts are data, and are left out."""
    return _INSTANCE_KEY.sub('["…"]', address)


def structure(plan: Plan) -> dict[str, Json]:
    """What the agent may know of a plan of source that no owner has reviewed: shapes, no values.

    Attribute names are cut to the first step, since what follows can be data (names in a map), and
    so can instance keys. Resources that look alike after that are counted.
    """
    return {
        "summary": plan.summary.as_json(),
        "verdict": plan.summary.verdict(),
        "resources": _alike([_shape(resource) for resource in plan.resources]),
        "drift": _alike([_shape(resource) for resource in plan.drift]),
        "outputs": [{"name": output.name, "action": output.action.value} for output in plan.outputs],
        "checks_not_passed": [public_address(check.address) for check in plan.checks],
    }


def _shape(resource: ResourceChange) -> tuple[str, str, str | None, tuple[str, ...], tuple[str, ...]]:
    return (
        resource.action.value,
        public_address(resource.address),
        None if resource.previous_address is None else public_address(resource.previous_address),
        _names(change.path for change in resource.attributes),
        _names(resource.causes),
    )


def _names(paths: Iterable[str]) -> tuple[str, ...]:
    found = (_TOP_LEVEL.match(path) for path in paths)
    return tuple(sorted({match[0] for match in found if match}))


def _alike(shapes: list[tuple[str, str, str | None, tuple[str, ...], tuple[str, ...]]]) -> list[Json]:
    return [
        {
            "action": action,
            "address": address,
            "previous_address": previous,
            "attributes": list(attributes),
            "forced_by": list(causes),
            "count": count,
        }
        for (action, address, previous, attributes, causes), count in Counter(shapes).items()
    ]
