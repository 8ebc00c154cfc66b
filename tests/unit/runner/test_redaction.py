"""Secrets are taken out of output in every usual coding, and at cuts."""

from __future__ import annotations

import base64
import binascii
import json
import textwrap
import time
from datetime import UTC, datetime
from urllib.parse import quote, quote_plus

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import example, given
from hypothesis import strategies as st

from runner import redaction
from runner.redaction import LEASE_MARK, redact, redact_bytes
from runner.sandbox.interface import StepOutcome
from runner.secret_bytes import SecretBytes

KEY = generate_private_key(SECP256R1()).private_bytes(
    Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
)
LINES = KEY.decode().splitlines()[1:-1]
TOKEN = b"s3cr3t/t0ken+value=&42"


def shown(output: bytes, *secrets: bytes) -> str:
    return redact_bytes(output, [SecretBytes(secret) for secret in secrets]).text


CODINGS = {
    "raw": lambda s: s,
    "base64": base64.b64encode,
    "base64 at 1": lambda s: base64.b64encode(b"x" + s + b"tail"),
    "base64 at 2": lambda s: base64.b64encode(b"xy" + s + b"tail"),
    "url-safe base64": base64.urlsafe_b64encode,
    "url-safe base64 at 1": lambda s: base64.urlsafe_b64encode(b"x" + s + b"tail"),
    "wrapped base64": lambda s: textwrap.fill(base64.b64encode(s).decode(), 20).encode(),
    "hex": lambda s: s.hex().encode(),
    "upper hex": lambda s: s.hex().upper().encode(),
    "hex with colons": lambda s: s.hex(":").encode(),
    "hex dump": lambda s: s.hex(" ").encode(),
    "c escapes": lambda s: b"".join(b"\\x%02x" % byte for byte in s),
    "url": lambda s: quote(s, safe="").encode(),
    "form": lambda s: quote_plus(s).encode(),
    "every byte escaped": lambda s: b"".join(b"%%%02X" % byte for byte in s),
    "lower escapes": lambda s: quote(s, safe="").lower().encode() if s.islower() else quote(s).encode(),
    "json": lambda s: json.dumps(s.decode()).encode(),
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("secret", [TOKEN, KEY], ids=["token", "key"])
def test_is_found_in_every_coding(coding: str, secret: bytes) -> None:
    output = b"before " + CODINGS[coding](secret) + b" after\n"
    text = shown(output, secret)
    assert LEASE_MARK in text
    assert text.startswith("before ")
    assert text.endswith(" after\n")
    hidden = CODINGS[coding](secret).decode()
    for start in range(0, len(hidden) - 24, 7):
        piece = hidden[start : start + 24]
        # Only the lines around a key may stay, where a form writes their blanks as plus signs.
        assert piece not in text or "PRIVATE" in piece, piece


@pytest.mark.parametrize("coding", [c for c in CODINGS if c != "json"])
def test_one_line_of_a_key_is_enough(coding: str) -> None:
    for line in LINES[:2]:
        text = shown(b"x " + CODINGS[coding](line.encode()) + b" y", KEY)
        assert LEASE_MARK in text
        assert line[8:-8] not in text


def test_the_keys_binary_form_is_found_too() -> None:
    der = base64.b64decode("".join(LINES))
    for coded in (der, der.hex().encode(), base64.b64encode(b"pad" + der)):
        assert LEASE_MARK in shown(coded, KEY)


@given(st.binary(min_size=12, max_size=60), st.binary(max_size=40), st.binary(max_size=40))
def test_no_base64_of_it_survives_at_any_alignment(secret: bytes, before: bytes, after: bytes) -> None:
    secret = b"k" + secret + b"k"
    encoded = base64.b64encode(before + secret.strip() + after)
    assert LEASE_MARK in shown(encoded, secret)


@given(st.binary(min_size=10, max_size=60), st.sampled_from(["hex", "raw", "every byte escaped"]))
@example(secret=b"1234\\r5678", coding="every byte escaped")
def test_arbitrary_secrets_are_found(secret: bytes, coding: str) -> None:
    # What stands around it may be blank or an escape that belongs to both.
    secret = b"k" + secret + b"k"
    assert LEASE_MARK in shown(b"<" + CODINGS[coding](secret) + b">", secret)


@given(st.binary(max_size=300))
def test_without_a_secret_nothing_changes(output: bytes) -> None:
    found = redact_bytes(output, [])
    assert found.cut_bytes == 0
    if not found.found:
        assert found.text == output.decode("utf-8", errors="replace")


def test_text_around_is_kept_and_short_secrets_are_not_searched() -> None:
    assert shown(b"a " + TOKEN + b" b " + TOKEN + b" c", TOKEN) == f"a {LEASE_MARK} b {LEASE_MARK} c"
    assert shown(b"abc", b"abc") == "abc"
    assert shown(b"\xff\xfe ok", TOKEN) == "\ufffd\ufffd ok"


@pytest.mark.parametrize("split", [8, 12, len(TOKEN) - 8])
def test_half_a_secret_at_a_cut_is_taken_out(split: int) -> None:
    head, tail = b"begin " + TOKEN[:split], TOKEN[split:] + b" end"
    for output, at in ((head + b"rest", len(head)), (b"start" + tail, 5)):
        found = redact_bytes(output, [SecretBytes(TOKEN)], cuts=[(at, 1000)])
        assert LEASE_MARK in found.text
        assert "[ownergate cut 1,000 bytes here]" in found.text
        assert found.cut_bytes == 1000
        assert TOKEN[:split].decode() not in found.text or output is not head + b"rest"


def test_half_a_coded_key_at_a_cut_is_taken_out() -> None:
    for coded in (base64.b64encode(KEY), KEY.hex().encode()):
        head = coded[:30]
        found = redact_bytes(head + b"unrelated", [SecretBytes(KEY)], cuts=[(30, 7)])
        assert head.decode() not in found.text
        assert found.text.endswith("unrelated")


def test_steps_are_joined_with_their_cuts_named() -> None:
    moment = datetime.now(UTC)
    steps = [
        StepOutcome(
            argv=("a",),
            exit_code=0,
            output=output,
            cut_bytes=cut,
            cut_at=at,
            started_at=moment,
            ended_at=moment,
        )
        for output, cut, at in ((b"one|two", 5, 4), (b"three", 0, 5))
    ]
    found = redact(steps, [])
    assert found.text == "one|\n[ownergate cut 5 bytes here]\ntwothree"
    assert found.cut_bytes == 5


def test_known_shapes_are_taken_out_and_named() -> None:
    token = "ghp_" + "a1B2" * 9
    text, found = (r := redact_bytes(f"login {token} ok\nfine\n".encode(), [])).text, r.found
    assert text == "login [ownergate took out what looks like a GitHub token] ok\nfine\n"
    assert found == ("a GitHub token",)


def test_a_key_block_is_taken_out_whole_even_when_it_has_no_end() -> None:
    for block in (KEY.decode(), KEY.decode()[:150]):
        found = redact_bytes(f"a\n{block}".encode(), [])
        assert found.found == ("a PEM private key",)
        assert not [line for line in LINES if line[:20] in found.text]


def test_a_name_and_its_value_are_taken_out_with_the_line() -> None:
    line = "aws_secret_access_key = " + "Ab1/" * 10
    found = redact_bytes(f"x\n{line}\ny".encode(), [])
    assert found.text == "x\n[ownergate took out what looks like an AWS secret key]\ny"


def test_is_fast_on_full_output() -> None:
    output = (base64.b64encode(bytes(range(256))) + b"\n") * 800
    began = time.perf_counter()
    redact_bytes(output, [SecretBytes(KEY)], cuts=[(len(output) // 2, 1)])
    assert time.perf_counter() - began < 2.0


def test_base64_cores_are_what_base64_makes_of_the_middle() -> None:
    for offset in range(3):
        whole = base64.b64encode(b"abc"[:offset] + TOKEN + b"xyz")
        assert redaction._base64_core(TOKEN, offset, b"+/") in whole
    assert binascii.hexlify(TOKEN) == TOKEN.hex().encode()
