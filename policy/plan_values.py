"""Values of a plan as text, each in a form that no other value has.

| value | form |
|---|---|
| text | in quotes, as JSON writes it: `"a\\nb"` |
| number, `true`, `false`, `null`, `[]`, `{}` | as it is |
| sensitive | `(sensitive 1)`; for one attribute the same number is the same value |
| text with sensitive stretches | `"user:" + (sensitive 1) + "@host"` |
| known only after the change | `(known after apply)` |
| no value | `(none)` |
"""

from __future__ import annotations

import difflib
import json

from policy.inert_text import visible, visible_ascii
from policy.plan import Absent, AttributeChange, Masked, Number, PartlyMasked, Unknown, Value

MOST_LINES_COMPARED = 400
"""Texts with more lines are shown one after the other: finding common lines takes quadratic time."""


def write(value: Value) -> str:
    """One value on one line, visible and unambiguous."""
    match value:
        case Masked(ordinal=ordinal):
            return f"(sensitive {ordinal})"
        case PartlyMasked(parts=parts):
            return " + ".join(write(part) for part in parts)
        case Unknown():
            return "(known after apply)"
        case Absent():
            return "(none)"
        case Number(text=text):
            return visible_ascii(text)
        case _:
            return visible(json.dumps(value, ensure_ascii=False))


def change_lines(change: AttributeChange) -> list[str]:
    """One attribute's change, for a fence: one line, or several for texts that have lines.

    The first character says what happens: `+` new, `-` gone, `~` changed, `!` forces a replacement.
    """
    path = visible_ascii(change.path)
    cause = "   <- forces the replacement" if change.forces_replacement else ""
    added, removed = isinstance(change.before, Absent), isinstance(change.after, Absent)
    mark = "!" if change.forces_replacement else "+" if added else "-" if removed else "~"
    if _has_lines(change.before) or _has_lines(change.after):
        lines = _line_changes(change.before, change.after)
        shown = lines if mark in "~!" else [line for line in lines if line[4] == mark]
        return [f"{mark} {path}:{cause}", *shown]
    if added and not removed:
        return [f"{mark} {path}: {write(change.after)}{cause}"]
    if removed and not added:
        return [f"{mark} {path}: {write(change.before)} -> (none){cause}"]
    return [f"{mark} {path}: {write(change.before)} -> {write(change.after)}{cause}"]


def _has_lines(value: Value) -> bool:
    return isinstance(value, str) and "\n" in value


def _line_changes(before: Value, after: Value) -> list[str]:
    """Two values below each other; where both are texts, their common lines stand once."""
    old, new = _lines(before), _lines(after)
    if (
        not (isinstance(before, str) and isinstance(after, str))
        or max(len(old), len(new)) > MOST_LINES_COMPARED
    ):
        return [f"    - {line}" for line in old] + [f"    + {line}" for line in new]
    lines: list[str] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += [f"      {line}" for line in old[a:b]]
        else:
            lines += [f"    - {line}" for line in old[a:b]] + [f"    + {line}" for line in new[c:d]]
    return lines


def _lines(value: Value) -> list[str]:
    """The lines of a text, each in quotes, so that an empty or a blank one shows; else the value."""
    if isinstance(value, str):
        return [write(line) for line in value.split("\n")]
    return [write(value)]
