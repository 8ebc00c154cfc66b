"""Characters that don't show are shown, and text can't leave its place."""

from __future__ import annotations

import pytest

from policy import inert_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Grüße, 日本, Привет → ok", "Grüße, 日本, Привет → ok"),
        ("\x1b[2K", "⟦U+001B⟧[2K"),
        ("a\nb\r\t\0", "a⟦U+000A⟧b⟦U+000D⟧⟦U+0009⟧⟦U+0000⟧"),
        ("\u202egnp.exe", "⟦U+202E⟧gnp.exe"),
        ("\u2066\u2069\u200b\u200d\u00ad\ufeff", "⟦U+2066⟧⟦U+2069⟧⟦U+200B⟧⟦U+200D⟧⟦U+00AD⟧⟦U+FEFF⟧"),
        ("\u2028\u2029\u0085", "⟦U+2028⟧⟦U+2029⟧⟦U+0085⟧"),
        ("e\u0301", "e⟦U+0301⟧"),
        ("\u05d0", "⟦U+05D0⟧"),
        ("\ufe0f\U000e0041\u3164\u2800", "⟦U+FE0F⟧⟦U+E0041⟧⟦U+3164⟧⟦U+2800⟧"),
        ("⟦U+202E⟧", "⟦U+27E6⟧U+202E⟦U+27E7⟧"),
        ("a" + " " * 33 + "b", "a⟦33 spaces⟧b"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert inert_text.visible(text) == shown


def test_names_show_ascii_alone() -> None:
    assert inert_text.visible_ascii("pаypal") == "p⟦U+0430⟧ypal"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a.b", "`a.b`"),
        ("", "`⟦empty⟧`"),
        (" a  b ", "`⟦U+0020⟧a⟦U+0020⟧⟦U+0020⟧b⟦U+0020⟧`"),
        ("`|`", "`⟦U+0060⟧⟦U+007C⟧⟦U+0060⟧`"),
    ],
)
def test_code(text: str, span: str) -> None:
    assert inert_text.code(text) == span


def test_a_fence_is_longer_than_any_run_of_backticks() -> None:
    assert inert_text.fence(["a ```` b", "```"], info="text") == "`````text\na ```` b\n```\n`````"


def test_long_lines_are_continued() -> None:
    lines = inert_text.fence(["x" * 300], info="text").split("\n")[1:-1]
    assert all(len(line) <= inert_text.LINE_WIDTH for line in lines)
    assert "".join(line.removeprefix("⟦↩⟧ ") for line in lines) == "x" * 300
