"""Everything in docs/refusals.md names a test that shows it, and stable codes: all of them exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from policy.findings import FindingCode
from policy.refusal import Code
from policy.states import State

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs" / "refusals.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in TABLE.splitlines()
    if line.startswith("| ") and not line.startswith("| what |")
]
CODES = {str(code.value) for kind in (Code, FindingCode, State) for code in kind}


@cache
def functions_of(path: str) -> frozenset[str]:
    """The names of a file's test functions."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions))


def test_the_table_is_read() -> None:
    assert len(ROWS) > 100
    assert all(len(row) == 3 for row in ROWS), [row for row in ROWS if len(row) != 3]


@pytest.mark.parametrize("row", ROWS, ids=[re.sub(r"\W+", "-", row[0])[:60] for row in ROWS])
def test_each_refusal_has_a_test_that_exists(row: list[str]) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row[-1])
    assert named
    for path, name in named:
        assert (ROOT / path).is_file(), path
        assert name in functions_of(path), f"{path} has no {name}"


def test_each_code_exists() -> None:
    named = {word for row in ROWS for word in re.findall(r"`([a-z]+(?:_[a-z]+)*)`", row[1])}
    assert named
    assert named <= CODES, named - CODES
