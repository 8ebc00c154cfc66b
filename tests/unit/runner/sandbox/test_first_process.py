"""The report of the first process, however it is cut into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.sandbox.first_process import KernelReport, is_gvisor

GVISOR = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"


@given(st.integers(min_value=1, max_value=40))
def test_the_first_mark_counts_in_any_pieces(size: int) -> None:
    stream = (
        b"runsc: a warning\n\x1eownergate kernel " + GVISOR.encode() + b"\nout\x1eownergate kernel evil\n"
    )
    report = KernelReport()
    output = b"".join(report.feed(stream[at : at + size]) for at in range(0, len(stream), size))
    assert report.kernel == GVISOR
    assert report.before == "runsc: a warning"
    assert output == b"out\x1eownergate kernel evil\n"


def test_without_a_mark_there_is_no_kernel_and_no_output() -> None:
    report = KernelReport()
    assert report.feed(b"creating container: no such file\n" * 10) == b""
    assert report.kernel is None
    assert "no such file" in report.before
    report.feed(bytes(70000))
    assert report.overlong


def test_only_gvisors_own_words_are_gvisor() -> None:
    assert is_gvisor(GVISOR)
    for other in ("", "Linux version 4.4.0", f"{GVISOR} x", "Linux version 6.1.0-18-amd64 (debian) #1 SMP"):
        assert not is_gvisor(other)
