"""Places and paths in a policy file."""

from __future__ import annotations

import pytest

from policy import policy_document, policy_yaml
from policy.policy_document import Document
from policy.policy_errors import Path

TEXT = "a:\n  b: [1, {c: 2}]\nd: x\n"


@pytest.fixture(name="document")
def _document() -> Document:
    root = policy_yaml.read(TEXT, name="p.yaml")
    return Document(name="p.yaml", root=root, content=policy_yaml.plain(root))


@pytest.mark.parametrize(
    ("path", "key", "place"),
    [
        ((), False, (1, 1)),
        (("d",), False, (3, 4)),
        (("d",), True, (3, 1)),
        (("a", "b", 0), False, (2, 7)),
        (("a", "b", 1, "c"), False, (2, 14)),
        (("a", "b", 1, "c"), True, (2, 11)),
    ],
)
def test_a_mistake_stands_where_its_value_or_key_stands(
    document: Document, path: Path, key: bool, place: tuple[int, int]
) -> None:
    error = document.error(path, "what", "allowed", key=key)
    assert (error.line, error.column) == place


@pytest.mark.parametrize("path", [("a", "nope"), ("a", "b", 7), ("d", "x"), ("a", "b", 1, "c", 0)])
def test_what_isn_t_there_is_placed_at_the_nearest_that_is(document: Document, path: Path) -> None:
    error = document.error(path, "what", "allowed")
    assert error.line in (2, 3)


def test_paths_are_shown_with_dots_and_brackets() -> None:
    assert policy_document.show(("tools", "x", "argv", 2, "y")) == "tools.x.argv[2].y"
    assert policy_document.show(()) == ""


def test_a_key_that_is_a_secret_is_not_shown() -> None:
    assert policy_document.show(("tools", "ghp_" + "aB3" * 12)) == "tools.(a secret)"


def test_the_nearest_name_is_found_or_none() -> None:
    assert policy_document.nearest("aprooval", ["approval", "plan"]) == "approval"
    assert policy_document.nearest("zzz", ["approval", "plan"]) is None
    assert policy_document.nearest("x", []) is None


def test_every_text_is_listed_with_its_path(document: Document) -> None:
    assert list(document.texts()) == [
        (("a",), "a"),
        (("a", "b"), "b"),
        (("a", "b", 1, "c"), "c"),
        (("d",), "d"),
        (("d",), "x"),
    ]
