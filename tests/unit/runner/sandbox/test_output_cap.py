"""Output kept while it streams."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from runner.sandbox.output_cap import OutputCap


@given(st.lists(st.binary(max_size=200)), st.integers(min_value=0, max_value=300))
def test_keeps_beginning_and_end_and_counts_the_rest(parts: list[bytes], limit: int) -> None:
    cap = OutputCap(limit)
    for part in parts:
        cap.feed(part)
    whole = b"".join(parts)
    assert len(cap.kept) == min(len(whole), limit)
    assert cap.cut_bytes == len(whole) - len(cap.kept)
    head, tail = cap.kept[: cap.cut_at], cap.kept[cap.cut_at :]
    assert whole.startswith(head)
    assert whole.endswith(tail)
    if not cap.cut_bytes:
        assert cap.kept == whole
        assert cap.cut_at == len(whole)


def test_memory_does_not_grow_with_the_stream() -> None:
    cap = OutputCap(4096)
    part = bytes(65536)
    cap.feed(part)
    tracemalloc.start()
    for _ in range(2000):
        cap.feed(part)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert cap.cut_bytes == 2001 * 65536 - 4096
