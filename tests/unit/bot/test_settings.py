"""`bot.yaml`: complete, understood, and every mistake named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot import settings
from policy.refusal import Code, Refused

COMPLETE = """\
listen: 127.0.0.1:8400
data: ./data
policy: ./policy.yaml
repository: acme/infra
github:
  api_url: http://127.0.0.1:9000/
  app_id: 1
  installation_id: 2
  private_key_file: keys/app.pem
  webhook_secret_files: [keys/webhook, /etc/ownergate/old-webhook]
  polling_seconds: 15
grant_key_file: keys/grant.pem
receipt_keys_file: keys/receipts.pem
limits: {open_requests_per_agent: 3}
"""


def load(folder: Path, text: str) -> settings.BotSettings:
    (folder / "bot.yaml").write_text(text)
    return settings.load(folder / "bot.yaml")


def test_a_complete_file(tmp_path: Path) -> None:
    read = load(tmp_path, COMPLETE)
    assert read.address == ("127.0.0.1", 8400)
    assert read.github.api_url == "http://127.0.0.1:9000"
    assert read.limits.open_requests_per_agent == 3


def test_paths_are_relative_to_the_file_s_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    read = load(tmp_path, COMPLETE)
    assert read.policy == tmp_path / "policy.yaml"
    assert read.github.webhook_secret_files == [tmp_path / "keys/webhook", Path("/etc/ownergate/old-webhook")]
    assert read.database_url == f"sqlite:///{tmp_path}/data/bot.db"
    assert read.audit_tip_file == tmp_path / "data/audit-tip/audit-tip.json"
    apart = load(tmp_path, COMPLETE + "audit_tip_folder: ../elsewhere\n")
    assert apart.audit_tip_file == tmp_path / "../elsewhere/audit-tip.json"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  app_id: 1\n", "", "bot.yaml:6:3: github.app_id: it is missing"),
        ("  app_id: 1", '  app_id: "1"', ":7:11: github.app_id: its value is wrong. Allowed: an integer"),
        ("  app_id: 1", "  app_id: 0", "greater than 0"),
        (
            "  app_id: 1",
            "  app: 1",
            "github.app: this key is unknown. Allowed: api_url, app_id, installation_id",
        ),
        ("data: ./data", "data: 7", "data: its value is wrong. Allowed: a path as text"),
        ("data: ./data", 'data: ""', "data: its value is wrong. Allowed: a path as text"),
        ("data: ./data\n", "", "data: it is missing"),
        ("policy: ./policy.yaml\n", "", "policy: it is missing"),
        ("[keys/webhook, /etc/ownergate/old-webhook]", "[]", "webhook_secret_files: its value is wrong"),
        (
            "[keys/webhook, /etc/ownergate/old-webhook]",
            "keys/webhook",
            "webhook_secret_files: its value is wrong",
        ),
        (
            "  webhook_secret_files: [keys/webhook, /etc/ownergate/old-webhook]\n",
            "",
            "webhook_secret_files: it is m",
        ),
        ("acme/infra", "acme", "repository: its value is wrong"),
        ("acme/infra", "acme/../infra", "repository: its value is wrong"),
        ("http://127.0.0.1:9000/", "http://github.example", "plain http:// is for this machine alone"),
        ("127.0.0.1:8400", "8400", "listen: its value is wrong"),
        ("127.0.0.1:8400", "127.0.0.1:84000", "a port up to 65535"),
        ("polling_seconds: 15", "polling_seconds: 0", "polling_seconds: its value is wrong"),
        ("grant_key_file: keys/grant.pem\n", "", "grant_key_file: it is missing"),
        ("receipt_keys_file: keys/receipts.pem\n", "", "receipt_keys_file: it is missing"),
        ("data: ./data", "data: ./data\ndata: ./data", "stands twice"),
        ("data: ./data", "data: [", "bot.yaml:"),
    ],
)
def test_every_mistake_is_named_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in COMPLETE
    with pytest.raises(Refused) as caught:
        load(tmp_path, COMPLETE.replace(old, new))
    assert caught.value.refusal.code is Code.SETTINGS_INVALID
    assert said in caught.value.refusal.what


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        load(tmp_path, COMPLETE.replace("app_id: 1", "app_id: x").replace("data: ./data", "data: 7"))
    assert "has 2 mistakes" in caught.value.refusal.what


@pytest.mark.parametrize("text", ["", "\n", "- a\n", "just words\n"])
def test_a_file_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused):
        load(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="No such file"):
        settings.load(tmp_path / "nowhere.yaml")


def test_an_address_of_ipv6(tmp_path: Path) -> None:
    assert load(tmp_path, COMPLETE.replace("127.0.0.1:8400", '"[::1]:8400"')).address == ("::1", 8400)
