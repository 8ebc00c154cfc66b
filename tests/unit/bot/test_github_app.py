"""The bot's App: who it is at GitHub, and what keeps it from starting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot import remembered_identity
from bot.github_app import NEEDED
from github_simulator import simulator
from policy.refusal import Code, Refused
from tests.unit.bot.app_on_github import AppOnGitHub, install
from tests.unit.bot.ground import NOW, Ground

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def at_github(tmp_path: Path) -> Iterator[AppOnGitHub]:
    with simulator.running(data=tmp_path / "github") as github:
        yield install(github, tmp_path)


def identify(ground: Ground, at_github: AppOnGitHub, **changes: Any) -> object:
    expected = (at_github.app.id, at_github.installation.id)
    app = at_github.made(**changes)
    return remembered_identity.identify(
        app, ground.database, ground.clock, ground.wiring.contact, expected=expected
    )


def test_it_knows_itself_and_its_repository_by_number(at_github: AppOnGitHub) -> None:
    identity = at_github.made().identify()
    assert identity.app_id == at_github.app.id
    assert identity.app_user_id == at_github.app.bot.id
    assert identity.repository_id == at_github.repository.id
    assert (identity.slug, identity.repository_name) == ("ownergate-bot", "acme/infra")


def test_each_client_is_another_object_and_works(at_github: AppOnGitHub) -> None:
    app = at_github.made()
    first, second = app.client(), app.client()
    assert first is not second
    assert first.requester is not second.requester
    for client in (first, second):
        assert client.get_repo("acme/infra").raw_data["id"] == at_github.repository.id


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"app_id": 999_999}, "GitHub answers 401"),
        ({"installation_id": 999_999}, "GitHub answers 404"),
        ({"repository": "acme/elsewhere"}, "GitHub answers 404"),
    ],
)
def test_settings_that_github_contradicts_are_refused(
    ground: Ground, at_github: AppOnGitHub, changes: dict[str, Any], said: str
) -> None:
    identify(ground, at_github)
    with pytest.raises(Refused, match=said) as caught:
        identify(ground, at_github, **changes)
    assert caught.value.refusal.code is Code.SETTINGS_INVALID


def test_a_suspended_installation_is_refused(at_github: AppOnGitHub) -> None:
    at_github.github.world.suspend(at_github.installation)
    with pytest.raises(Refused, match="suspended"):
        at_github.made().identify()


@pytest.mark.parametrize("lacking", sorted(set(NEEDED) - {"metadata"}))
def test_a_missing_permission_is_named(at_github: AppOnGitHub, lacking: str) -> None:
    at_github.github.world.set_permissions(at_github.installation, {**NEEDED, lacking: "read"})
    with pytest.raises(Refused, match=f"lacks {lacking}: write") as caught:
        at_github.made().identify()
    assert "accept them for the installation" in caught.value.refusal.remedy


def test_a_renamed_repository_is_found_under_its_new_name(ground: Ground, at_github: AppOnGitHub) -> None:
    at_github.github.world.rename_repository(at_github.repository, "platform")
    identity = at_github.made().identify()
    assert (identity.repository_id, identity.repository_name) == (at_github.repository.id, "acme/platform")
    assert ground


def test_github_down_at_the_first_start_is_refused(ground: Ground, at_github: AppOnGitHub) -> None:
    with pytest.raises(Refused, match="no answer from") as caught:
        identify(ground, at_github, api_url=NOBODY)
    assert caught.value.refusal.code is Code.GITHUB_UNAVAILABLE
    assert ground.wiring.contact.last.reason is not None


def test_github_down_later_is_no_reason_not_to_start(ground: Ground, at_github: AppOnGitHub) -> None:
    identity = identify(ground, at_github)
    assert ground.wiring.contact.last.reached_at == NOW
    assert identify(ground, at_github, api_url=NOBODY) == identity
    at_github.github.faults.fail(503, times=100)
    assert identify(ground, at_github) == identity
    assert ground.wiring.contact.last.failed_at == NOW


def test_what_is_remembered_of_another_app_doesn_t_count(ground: Ground, at_github: AppOnGitHub) -> None:
    identify(ground, at_github)
    app = at_github.made(api_url=NOBODY)
    other = (at_github.app.id + 1, at_github.installation.id)
    with pytest.raises(Refused, match="no answer from"):
        remembered_identity.identify(
            app, ground.database, ground.clock, ground.wiring.contact, expected=other
        )


def test_a_key_file_that_others_may_read_is_refused(at_github: AppOnGitHub) -> None:
    at_github.settings.private_key_file.chmod(0o644)
    with pytest.raises(Refused, match="others may read it"):
        at_github.made()


def test_a_key_file_with_something_else_is_refused(at_github: AppOnGitHub) -> None:
    at_github.settings.private_key_file.write_text("not a key")
    with pytest.raises(Refused, match="not an RSA private key in PEM") as caught:
        at_github.made()
    assert "not a key" not in caught.value.refusal.remedy
