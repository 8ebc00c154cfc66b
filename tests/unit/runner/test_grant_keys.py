"""The bot's keys and the list of grants taken back: missing or unreadable never means "anything goes"."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from policy import signing
from policy.refusal import Code, Refused
from runner import grant_keys


def pem(key: ed25519.Ed25519PublicKey | rsa.RSAPublicKey) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


OLD, NEW = (ed25519.Ed25519PrivateKey.generate().public_key() for _ in range(2))


def test_several_keys_count_while_one_replaces_the_other(tmp_path: Path) -> None:
    path = tmp_path / "keys.pem"
    path.write_text(pem(OLD) + "\n" + pem(NEW))
    assert set(grant_keys.read_public_keys(path)) == {signing.key_id(OLD), signing.key_id(NEW)}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\n",
        "not a key",
        pem(OLD) + "and more",
        pem(OLD).replace("MCow", "MCox"),
        pem(rsa.generate_private_key(65537, 2048).public_key()),
        "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
        "x" * 100_000,
    ],
)
def test_a_file_without_such_keys(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys.pem"
    path.write_text(content)
    with pytest.raises(Refused) as raised:
        grant_keys.read_public_keys(path)
    assert raised.value.refusal.code is Code.KEY_FILE


def test_a_file_that_others_can_write(tmp_path: Path) -> None:
    path = tmp_path / "keys.pem"
    path.write_text(pem(OLD))
    path.chmod(0o666)
    with pytest.raises(Refused, match="others may write it"):
        grant_keys.read_public_keys(path)


def test_grants_that_were_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "revoked"
    path.write_text(f"# of today\n{'a' * 64}  # a leak\n\n{'b' * 64}\n")
    assert grant_keys.read_revoked(path) == {"a" * 64, "b" * 64}
    assert grant_keys.read_revoked(None) == frozenset()


@pytest.mark.parametrize("content", ["abc\n", "A" * 64, None])
def test_a_list_that_can_not_be_read_takes_nothing_back_silently(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "revoked"
    if content is not None:
        path.write_text(content)
    with pytest.raises(Refused):
        grant_keys.read_revoked(path)
