"""githubkit, whose models are made from GitHub's description, parses every answer and every webhook."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from githubkit import GitHub, TokenAuthStrategy
from githubkit.webhooks import parse

from tests.unit.github_simulator.conftest import Acme


@pytest.fixture
def alice(acme: Acme) -> Iterator[Any]:
    with GitHub(
        TokenAuthStrategy(acme.world.token("alice")), base_url=acme.github.url, http_cache=False
    ) as client:
        yield client.rest


def test_every_answer_about_a_pull_request_parses(acme: Acme, alice: Any) -> None:
    pull = acme.pull(docs__guide="x\n")
    number, sha = pull["number"], pull["head"]["sha"]
    acme.review(number, "bob", "APPROVE", "ok")
    acme.review(number, "carol", "REQUEST_CHANGES", "no")
    acme.user("bob").post(f"{acme.path}/issues/{number}/comments", json={"body": "hello"})
    acme.user("alice").post(f"{acme.path}/statuses/{sha}", json={"state": "success", "context": "ci"})
    acme.bot().post(f"{acme.path}/check-runs", json={"name": "gate", "head_sha": sha}).raise_for_status()
    at = {"owner": "acme", "repo": "infra"}
    assert alice.pulls.get(**at, pull_number=number).parsed_data.head.sha == sha
    assert len(alice.pulls.list(**at).parsed_data) == 1
    assert alice.pulls.list_files(**at, pull_number=number).parsed_data[0].filename == "docs/guide"
    assert alice.pulls.list_commits(**at, pull_number=number).parsed_data[0].sha == sha
    reviews = alice.pulls.list_reviews(**at, pull_number=number).parsed_data
    assert [one.state for one in reviews] == ["APPROVED", "CHANGES_REQUESTED"]
    assert alice.pulls.list_requested_reviewers(**at, pull_number=number).parsed_data.users == []
    assert alice.issues.get(**at, issue_number=number).parsed_data.pull_request
    assert alice.issues.list_comments(**at, issue_number=number).parsed_data[0].body == "hello"
    events = alice.issues.list_events_for_timeline(**at, issue_number=number).parsed_data
    assert "reviewed" in [one.event for one in events]
    assert alice.checks.list_for_ref(**at, ref=sha).parsed_data.check_runs[0].name == "gate"
    assert alice.repos.get_combined_status_for_ref(**at, ref=sha).parsed_data.state == "success"
    assert alice.repos.list_commit_statuses_for_ref(**at, ref=sha).parsed_data[0].context == "ci"
    compared = alice.repos.compare_commits(**at, basehead="main...feature").parsed_data
    assert compared.ahead_by == 1
    assert (
        alice.repos.list_pull_requests_associated_with_commit(**at, commit_sha=sha).parsed_data[0].number
        == number
    )


def test_every_answer_about_a_repository_and_its_people_parses(acme: Acme, alice: Any) -> None:
    at = {"owner": "acme", "repo": "infra"}
    repository = alice.repos.get(**at).parsed_data
    assert repository.permissions.push
    assert alice.repos.get_branch(**at, branch="main").parsed_data.protected is False
    assert [one.name for one in alice.repos.list_branches(**at).parsed_data] == ["main"]
    assert alice.repos.get_content(**at, path="README.md").parsed_data.type == "file"
    assert {one.name for one in alice.repos.get_content(**at, path="").parsed_data} == {
        "CODEOWNERS",
        "README.md",
        "docs",
    }
    assert alice.git.get_tree(**at, tree_sha="main", recursive="1").parsed_data.truncated is False
    assert alice.git.list_matching_refs(**at, ref="heads/").parsed_data[0].ref == "refs/heads/main"
    commit = alice.repos.get_commit(**at, ref="main").parsed_data
    assert commit.author.login == "acme"
    assert alice.git.get_commit(**at, commit_sha=commit.sha).parsed_data.message == "Initial commit"
    assert alice.repos.list_commits(**at).parsed_data[0].sha == commit.sha
    assert {one.login for one in alice.repos.list_collaborators(**at).parsed_data} == {
        "root",
        "alice",
        "bob",
        "carol",
    }
    assert (
        alice.repos.get_collaborator_permission_level(**at, username="bob").parsed_data.permission == "write"
    )
    assert alice.repos.codeowners_errors(**at).parsed_data.errors == []
    assert alice.users.get_by_username("bob").parsed_data.login == "bob"
    assert alice.users.get_authenticated().parsed_data.login == "alice"
    assert alice.orgs.get("acme").parsed_data.login == "acme"
    assert alice.rate_limit.get().parsed_data.resources.core.limit == 5000
    with GitHub(
        TokenAuthStrategy(acme.world.token("bob")), base_url=acme.github.url, http_cache=False
    ) as client:
        bob = client.rest
        assert bob.teams.get_by_name("acme", "platform").parsed_data.members_count == 1
        assert bob.teams.list("acme").parsed_data[0].slug == "platform"
        assert bob.teams.list_members_in_org("acme", "platform").parsed_data[0].login == "bob"
        assert (
            bob.teams.get_membership_for_user_in_org("acme", "platform", "bob").parsed_data.state == "active"
        )
        assert bob.orgs.get_membership_for_user("acme", "bob").parsed_data.role == "member"


def test_every_answer_to_an_app_parses(acme: Acme) -> None:
    with GitHub(TokenAuthStrategy(acme.jwt()), base_url=acme.github.url, http_cache=False) as client:
        app = client.rest.apps
        assert app.get_authenticated().parsed_data.slug == "ownergate"
        assert app.list_installations().parsed_data[0].id == acme.installation.id
        assert app.get_installation(acme.installation.id).parsed_data.app_slug == "ownergate"
        assert app.get_repo_installation("acme", "infra").parsed_data.repository_selection == "selected"
        assert app.get_webhook_config_for_app().parsed_data.url == acme.receiver.url
        acme.github.wait_for_deliveries()
        deliveries = app.list_webhook_deliveries().parsed_data
        assert app.get_webhook_delivery(deliveries[0].id).parsed_data.request.headers
    with GitHub(TokenAuthStrategy(acme.token()), base_url=acme.github.url, http_cache=False) as client:
        listed = client.rest.apps.list_repos_accessible_to_installation().parsed_data
        assert listed.repositories[0].full_name == "acme/infra"


def test_every_webhook_parses(acme: Acme) -> None:
    pull = acme.pull()
    number, alice, bob = pull["number"], acme.user("alice"), acme.user("bob")
    given = acme.review(number, "bob", "APPROVE").json()
    bob.put(f"{acme.path}/pulls/{number}/reviews/{given['id']}", json={"body": "edited"})
    alice.put(f"{acme.path}/pulls/{number}/reviews/{given['id']}/dismissals", json={"message": "m"})
    alice.patch(f"{acme.path}/pulls/{number}", json={"title": "New", "body": "new", "state": "closed"})
    alice.patch(f"{acme.path}/pulls/{number}", json={"state": "open"})
    alice.post(f"{acme.path}/issues/{number}/labels", json={"labels": ["x"]})
    alice.delete(f"{acme.path}/issues/{number}/labels/x")
    alice.post(f"{acme.path}/pulls/{number}/requested_reviewers", json={"reviewers": ["carol"]})
    alice.request("DELETE", f"{acme.path}/pulls/{number}/requested_reviewers", json={"reviewers": ["carol"]})
    comment = alice.post(f"{acme.path}/issues/{number}/comments", json={"body": "c"}).json()
    alice.patch(f"{acme.path}/issues/comments/{comment['id']}", json={"body": "d"})
    alice.delete(f"{acme.path}/issues/comments/{comment['id']}")
    bot = acme.bot()
    asked = {"name": "gate", "head_sha": pull["head"]["sha"], "status": "completed", "conclusion": "success"}
    run = bot.post(f"{acme.path}/check-runs", json=asked).json()
    alice.post(f"{acme.path}/check-runs/{run['id']}/rerequest")
    alice.post(f"{acme.path}/statuses/{pull['head']['sha']}", json={"state": "pending"})
    issue = alice.post(f"{acme.path}/issues", json={"title": "i"}).json()
    alice.patch(f"{acme.path}/issues/{issue['number']}", json={"state": "closed"})
    acme.world.push(acme.repo, "feature", {"n": "1"}, author="alice")
    acme.world.add_to_team("acme/platform", "carol")
    acme.world.suspend(acme.installation)
    acme.world.unsuspend(acme.installation)
    acme.world.rename_repository(acme.repo, "renamed")
    acme.github.wait_for_deliveries()
    names = set(acme.receiver.names())
    assert {
        "installation.created",
        "installation.suspend",
        "installation.unsuspend",
        "check_run.created",
        "check_run.completed",
        "check_run.rerequested",
        "create",
        "issue_comment.created",
        "issue_comment.edited",
        "issue_comment.deleted",
        "issues.opened",
        "issues.closed",
        "membership.added",
        "pull_request.opened",
        "pull_request.edited",
        "pull_request.closed",
        "pull_request.reopened",
        "pull_request.labeled",
        "pull_request.unlabeled",
        "pull_request.review_requested",
        "pull_request.review_request_removed",
        "pull_request.synchronize",
        "pull_request_review.submitted",
        "pull_request_review.edited",
        "pull_request_review.dismissed",
        "push",
        "repository.renamed",
        "status",
    } <= names
    for one in acme.receiver.got:
        parse(one.event, json.dumps(one.payload))
