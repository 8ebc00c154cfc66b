"""Facts as values."""

from __future__ import annotations

from tests.approval_facts import CODEOWNERS, RENDERING, review, some_facts


def test_a_limit_that_was_hit_makes_facts_incomplete() -> None:
    assert some_facts().complete
    assert not some_facts(limits=("GitHub lists at most 3000 files.",)).complete


def test_contents_of_files_stay_out_of_the_printed_form() -> None:
    printed = repr(some_facts(review()))
    assert "@alice" not in printed
    assert repr(CODEOWNERS) not in printed
    assert repr(RENDERING) not in printed
