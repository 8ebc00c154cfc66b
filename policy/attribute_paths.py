"""Paths inside a resource, and the comparison of two trees leaf by leaf.

A tree is taken apart into its leaves: scalars, markers and empty containers, each with its path.
Two trees differ where their leaves differ; nothing is summed up, so nothing hides in a summary.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import cast

from policy.plan import Absent, AttributeChange, Masked, PartlyMasked, Unknown, Value
from policy.terraform_markers import Marked, hidden_ordinal

Path = tuple[str | int, ...]
Leaves = dict[Path, Value]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def leaves(tree: Marked, root: Path = ()) -> Leaves:
    """The leaves of a tree by path, below `root`."""
    found: Leaves = {}
    _collect(tree, root, found)
    return found


def compare(
    before: Marked, after: Marked, *, forcing: Iterable[Path] = (), root: Path = ()
) -> tuple[AttributeChange, ...]:
    """The attributes that differ between two trees, in the order of their paths.

    A side that is null as a whole (before a creation, after a deletion) has no leaves, and nulls on
    the other side are then not told. A container that is unknown or hidden as a whole stands for
    each of the leaves that the other side has in it. A path that forces a replacement is told even
    when its value is the same.

    Args:
        forcing: the paths that force the replacement, without `root`.
        root: what the paths start with.
    """
    old_leaves = leaves(before, root) if before is not None else {}
    new_leaves = leaves(after, root) if after is not None else {}
    forced = [(*root, *path) for path in forcing]
    one_sided = before is None or after is None
    containers = _prefixes(old_leaves) | _prefixes(new_leaves)
    changes: list[AttributeChange] = []
    for path in sorted(old_leaves.keys() | new_leaves.keys() | set(forced), key=_order):
        if path in containers:
            continue  # Its leaves are told one by one.
        old, new = _value(old_leaves, path), _value(new_leaves, path)
        forces = any(_touch(path, cause) for cause in forced)
        if not forces and (_same(old, new) or (one_sided and (old is None or new is None))):
            continue
        if _same(old, new) and path not in forced:
            continue
        changes.append(
            AttributeChange(
                path=write(path),
                before=old,
                after=new,
                forces_replacement=forces,
                sensitive=any(isinstance(value, Masked | PartlyMasked) for value in (old, new)),
            )
        )
    return tuple(changes)


def write(path: Path) -> str:
    """A path as Terraform writes it: `tags["Name"]`, `disk[0].size`; a hidden name is `[(sensitive 1)]`."""
    written = ""
    for step in path:
        if isinstance(step, int):
            written += f"[{step}]"
        elif (ordinal := hidden_ordinal(step)) is not None:
            written += f"[(sensitive {ordinal})]"
        elif _IDENTIFIER.fullmatch(step):
            written += f".{step}" if written else step
        else:
            written += f"[{json.dumps(step, ensure_ascii=False)}]"
    return written


def _collect(tree: Marked, path: Path, found: Leaves) -> None:
    if isinstance(tree, dict) and tree:
        for name, item in tree.items():
            _collect(item, (*path, name), found)
    elif isinstance(tree, list) and tree:
        for index, item in enumerate(tree):
            _collect(item, (*path, index), found)
    else:
        found[path] = cast("Value", tree)


def _same(old: Value, new: Value) -> bool:
    """Equality that tells `true` from `1`."""
    return type(old) is type(new) and old == new


def _touch(path: Path, cause: Path) -> bool:
    """Whether one of the two paths lies on the other."""
    shorter = min(len(path), len(cause))
    return path[:shorter] == cause[:shorter]


def _prefixes(found: Leaves) -> set[Path]:
    """Every path that has a leaf below it."""
    return {path[:length] for path in found for length in range(len(path))}


def _value(found: Leaves, path: Path) -> Value:
    """The leaf at a path, or what a container above it says as a whole: unknown or hidden."""
    if path in found:
        return found[path]
    for length in reversed(range(len(path))):
        whole = found.get(path[:length])
        if isinstance(whole, Masked | Unknown):
            return whole
    return Absent()


def _order(path: Path) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, step, "") if isinstance(step, int) else (1, 0, step) for step in path)
