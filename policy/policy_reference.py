"""The reference of `policy.yaml` as Markdown tables, written from the schema.

`docs/policy.md` holds it between two marks; a test compares, so the page can't say something else than
the schema does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from policy.policy_schema import SCHEMA

BEGIN: Final = "<!-- The tables below are written from the schema. -->"
END: Final = "<!-- End of the tables. -->"

_SECTIONS: Final = (
    ("The file", ()),
    ("`defaults`", ("properties", "defaults")),
    ("A target", ("$defs", "target")),
    ("A tool", ("$defs", "tool")),
    ("An argument", ("$defs", "argument")),
    ("`run`", ("$defs", "run")),
    ("A step of `run.steps`", ("$defs", "run", "properties", "steps", "items")),
    ("`sandbox`", ("$defs", "sandbox")),
    ("`credential`", ("$defs", "credential")),
    ("`approval`", ("$defs", "approval")),
    ("A rule of `approval.rules`", ("$defs", "approval", "properties", "rules", "items")),
)


def markdown() -> str:
    """The tables, between their marks."""
    parts = [BEGIN]
    for title, path in _SECTIONS:
        schema: Any = SCHEMA
        for step in path:
            schema = schema[step]
        parts += ["", f"### {title}", "", schema["description"], "", *_table(schema)]
    return "\n".join([*parts, "", END]) + "\n"


def _table(schema: Any) -> Iterator[str]:
    yield "| key | form | default | meaning |"
    yield "|---|---|---|---|"
    for name, declared in schema["properties"].items():
        whole = _resolve(declared)
        meaning = whole.get("description", "").replace("|", "\\|")
        yield f"| `{name}` | {_form(whole)} | {_default(schema, name, whole)} | {meaning} |"


def _resolve(declared: Any) -> Any:
    if "$ref" in declared:
        whole: Any = SCHEMA
        for step in declared["$ref"].removeprefix("#/").split("/"):
            whole = whole[step]
        return whole
    return declared


def _default(schema: Any, name: str, declared: Any) -> str:
    if name in schema["required"]:
        return "required"
    if "default" not in declared:
        return "–"
    value = declared["default"]
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _form(declared: Any) -> str:
    if "const" in declared:
        return f"`{declared['const']}`"
    if "enum" in declared:
        return " or ".join(f"`{value}`" for value in declared["enum"])
    types = declared["type"]
    names = {"string": "text", "object": "mapping", "array": "list", "boolean": "true or false"}
    text = " or ".join(names.get(name, name) for name in ([types] if isinstance(types, str) else types))
    if "minimum" in declared and "maximum" in declared:
        text += f", {declared['minimum']} to {declared['maximum']}"
    if types == "array" and "enum" in declared["items"]:
        text += " of " + ", ".join(f"`{value}`" for value in declared["items"]["enum"])
    return text
