"""Numbers stay as they are written, and what two readers could read differently is refused."""

from __future__ import annotations

import pytest

from policy import terraform_json
from policy.plan import Number
from policy.refusal import Code, Refused


@pytest.mark.parametrize("text", ["0", "1", "-7", "9007199254740991", "-9007199254740991"])
def test_integers_that_json_holds_exactly_stay_integers(text: str) -> None:
    assert terraform_json.parse(text.encode()) == int(text)


@pytest.mark.parametrize(
    "text", ["1.0", "1e400", "-0", "9007199254740992", "12345678901234567890", "0.1", "1E2", "9" * 4000]
)
def test_other_numbers_keep_their_text(text: str) -> None:
    assert terraform_json.parse(text.encode()) == Number(text=text)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"\xff",
        b'{"a": 1, "a": 1}',
        b"[NaN]",
        b"[Infinity]",
        b'{"$ownergate": "sensitive"}',
        b'{"x": {"$ownergate:sensitive:1": 1}}',
        b"[" * 58 + b"]" * 58,
        b"[" * 100_000,
    ],
)
def test_ambiguous_documents_are_refused(document: bytes) -> None:
    with pytest.raises(Refused) as caught:
        terraform_json.parse(document)
    assert caught.value.refusal.code is Code.PLAN_INVALID


def test_a_document_that_is_too_large_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(Refused) as caught:
        terraform_json.parse(b" " * (terraform_json.LARGEST_DOCUMENT + 1))
    assert caught.value.refusal.code is Code.CANNOT_BE_SHOWN_WHOLE
