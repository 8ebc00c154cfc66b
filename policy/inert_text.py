"""Text of agents, providers and plans, made visible and powerless inside GitHub's Markdown.

Three dangers: characters that don't show or that change the order of what shows (escape codes,
zero-width and bidirectional controls, CVE-2026-35651), markup that acts (mentions, references,
links, HTML, commands), and text that ends the place it stands in (a fence, a table cell). So
characters outside a fixed list are written as `⟦U+202E⟧`, the brackets themselves included, which
keeps it reversible; and such text stands in code spans and fences only, where GitHub's Markdown
gives it no meaning (GitHub Flavored Markdown, sections 4.5, 4.10 and 6.3).

The list is one of ranges, not of Unicode properties: Python versions differ in those, and two
renderings of one request must not.
"""

from __future__ import annotations

import re

LINE_WIDTH = 110
"""Characters. Longer lines of a fence are continued, so that nothing hides beyond a scroll bar."""

LONGEST_GAP = 32
"""Spaces in a row that are shown as spaces; longer gaps are counted instead."""

_CONTINUED = "⟦↩⟧ "

_SHOWN = (
    (0x20, 0x7E),  # ASCII
    (0xA1, 0xAC),  # Latin-1 without the no-break space and the soft hyphen
    (0xAE, 0x24F),  # Latin
    (0x370, 0x373),  # Greek and Cyrillic, without combining marks
    (0x376, 0x482),
    (0x48A, 0x52F),
    (0x1E00, 0x1EFF),  # Latin with more accents
    (0x2010, 0x2027),  # Dashes, quotes, dots
    (0x2030, 0x205E),
    (0x20A0, 0x20BF),  # Currencies
    (0x2190, 0x22FF),  # Arrows, mathematics
    (0x3001, 0x3029),  # Chinese, Japanese, Korean
    (0x3041, 0x3096),
    (0x309B, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xFF01, 0xFF5E),
)
_HIDDEN = re.compile("[^" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _SHOWN) + "]")
_HIDDEN_OR_FOREIGN = re.compile(r"[^ -~]")
_GAP = re.compile(f" {{{LONGEST_GAP + 1},}}")
_BACKTICKS = re.compile("`+")


def visible(text: str) -> str:
    """The text on one line, with every character that might not show written as its code point."""
    return _show_gaps(_HIDDEN.sub(_code_point, text))


def visible_ascii(text: str) -> str:
    """Like `visible`, with ASCII alone shown: for names, where `а` must not pass for `a`."""
    return _show_gaps(_HIDDEN_OR_FOREIGN.sub(_code_point, text))


def visible_lines(text: str) -> list[str]:
    """Like `visible`, but line by line: for words that people are to read."""
    return [visible(line) for line in text.split("\n")]


def code(text: str) -> str:
    """A code span for a name, safe in a sentence and in a table cell; ASCII alone is shown.

    Backticks, pipes and spaces at the ends, which Markdown would take or drop, are written as code
    points.
    """
    shown = re.sub(r"[`|]|^ | $|  +", lambda match: "".join(map(_point, match[0])), visible_ascii(text))
    return f"`{shown}`" if shown else "`⟦empty⟧`"


def value_code(shown: str) -> str:
    """A code span for a value that `plan_values` has written; as `code`, but not for ASCII alone."""
    return "`" + re.sub(r"[`|]|^ | $|  +", lambda match: "".join(map(_point, match[0])), shown) + "`"


def fence(lines: list[str], *, info: str) -> str:
    """A fenced block. The lines must be visible already; long ones are continued.

    Args:
        info: the language, one of ours, never of an agent: GitHub draws diagrams for some.
    """
    broken = [piece for line in lines for piece in _continue(line)]
    longest = max((len(run) for line in broken for run in _BACKTICKS.findall(line)), default=0)
    bar = "`" * max(3, longest + 1)
    return "\n".join([f"{bar}{info}", *broken, bar])


def _show_gaps(text: str) -> str:
    return _GAP.sub(lambda gap: f"⟦{len(gap[0])} spaces⟧", text)


def _continue(line: str) -> list[str]:
    if len(line) <= LINE_WIDTH:
        return [line]
    width = LINE_WIDTH - len(_CONTINUED)
    rest = line[LINE_WIDTH:]
    return [line[:LINE_WIDTH]] + [_CONTINUED + rest[at : at + width] for at in range(0, len(rest), width)]


def _code_point(match: re.Match[str]) -> str:
    return _point(match[0])


def _point(character: str) -> str:
    return f"⟦U+{ord(character):04X}⟧"
