"""Secrets and keys from files: whole, right, and for one user's eyes; else the bot doesn't start."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from bot import secret_files
from policy import signing
from policy.refusal import Code, Refused

SECRET = b"0123456789abcdef"
KEY = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
OTHER = Ed25519PrivateKey.from_private_bytes(b"\x02" * 32)


def file(folder: Path, content: bytes, *, mode: int = 0o600, name: str = "secret") -> Path:
    path = folder / name
    path.write_bytes(content)
    path.chmod(mode)
    return path


def private_pem(key: Ed25519PrivateKey, encryption: KeySerializationEncryption | None = None) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())


def public_pem(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
def test_a_line_break_at_the_end_is_no_part_of_a_secret(tmp_path: Path, ending: bytes) -> None:
    assert secret_files.webhook_secrets([file(tmp_path, SECRET + ending)]) == (SECRET,)


def test_several_secrets_for_a_rotation(tmp_path: Path) -> None:
    paths = [file(tmp_path, SECRET, name="new"), file(tmp_path, SECRET[::-1], name="old")]
    assert secret_files.webhook_secrets(paths) == (SECRET, SECRET[::-1])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"\n", "it is empty"),
        (b" " * 40, "it is empty"),
        (SECRET[:-1], "it has fewer than 16 bytes"),
        (SECRET[:-1] + b"\n", "it has fewer than 16 bytes"),
        (b"x" * 70_000, "it has more than 65536 bytes"),
    ],
)
def test_a_secret_that_protects_nothing_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = file(tmp_path, content)
    with pytest.raises(Refused) as caught:
        secret_files.webhook_secrets([path])
    refusal = caught.value.refusal
    assert refusal.code is Code.SECRET_FILE_INVALID
    assert said in refusal.what
    assert str(path) in refusal.what
    assert content.strip() == b"" or content.decode() not in refusal.text()


def test_one_bad_secret_of_several_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="it is empty"):
        secret_files.webhook_secrets([file(tmp_path, SECRET, name="a"), file(tmp_path, b"", name="b")])


def test_no_secret_at_all_is_refused() -> None:
    with pytest.raises(Refused, match=r"github\.webhook_secret_files: no file is named"):
        secret_files.webhook_secrets([])


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_secret_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(Refused, match="others may read it"):
        secret_files.webhook_secrets([file(tmp_path, SECRET, mode=mode)])


def test_a_secret_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path, tmp_path / "nowhere" / "secret"):
        with pytest.raises(Refused, match="there is no such file"):
            secret_files.webhook_secrets([path])


def test_a_grant_key(tmp_path: Path) -> None:
    assert secret_files.grant_key(file(tmp_path, private_pem(KEY))).public_key() == KEY.public_key()


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        public_pem(KEY),
        private_pem(KEY)[:-40],
        private_pem(KEY, BestAvailableEncryption(b"hunter2")),
        generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    ],
)
def test_another_grant_key_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Refused, match="not an Ed25519 private key in PEM"):
        secret_files.grant_key(file(tmp_path, content))


def test_a_grant_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="others may read it"):
        secret_files.grant_key(file(tmp_path, private_pem(KEY), mode=0o644))


def test_receipt_keys_are_public_and_named_by_their_ids(tmp_path: Path) -> None:
    path = file(tmp_path, b"# the runners\n" + public_pem(KEY) + b"\n" + public_pem(OTHER), mode=0o644)
    keys = secret_files.receipt_keys(path)
    assert set(keys) == {signing.key_id(KEY.public_key()), signing.key_id(OTHER.public_key())}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"no key\n", "there is no public key in it"),
        (private_pem(KEY), "there is no public key in it"),
        (public_pem(KEY)[:-30], "there is no public key in it"),
        (
            public_pem(KEY)
            + generate_private_key(SECP256R1())
            .public_key()
            .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
            "key 2 is not an Ed25519 public key",
        ),
        (
            b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            "key 1 is not an Ed25519 public key",
        ),
    ],
)
def test_other_receipt_keys_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(Refused, match=said):
        secret_files.receipt_keys(file(tmp_path, content))
