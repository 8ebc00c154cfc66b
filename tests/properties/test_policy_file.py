"""Properties of the policy file: whatever stands in it, the answer is a policy or a list of mistakes."""

from __future__ import annotations

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policy import policy_file, policy_yaml
from policy.policy_errors import PolicyError, PolicyErrors
from tests.unit.policy import tool_examples as examples

# cel-python raises the interpreter's recursion limit when it is imported, which hypothesis must not see
# happen in the middle of an example.
examples.load()

LINES = examples.POLICY.splitlines(keepends=True)
PIECES = st.sampled_from(
    [
        "",
        "  x: 1\n",
        "    - a\n",
        "yes\n",
        "{",
        "}",
        "[",
        ": ",
        "&a ",
        "*a",
        "!!x ",
        "'",
        '"',
        "\t",
        "- ",
        "\u202e",
        "0",
    ]
)
SCALARS = st.one_of(st.integers(), st.booleans(), st.none(), st.text(max_size=10), st.just("{module}"))
CONTENT = st.recursive(
    SCALARS,
    lambda inside: st.one_of(
        st.lists(inside, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "version",
                    "defaults",
                    "targets",
                    "tools",
                    "run",
                    "argv",
                    "tier",
                    "approval",
                    "credential",
                    "a",
                ]
            ),
            inside,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


def mistakes(text: str) -> tuple[PolicyError, ...]:
    """What is wrong with a text; nothing when it is a policy. Any other exception is a fault."""
    try:
        policy_file.load(text)
    except PolicyErrors as caught:
        return caught.errors
    return ()


def outcome(text: str) -> None:
    """Either a policy comes, or every mistake has a place in the file and words for people."""
    lines = text.count("\n") + 1
    for error in mistakes(text):
        assert 1 <= error.line <= lines + 1
        assert error.column >= 1
        assert error.what
        assert error.allowed
        assert "\n" not in error.text()


@given(st.integers(0, len(LINES) - 1), st.integers(0, 60), PIECES)
@settings(max_examples=80, deadline=None)
def test_a_file_with_one_piece_put_in_is_never_a_crash(line: int, column: int, piece: str) -> None:
    changed = LINES[line][:column] + piece + LINES[line][column:]
    outcome("".join([*LINES[:line], changed, *LINES[line + 1 :]]))


@given(st.integers(0, len(LINES) - 1), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_a_file_without_some_lines_is_never_a_crash(line: int, count: int) -> None:
    outcome("".join([*LINES[:line], *LINES[line + count :]]))


@given(CONTENT)
@settings(max_examples=80, deadline=None)
def test_any_other_content_is_never_a_crash(content: object) -> None:
    outcome(yaml.safe_dump({"version": 1, "targets": content, "tools": content}, allow_unicode=True))
    outcome(yaml.safe_dump(content, allow_unicode=True))


@given(CONTENT)
@settings(max_examples=200)
def test_what_the_strict_reader_takes_every_reader_takes_alike(content: object) -> None:
    text = yaml.safe_dump(content, allow_unicode=True)
    try:
        read = policy_yaml.plain(policy_yaml.read(text, name="x"))
    except PolicyErrors:
        return
    assert read == yaml.safe_load(text)
