"""A signature is valid exactly when it is the HMAC of those bytes under one of the secrets."""

from __future__ import annotations

import hashlib
import hmac

from hypothesis import assume, given
from hypothesis import strategies as st

from bot.webhook_signature import SHORTEST_SECRET, Signatures

SECRETS = st.binary(min_size=SHORTEST_SECRET, max_size=80)


def _sign(secret: bytes, body: bytes) -> bytes:
    return b"sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest().encode()


@given(st.lists(SECRETS, min_size=1, max_size=4), st.binary(max_size=2000), st.data())
def test_signed_by_any_accepted_secret_is_valid(
    secrets: list[bytes], body: bytes, data: st.DataObject
) -> None:
    signer = data.draw(st.sampled_from(secrets))
    assert Signatures(secrets).valid([_sign(signer, body)], body)


@given(SECRETS, st.binary(max_size=2000), st.integers(0, 70), st.integers(1, 255))
def test_one_changed_byte_of_the_signature_is_invalid(secret: bytes, body: bytes, at: int, by: int) -> None:
    signature = bytearray(_sign(secret, body))
    signature[at] ^= by
    assert not Signatures([secret]).valid([bytes(signature)], body)


@given(SECRETS, st.binary(min_size=1, max_size=2000), st.data())
def test_one_changed_byte_of_the_body_is_invalid(secret: bytes, body: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(body) - 1))
    changed = bytearray(body)
    changed[at] ^= data.draw(st.integers(1, 255))
    assert not Signatures([secret]).valid([_sign(secret, body)], bytes(changed))


@given(SECRETS, SECRETS, st.binary(max_size=200))
def test_another_secret_is_invalid(secret: bytes, other: bytes, body: bytes) -> None:
    # HMAC pads short keys with zero bytes and hashes long ones, so some different texts are one key.
    assume(_sign(secret, body) != _sign(other, body))
    assert not Signatures([secret]).valid([_sign(other, body)], body)


@given(SECRETS, st.lists(st.binary(max_size=100), max_size=3), st.binary(max_size=100))
def test_arbitrary_headers_never_pass_or_fail_with_an_error(
    secret: bytes, headers: list[bytes], body: bytes
) -> None:
    assert Signatures([secret]).valid(headers, body) is (headers == [_sign(secret, body)])
