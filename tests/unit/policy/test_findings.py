"""How lists of names read, and that every reason's code is written down for people."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from policy.findings import FindingCode, some

APPROVAL_PAGE = Path(__file__).parents[3] / "docs" / "approval.md"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b, c and 1 more"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
        (["é\u202e\n\x1b[2K"], "é\\u202e\\n\\x1b[2K"),
    ],
)
def test_lists_are_read_as_people_write_them(names: list[str], text: str) -> None:
    assert some(names) == text


def test_the_documentation_lists_every_code_once_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \|", APPROVAL_PAGE.read_text(), flags=re.MULTILINE)
    assert sorted(rows) == sorted(FindingCode)
