"""Reading Terraform's JSON with every number kept as it is written.

Terraform computes with numbers of any size; a reader that turns them into floats shows 1e400 as
infinity and 12345678901234567890 as a different number. Here a number that canonical JSON holds
exactly becomes an `int`, every other one a `plan.Number` with its text.
"""

from __future__ import annotations

import json
from typing import TypeAlias, cast

from policy import canonical
from policy.plan import Number
from policy.refusal import Code, Refused, refuse

Tree: TypeAlias = "bool | int | str | Number | list[Tree] | dict[str, Tree] | None"

LARGEST_DOCUMENT = 16 * 1024 * 1024
"""Bytes. Bigger plans are refused before they are parsed: nobody could review them either."""

DEEPEST_NESTING = 56
"""Levels. A little below `canonical.DEEPEST_NESTING`, since masking adds levels of its own."""

RESERVED = "$ownergate"
"""Names that start so are markers of the masked form; a plan that uses one is refused."""


def parse(document: bytes) -> Tree:
    """Reads one JSON document as it is written.

    Raises:
        Refused: `plan_invalid` when it is not JSON in UTF-8, says a name twice, nests too deep or
            uses a reserved name; `cannot_be_shown_whole` when it is larger than `LARGEST_DOCUMENT`.
    """
    if len(document) > LARGEST_DOCUMENT:
        raise refuse(
            Code.CANNOT_BE_SHOWN_WHOLE,
            f"the plan: its JSON is {len(document)} bytes",
            rule=f"A plan may have at most {LARGEST_DOCUMENT} bytes of JSON.",
            remedy="Split the module, and ask for each part.",
        )
    try:
        tree: Tree = json.loads(
            document.decode("utf-8"),
            object_pairs_hook=_named,
            parse_int=_number,
            parse_float=_number,
            parse_constant=_no_constant,
        )
    except UnicodeDecodeError:
        raise invalid("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise invalid(f"it is not JSON ({error.msg} at character {error.pos})") from None
    except RecursionError:
        raise _too_deep() from None
    _check_depth(tree, 0)
    return tree


def invalid(why: str) -> Refused:
    """The refusal for a plan that is not of the form that this version reads."""
    return refuse(
        Code.PLAN_INVALID,
        f"the plan: {why}",
        rule="What is not understood can't be shown, and what can't be shown can't be approved.",
        remedy="Plan with a Terraform version and features that ownergate reads (docs/plans.md lists them).",
    )


def _number(text: str) -> int | Number:
    # The length is looked at first: turning a million digits into an integer takes seconds.
    if len(text) <= 17 and text.removeprefix("-").isdigit():
        value = int(text)
        if abs(value) <= canonical.LARGEST_INTEGER and str(value) == text:
            return value
    return Number(text=text)


def _named(pairs: list[tuple[str, Tree]]) -> dict[str, Tree]:
    result: dict[str, Tree] = {}
    for name, value in pairs:
        if name in result:
            raise invalid(f"the name {name[:80]!r} stands twice")
        if name.startswith(RESERVED):
            raise invalid(
                f"it uses the name {name[:80]!r}, and names that start with {RESERVED} are reserved"
            )
        result[name] = value
    return result


def _no_constant(name: str) -> Tree:
    raise invalid(f"{name} is not JSON")


def _check_depth(tree: Tree, depth: int) -> None:
    if depth > DEEPEST_NESTING:
        raise _too_deep()
    if isinstance(tree, dict):
        for item in tree.values():
            _check_depth(item, depth + 1)
    elif isinstance(tree, list):
        for item in tree:
            _check_depth(item, depth + 1)


def _too_deep() -> Refused:
    return invalid(f"it is nested deeper than {DEEPEST_NESTING} levels")


def record(tree: Tree) -> dict[str, Tree]:
    """The tree as an object; a missing one is empty. Only for parts that `terraform_format` checked."""
    return cast("dict[str, Tree]", tree) if tree is not None else {}


def items(tree: Tree) -> list[Tree]:
    """The tree as a list; a missing one is empty. Only for parts that `terraform_format` checked."""
    return cast("list[Tree]", tree) if tree is not None else []


def text(tree: Tree) -> str:
    """The tree as text. Only for parts that `terraform_format` checked."""
    return cast("str", tree)
