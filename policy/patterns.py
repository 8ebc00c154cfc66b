"""Regular expressions of policy authors, matched in linear time.

RE2 has no backtracking, so no pattern can be made to hang the bot; it refuses look-ahead and back
references when the file is loaded.
"""

from __future__ import annotations

from functools import lru_cache

import re2  # type: ignore[import-untyped]

_LARGEST_PROGRAM = 1 << 20


def problem(pattern: str) -> str | None:
    """Why a pattern can't be used; None when it can."""
    if not pattern.startswith("^") or not _ends_anchored(pattern):
        return "it must begin with ^ and end with $"
    try:
        _compiled(pattern)
    except re2.error as error:
        reason = error.args[0] if error.args else b"it is no regular expression"
        return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return None


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern describes the whole text; `$` doesn't forgive a final newline."""
    return _compiled(pattern).fullmatch(text) is not None


def _ends_anchored(pattern: str) -> bool:
    head = pattern.removesuffix("$")
    return head != pattern and (len(head) - len(head.rstrip("\\"))) % 2 == 0


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _LARGEST_PROGRAM
    return re2.compile(pattern, options)
