"""Signatures of webhooks: only the exact form, over the exact bytes, by a secret that is accepted."""

from __future__ import annotations

import pytest

from bot.webhook_signature import Signatures
from tests.unit.bot.ground import OLD_SECRET, SECRET, sign

OFFICIAL_SECRET = b"It's a Secret to Everybody"
OFFICIAL_BODY = b"Hello, World!"
OFFICIAL = b"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
"""GitHub's own example (docs.github.com, "Validating webhook deliveries")."""


def test_github_s_own_example_is_valid() -> None:
    assert Signatures([OFFICIAL_SECRET]).valid([OFFICIAL], OFFICIAL_BODY)


@pytest.mark.parametrize("body", [b"Hello, World", b"hello, World!", b"Hello, World!\n", b""])
def test_another_body_is_not(body: bytes) -> None:
    assert not Signatures([OFFICIAL_SECRET]).valid([OFFICIAL], body)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"sha256=",
        OFFICIAL[:-1],
        OFFICIAL + b"0",
        OFFICIAL.upper(),
        OFFICIAL.replace(b"sha256=", b"SHA256="),
        OFFICIAL.replace(b"sha256=", b"sha1="),
        OFFICIAL.removeprefix(b"sha256="),
        b" " + OFFICIAL,
        OFFICIAL + b" ",
        OFFICIAL + b"\n",
        b"sha256=" + "é".encode() * 32,
        b"sha256=" + b"\xff" * 64,
    ],
)
def test_another_form_of_the_same_signature_is_not(header: bytes) -> None:
    assert not Signatures([OFFICIAL_SECRET]).valid([header], OFFICIAL_BODY)


@pytest.mark.parametrize("headers", [[], [OFFICIAL, OFFICIAL], [OFFICIAL, b"sha256=" + b"0" * 64]])
def test_there_is_exactly_one(headers: list[bytes]) -> None:
    assert not Signatures([OFFICIAL_SECRET]).valid(headers, OFFICIAL_BODY)


def test_both_secrets_count_during_a_rotation_and_no_third() -> None:
    signatures = Signatures([SECRET, OLD_SECRET])
    body = b"{}"
    assert signatures.valid([sign(body, SECRET).encode()], body)
    assert signatures.valid([sign(body, OLD_SECRET).encode()], body)
    assert not signatures.valid([sign(body, b"a secret of somebody else").encode()], body)


@pytest.mark.parametrize("secrets", [[], [b""], [b"short"], [SECRET, b""]])
def test_without_a_good_secret_there_is_no_check(secrets: list[bytes]) -> None:
    with pytest.raises(ValueError, match="at least 16 bytes"):
        Signatures(secrets)


def test_the_secret_is_not_shown() -> None:
    assert SECRET.decode() not in repr(Signatures([SECRET]))
