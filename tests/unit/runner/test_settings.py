"""Settings: every mistake has its line; nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from policy.refusal import Refused
from runner import settings

GOOD = {
    "name": "demo-1",
    "pool": "demo",
    "bot_url": "http://127.0.0.1:8400",
    "token_file": "token",
    "policy": "policy.yaml",
    "repository": {"id": 7, "name": "acme/infra"},
    "github": {
        "api_url": "https://api.github.com",
        "app_id": 2,
        "installation_id": 3,
        "private_key_file": "app.pem",
    },
    "bot_app": {"id": 1, "user_id": 11},
    "grant_keys_file": "grant.pem",
    "receipt_key_file": "receipt.pem",
    "sealing_key_file": "sealing.key",
    "openbao": {"address": "http://127.0.0.1:8200", "login_key_file": "login.pem"},
    "sandbox": {"images": "images", "scratch": "/dev/shm/og", "runsc": "/usr/bin/runsc"},  # noqa: S108
    "state": "state",
    "data": "data",
}


def written(folder: Path, **changes: object) -> Path:
    path = folder / "runner.yaml"
    path.write_text(yaml.safe_dump({**GOOD, **changes}, sort_keys=False))
    return path


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    loaded = settings.load(written(tmp_path))
    assert loaded.token_file == tmp_path / "token"
    assert loaded.sandbox.runsc == Path("/usr/bin/runsc")
    assert loaded.github.private_key_file == tmp_path / "app.pem"


def test_an_unknown_setting_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"runner\.yaml:\d+:\d+: bot_ulr: this key is unknown"):
        settings.load(written(tmp_path, bot_ulr="http://127.0.0.1"))


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_nothing_that_is_missing_has_a_silent_default(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "runner.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in GOOD.items() if key != missing}))
    with pytest.raises(Refused, match=f"{missing}: it is missing"):
        settings.load(path)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://bot.example:8400", "plain http:// is for this machine alone"),
        ("https://user:word@bot.example", "no user and no password"),
        ("ftp://127.0.0.1", "an address such as"),
        ("127.0.0.1", "an address such as"),
    ],
)
def test_addresses_that_would_leak_tokens_are_refused(tmp_path: Path, address: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        settings.load(written(tmp_path, bot_url=address))


@pytest.mark.parametrize("workers", [0, 33, "2", True])
def test_numbers_are_not_coerced(tmp_path: Path, workers: object) -> None:
    with pytest.raises(Refused, match="workers"):
        settings.load(written(tmp_path, workers=workers))


def test_all_mistakes_are_shown_together(tmp_path: Path) -> None:
    with pytest.raises(Refused) as raised:
        settings.load(written(tmp_path, pool="Not A Name", workers=0))
    assert "pool" in str(raised.value)
    assert "workers" in str(raised.value)


@pytest.mark.parametrize("text", ["", "name: a\nname: b\n", "a: &x 1\nb: *x\n", "- 1\n", "a: [\n"])
def test_what_is_no_plain_mapping_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "runner.yaml"
    path.write_text(text)
    with pytest.raises(Refused):
        settings.load(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="can't be read"):
        settings.load(tmp_path / "none.yaml")
