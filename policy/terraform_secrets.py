"""Which values of a plan are sensitive, and where they stand again.

Terraform's own maps say which values are sensitive, but not everywhere: `nonsensitive()`, a
provider that copies an argument into another attribute, an error message or an instance key can
show the same value in clear. So the values are collected first, from every map of the document,
and then looked for by value.

By value are found texts of at least `SHORTEST_TEXT` characters, also inside longer texts and in the
escaped form that `jsonencode` gives them. Shorter texts, numbers and booleans are hidden by the maps
alone: hiding every `1` or `on` would hide the plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from policy.refusal import Code, refuse
from policy.terraform_json import Tree, items, record

SHORTEST_TEXT = 4


MOST_WORK = 10_000_000
"""Steps of searching, seconds at most. A plan made of secrets that almost match everywhere would
otherwise keep a runner busy for hours."""


class Secrets:
    """The sensitive texts of one plan, to be searched for. Its `repr` shows none of them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_start: dict[str, list[str]] = {}
        for text in sorted(texts, key=lambda item: (-len(item), item)):
            self._by_start.setdefault(text[:SHORTEST_TEXT], []).append(text)
        self._work = 0

    def find(self, text: str) -> tuple[tuple[int, int], ...]:
        """The stretches of the text that hold sensitive values: (start, end), in order, not touching.

        Raises:
            Refused: `cannot_be_shown_whole` when all searches together took more than `MOST_WORK`.
        """
        stretches: list[tuple[int, int]] = []
        for start in range(len(text) - SHORTEST_TEXT + 1):
            for secret in self._by_start.get(text[start : start + SHORTEST_TEXT], ()):
                self._spend(1 + len(secret) // 64)
                if text.startswith(secret, start):
                    end = start + len(secret)
                    if stretches and stretches[-1][1] >= start:
                        stretches[-1] = (stretches[-1][0], max(end, stretches[-1][1]))
                    else:
                        stretches.append((start, end))
                    break  # The longest comes first; shorter ones lie within it.
        return tuple(stretches)

    def _spend(self, steps: int) -> None:
        self._work += steps
        if self._work > MOST_WORK:
            raise refuse(
                Code.CANNOT_BE_SHOWN_WHOLE,
                "the plan: it has too many sensitive texts that look alike to search for all of them",
                rule="A plan is shown only when every sensitive value in it was looked for.",
                remedy="Split the module, and ask for each part.",
            )


def collect(plan: dict[str, Tree]) -> Secrets:
    """Collects the sensitive values from every part of a plan that `terraform_format.read` has read."""
    texts: set[str] = set()
    for value, marks in _marked(plan):
        _gather(value, marks, texts)
    return Secrets(texts)


def contradicts(value: Tree, marks: Tree) -> bool:
    """Whether marks can't belong to the value; it is then treated as sensitive as a whole."""
    if marks is None or isinstance(marks, bool) or marks == {} or marks == []:
        return False
    if isinstance(marks, dict):
        return value is not None and not isinstance(value, dict)
    if isinstance(marks, list):
        return value is not None and (not isinstance(value, list) or len(value) != len(marks))
    return True


def _marked(plan: dict[str, Tree]) -> Iterator[tuple[Tree, Tree]]:
    """Every (value, marks) pair of the document."""
    changes = [
        record(record(item)["change"])
        for part in ("resource_changes", "resource_drift")
        for item in items(plan.get(part))
    ]
    changes += [record(change) for change in record(plan.get("output_changes")).values()]
    for change in changes:
        yield change.get("before"), change.get("before_sensitive")
        yield change.get("after"), change.get("after_sensitive")
    yield from _marked_in_state(record(plan.get("planned_values")))
    yield from _marked_in_state(record(record(plan.get("prior_state")).get("values")))
    root = record(record(plan["configuration"]).get("root_module"))
    declared = record(root.get("variables"))
    for name, variable in record(plan.get("variables")).items():
        if record(declared.get(name)).get("sensitive"):
            yield record(variable).get("value"), True
    yield from _marked_in_configuration(root)


def _marked_in_state(values: dict[str, Tree]) -> Iterator[tuple[Tree, Tree]]:
    for output in record(values.get("outputs")).values():
        yield record(output).get("value"), record(output)["sensitive"]
    modules = [record(values.get("root_module"))]
    while modules:
        module = modules.pop()
        for resource in items(module.get("resources")):
            yield record(resource).get("values"), record(resource).get("sensitive_values")
        modules += [record(child) for child in items(module.get("child_modules"))]


def _marked_in_configuration(module: dict[str, Tree]) -> Iterator[tuple[Tree, Tree]]:
    for variable in record(module.get("variables")).values():
        if record(variable).get("sensitive"):
            yield record(variable).get("default"), True
    for output in record(module.get("outputs")).values():
        expression = record(output).get("expression")
        if record(output).get("sensitive") and isinstance(expression, dict):
            yield expression.get("constant_value"), True
    for call in record(module.get("module_calls")).values():
        inner = record(record(call).get("module"))
        given = record(record(call).get("expressions"))
        for name, variable in record(inner.get("variables")).items():
            expression = given.get(name)
            if record(variable).get("sensitive") and isinstance(expression, dict):
                yield expression.get("constant_value"), True
        yield from _marked_in_configuration(inner)


def _gather(value: Tree, marks: Tree, texts: set[str]) -> None:
    whole = marks is True or contradicts(value, marks)
    if isinstance(value, dict):
        for name, item in value.items():
            if whole:
                _gather(name, True, texts)
            _gather(item, True if whole else marks.get(name) if isinstance(marks, dict) else None, texts)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _gather(
                item, True if whole else marks[index] if isinstance(marks, list) and marks else None, texts
            )
    elif whole and isinstance(value, str) and len(value) >= SHORTEST_TEXT:
        texts |= _forms(value)


def _forms(text: str) -> set[str]:
    """The text itself and as it stands inside JSON, plain and as Terraform's `jsonencode` escapes it."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    escaped = plain
    for character in "<>&\u2028\u2029":
        escaped = escaped.replace(character, f"\\u{ord(character):04x}")
    return {text, plain, escaped}
