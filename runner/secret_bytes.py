"""Bytes that must not be seen: no `repr`, no text, no pickle, no comparison that leaks by time.

A secret is wrapped where it enters the process and taken out by `reveal` where it is used, so that a
log line, an exception or a debugger's dump of a dataclass shows a placeholder. Python can't erase
memory; this keeps secrets out of what people read, not out of a core dump.
"""

from __future__ import annotations

import hmac
from typing import NoReturn

PLACEHOLDER = "<secret>"


class SecretBytes:
    """One secret value.

    Equality is by content in constant time; the hash is by identity of the class alone, so that a
    secret can't be used to find itself in a dump of a dictionary.
    """

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        self._value = value

    def reveal(self) -> bytes:
        """The bytes themselves. Call it in the expression that uses them, and nowhere else."""
        return self._value

    def __len__(self) -> int:
        return len(self._value)

    def __repr__(self) -> str:
        return PLACEHOLDER

    def __format__(self, specification: str) -> str:
        return PLACEHOLDER

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SecretBytes):
            return NotImplemented
        return hmac.compare_digest(self._value, other._value)

    def __hash__(self) -> int:
        return hash(SecretBytes)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled or copied to another process")
