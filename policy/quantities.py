"""Sizes and CPU as people write them in the policy file.

Only binary units are taken, because `M` means one thing to Kubernetes and another to most people: the
spelling of Kubernetes (`512Mi`) and of the IEC (`512MiB`) are the same. CPU is cores (`2`) or
thousandths of one (`500m`), as in Kubernetes.
"""

from __future__ import annotations

import re

_BYTES = re.compile(r"([1-9][0-9]{0,8})(Ki|Mi|Gi)B?")
_FACTOR = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
_CPU = re.compile(r"([1-9][0-9]{0,5})(m?)")

BYTES_PATTERN = r"^[1-9][0-9]{0,8}(Ki|Mi|Gi)B?$"
"""The form of a size for JSON Schema."""

CPU_PATTERN = r"^[1-9][0-9]{0,5}m?$"
"""The form of CPU for JSON Schema."""


def parse_bytes(text: str) -> int:
    """Bytes of a size.

    Raises:
        ValueError: for any other form; a number without a unit is no size.
    """
    match = _BYTES.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a size such as 256KiB, 512Mi or 1Gi")
    return int(match[1]) * _FACTOR[match[2]]


def parse_cpu(text: str) -> int:
    """Thousandths of a core.

    Raises:
        ValueError: for any other form; `0.5` is written `500m`.
    """
    match = _CPU.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an amount of CPU such as 500m or 2")
    return int(match[1]) * (1 if match[2] else 1000)


def show_bytes(size: int) -> str:
    """A size for people, in its largest whole binary unit: 262144 is `256 KiB`."""
    for unit in ("Gi", "Mi", "Ki"):
        if size and size % _FACTOR[unit] == 0:
            return f"{size // _FACTOR[unit]} {unit}B"
    return f"{size} bytes"
