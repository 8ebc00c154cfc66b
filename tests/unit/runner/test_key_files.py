"""Keys are read only from files that nobody else can read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from policy.refusal import Code, Refused
from runner import key_files


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key.pem"
    private = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private)
    path.chmod(0o600)
    return path


def test_reads_a_private_key(key: Path) -> None:
    read = key_files.read_ed25519_private_key(key, what="the receipt key")
    assert read.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) == key.read_bytes()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o644, 0o660, 0o777])
def test_a_file_that_others_may_open_is_refused(key: Path, mode: int) -> None:
    key.chmod(mode)
    with pytest.raises(Refused) as refused:
        key_files.read_secret(key, what="the receipt key")
    assert refused.value.refusal.code is Code.KEY_FILE
    assert refused.value.refusal.remedy == f"Run: chmod 0600 {key}"
    assert "the receipt key" in refused.value.refusal.what


def test_links_folders_pipes_and_missing_files_are_refused(key: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(key)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "empty").touch(0o600)
    (tmp_path / "large").write_bytes(bytes(70_000))
    (tmp_path / "large").chmod(0o600)
    for name in ("link", "folder", "pipe", "missing", "empty", "large"):
        with pytest.raises(Refused) as refused:
            key_files.read_secret(tmp_path / name, what="a key")
        assert refused.value.refusal.code is Code.KEY_FILE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_somebody_elses_file_is_refused(key: Path) -> None:
    os.chown(key, 12345, 12345)
    with pytest.raises(Refused, match="12345"):
        key_files.read_secret(key, what="a key")


def test_another_kind_of_key_is_refused_without_showing_it(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    for content in (
        generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        b"hunter2",
    ):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(Refused) as refused:
            key_files.read_ed25519_private_key(path, what="a key")
        assert "hunter2" not in str(refused.value)
        assert refused.value.refusal.code is Code.KEY_FILE


def test_a_public_key_may_be_read_but_not_written_by_others(key: Path, tmp_path: Path) -> None:
    public = key_files.read_ed25519_private_key(key, what="a key").public_key()
    path = tmp_path / "public.pem"
    path.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    path.chmod(0o644)
    assert key_files.read_ed25519_public_key(path, what="a key") == public
    path.chmod(0o664)
    with pytest.raises(Refused, match="others may write"):
        key_files.read_ed25519_public_key(path, what="a key")
    with pytest.raises(Refused):
        key_files.read_ed25519_public_key(key, what="a key")
