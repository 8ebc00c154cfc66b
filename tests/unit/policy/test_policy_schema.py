"""The schema, what is generated from it, and that it says the same as the loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from policy import policy_file, policy_reference
from policy.policy_schema import SANDBOX_DEFAULTS, SCHEMA
from policy.tool_schema import DEFAULTS
from tests.unit.policy import tool_examples as examples

ROOT = Path(__file__).resolve().parents[3]


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert policy_file.SCHEMA is SCHEMA


def test_the_schema_in_the_docs_is_this_one() -> None:
    written = json.loads((ROOT / "docs/policy.schema.json").read_text("utf-8"))
    assert written == SCHEMA, "write docs/policy.schema.json from policy.policy_schema.SCHEMA again"


def test_the_reference_in_the_docs_is_written_from_the_schema() -> None:
    page = (ROOT / "docs/policy.md").read_text("utf-8")
    begin, end = page.index(policy_reference.BEGIN), page.index(policy_reference.END)
    written = page[begin : end + len(policy_reference.END)] + "\n"
    assert written == policy_reference.markdown(), "write the tables from policy.policy_reference again"


def test_the_example_in_the_docs_is_valid() -> None:
    page = (ROOT / "docs/policy.md").read_text("utf-8")
    example = page.split("```yaml\n", 1)[1].split("```", 1)[0]
    assert set(policy_file.load(example).tools) == {"terraform_plan", "terraform_apply"}


def test_every_key_has_a_meaning() -> None:
    for path, declared in _keys(SCHEMA, ""):
        assert "$ref" in declared or declared.get("description"), path


def test_every_object_is_closed() -> None:
    for path, schema in _objects(SCHEMA, ""):
        assert schema.get("additionalProperties", True) is not True, path


def test_the_declared_defaults_are_the_ones_that_are_used() -> None:
    tool = examples.tool("show")
    assert (DEFAULTS["wait"], tool.wait_seconds) == ("24h", 86_400)
    assert (SANDBOX_DEFAULTS["processes"], tool.limits.processes) == (256, 256)
    assert (SANDBOX_DEFAULTS["work"], tool.limits.work_bytes) == ("256Mi", 256 << 20)


@pytest.mark.parametrize("text", [examples.POLICY, (ROOT / "policy/policy.yaml").read_text("utf-8")])
def test_an_editor_with_the_schema_alone_takes_good_files(text: str) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(yaml.safe_load(text))


def _keys(schema: Any, path: str) -> list[tuple[str, Any]]:
    found = []
    if isinstance(schema, dict):
        for name, declared in schema.get("properties", {}).items():
            found.append((f"{path}.{name}", declared))
        for name, inside in schema.items():
            found += _keys(inside, f"{path}.{name}")
    return found


def _objects(schema: Any, path: str) -> list[tuple[str, Any]]:
    found = []
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            found.append((path, schema))
        for name, inside in schema.items():
            found += _objects(inside, f"{path}.{name}")
    return found
