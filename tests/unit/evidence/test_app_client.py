"""Clients that act as an App: one token for many, reading only, no write ever sent twice."""

from __future__ import annotations

import github
import pytest

from evidence import GitHubReader, Unavailable, app_client
from evidence.app_client import AppClients
from tests.request_on_github import Forge


def clients(forge: Forge, *, read_only: bool) -> AppClients:
    return AppClients(
        base_url=forge.github.url,
        app_id=forge.bot.id,
        private_key=forge.bot.private_key_pem,
        installation_id=forge.bot_installation.id,
        read_only=read_only,
    )


def tokens(forge: Forge) -> int:
    return len(forge.github.world.state.installation_tokens)


def test_many_clients_share_one_token_until_it_is_old(shared: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    made, before = clients(shared, read_only=False), tokens(shared)
    for _ in range(5):
        made.client().get_repo("acme/infra").get_branch("main")
    assert tokens(shared) == before + 1
    monkeypatch.setattr(app_client, "TOKEN_SECONDS", -1)
    made.client().get_repo("acme/infra").get_branch("main")
    assert tokens(shared) > before + 1


def test_nothing_is_sent_before_the_first_use(shared: Forge) -> None:
    before = tokens(shared)
    clients(shared, read_only=True).client()
    assert tokens(shared) == before


def test_a_reading_client_can_not_write_whatever_its_app_may(shared: Forge) -> None:
    def comment(read_only: bool) -> int:
        requester = clients(shared, read_only=read_only).client().requester
        path = f"/repos/acme/infra/issues/{opened.number}/comments"
        return int(requester.requestJsonAndCheck("POST", path, input={"body": "x"})[1]["id"])

    opened = shared.open_request()
    assert comment(False)
    with pytest.raises(github.GithubException, match="403"):
        comment(True)


def test_an_app_with_fewer_permissions_still_reads(forge: Forge) -> None:
    world = forge.github.world
    world.set_permissions(forge.bot_installation, {"contents": "read"})
    client = clients(forge, read_only=True).client()
    assert client.get_repo("acme/infra").get_branch("main").commit.sha == forge.tip()


def test_a_write_whose_answer_was_lost_is_not_sent_again(forge: Forge) -> None:
    opened = forge.open_request()
    path = f"/repos/acme/infra/issues/{opened.number}/comments"
    forge.github.faults.fail(502, when="after", method="POST", path=path, times=1)
    with pytest.raises(github.GithubException, match="502"):
        forge.as_bot("POST", f"/issues/{opened.number}/comments", {"body": "x"})
    assert len(forge.as_bot("GET", f"/issues/{opened.number}/comments")) == 1


def test_one_client_alone(shared: Forge) -> None:
    client = app_client.app_client(
        base_url=shared.github.url,
        app_id=shared.bot.id,
        private_key=shared.bot.private_key_pem,
        installation_id=shared.bot_installation.id,
        read_only=True,
    )
    assert client.get_repo("acme/infra").get_branch("main").commit.sha == shared.tip()


def test_no_key_and_no_token_is_printed(shared: Forge) -> None:
    made = clients(shared, read_only=True)
    token = made.token()
    printed = repr(made) + repr(made.client()) + repr(vars(made.client().requester.auth))
    assert token not in printed
    assert "PRIVATE KEY" not in printed
    assert repr(made) == f"AppClients(app_id={shared.bot.id}, installation_id={shared.bot_installation.id})"


def test_a_wrong_key_gives_no_facts(shared: Forge) -> None:
    other = shared.github.world.add_app("other", permissions={}, owner="acme")
    made = AppClients(
        base_url=shared.github.url,
        app_id=shared.bot.id,
        private_key=other.private_key_pem,
        installation_id=shared.bot_installation.id,
        read_only=True,
    )
    one = GitHubReader(made.client(), repository="acme/infra", app_id=1, app_user_id=2)
    with pytest.raises(Unavailable, match="401"):
        one.branch_tip("main")


def test_an_installation_that_tells_no_permissions_gives_no_facts(
    shared: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github.Installation.Installation, "raw_data", {})
    one = GitHubReader(
        clients(shared, read_only=True).client(), repository="acme/infra", app_id=1, app_user_id=2
    )
    with pytest.raises(Unavailable, match="can't be used \\(ValueError\\)"):
        one.branch_tip("main")
