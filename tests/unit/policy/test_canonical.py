"""Strict reading and RFC 8785 writing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import canonical
from policy.refusal import Code, Refused

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-canonical.LARGEST_INTEGER, canonical.LARGEST_INTEGER)
    | st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0x2FF)).map(
        lambda text: __import__("unicodedata").normalize("NFC", text)
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(max_codepoint=0x7F), max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_what_is_written_is_read_back_and_written_alike(value: canonical.Json) -> None:
    data = canonical.encode(value)
    assert canonical.parse(data, what="it") == value
    assert canonical.encode(canonical.parse(data, what="it")) == data


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a":1,"a":2}', "stands twice"),
        ('{"a":{"b":1,"b":1}}', "stands twice"),
        ("NaN", "not JSON"),
        ("[Infinity]", "not JSON"),
        ("1.5", "not an integer"),
        ("1e3", "not an integer"),
        ("9007199254740992", "beyond 2^53-1"),
        ("-9007199254740992", "beyond 2^53-1"),
        ("9" * 1_000_000, "beyond 2^53-1"),
        ('"e\u0301"', "NFC"),
        ('{"e\u0301":1}', "NFC"),
        ('"\\ud800"', "surrogate"),
        ("[" * 100_000, "nested deeper"),
        ("[" * 66 + "]" * 66, "nested deeper"),
        ('{"a":1} x', "Extra data"),
        ("", "Expecting value"),
    ],
)
def test_what_two_readers_could_read_differently_is_refused(text: str, why: str) -> None:
    with pytest.raises(Refused, match=why.replace("^", r"\^")) as caught:
        canonical.parse(text, what="the arguments")
    assert caught.value.refusal.code is Code.JSON_INVALID
    assert caught.value.refusal.what.startswith("the arguments: ")


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(Refused, match="not UTF-8"):
        canonical.parse(b'"\xff"', what="it")


@pytest.mark.parametrize("value", [1.0, float("nan"), b"x", object(), {1: 2}, {"a": {2.5}}])
def test_values_without_a_canonical_form_are_refused(value: object) -> None:
    with pytest.raises(Refused):
        canonical.check(value, what="it")


def test_names_are_ordered_by_utf16_code_units() -> None:
    # RFC 8785 section 3.2.3: U+10000 is written as a surrogate pair, which sorts before U+FB01.
    assert (
        canonical.encode({"\ufb01": 1, "\U00010000": 2, "a": 3})
        == '{"a":3,"\U00010000":2,"\ufb01":1}'.encode()
    )


def test_the_digest_is_that_of_the_canonical_bytes() -> None:
    # SHA-256 of the two bytes {}, computed with sha256sum.
    assert canonical.sha256({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert canonical.sha256({"b": 1, "a": 2}) == canonical.sha256({"a": 2, "b": 1})
