"""PyGithub, the client of the bot, works against the simulator, under both API roots."""

import github
import pytest
from github import Auth, Github, GithubIntegration, InputGitTreeElement

from tests.unit.github_simulator.conftest import Acme

FAST = {"seconds_between_requests": 0, "seconds_between_writes": 0, "retry": None}


@pytest.fixture(params=["", "/api/v3"])
def root(acme: Acme, request: pytest.FixtureRequest) -> str:
    return acme.github.url + request.param


def person(acme: Acme, root: str, login: str) -> Github:
    return Github(auth=Auth.Token(acme.world.token(login)), base_url=root, **FAST)


def test_the_bot_opens_a_pull_request_from_git_objects_and_a_person_approves(acme: Acme, root: str) -> None:
    integration = GithubIntegration(
        auth=Auth.AppAuth(acme.app.id, acme.app.private_key_pem), base_url=root, **FAST
    )
    assert integration.get_app().slug == "ownergate"
    assert integration.get_repo_installation("acme", "infra").id == acme.installation.id
    bot = integration.get_github_for_installation(acme.installation.id)
    repo = bot.get_repo("acme/infra")
    base = repo.get_git_ref("heads/main").object.sha
    blob = repo.create_git_blob("hello\n", "utf-8")
    element = InputGitTreeElement("docs/new.md", "100644", "blob", sha=blob.sha)
    tree = repo.create_git_tree([element], repo.get_git_tree(base))
    commit = repo.create_git_commit("Add docs", tree, [repo.get_git_commit(base)])
    ref = repo.create_git_ref("refs/heads/ownergate/1", commit.sha)
    pull = repo.create_pull(base="main", head="ownergate/1", title="Add docs", body="| a |\n|---|\n| b |")
    assert pull.user.login == "ownergate[bot]"
    assert pull.user.type == "Bot"
    assert [file.filename for file in pull.get_files()] == ["docs/new.md"]
    assert [one.sha for one in pull.get_commits()] == [commit.sha]
    assert [user.login for user in pull.get_review_requests()[0]] == ["carol"]

    check = repo.create_check_run(
        "ownergate",
        commit.sha,
        status="in_progress",
        external_id="r1",
        output={
            "title": "Waiting",
            "summary": "for an owner",
            "annotations": [
                {
                    "path": "docs/new.md",
                    "start_line": 1,
                    "end_line": 1,
                    "annotation_level": "notice",
                    "message": "new",
                }
            ],
        },
    )
    check.edit(status="completed", conclusion="success")
    assert repo.get_check_run(check.id).conclusion == "success"
    assert [one.message for one in check.get_annotations()] == ["new"]

    comment = pull.create_issue_comment("status")
    comment.edit("status: approved")
    assert pull.get_issue_comment(comment.id).body == "status: approved"

    carol = person(acme, root, "carol").get_repo("acme/infra").get_pull(pull.number)
    given = carol.create_review(commit=carol.base.repo.get_commit(commit.sha), body="ok", event="APPROVE")
    assert [(one.user.login, one.state, one.commit_id) for one in pull.get_reviews()] == [
        ("carol", "APPROVED", commit.sha)
    ]
    assert given.id == next(iter(pull.get_reviews())).id

    with pytest.raises(github.GithubException) as mismatch:
        pull.merge(sha="f" * 40)
    assert mismatch.value.status == 409
    assert pull.merge(sha=commit.sha, merge_method="squash").merged
    ref.delete()
    assert pull.update()
    assert pull.merged
    assert repo.get_contents("docs/new.md").decoded_content == b"hello\n"


def test_teams_and_permissions_are_read_the_way_the_bot_reads_them(acme: Acme, root: str) -> None:
    acme.world.add_user("erin")
    acme.world.add_team("acme", "oncall", members=["erin"], parent="platform")
    integration = GithubIntegration(
        auth=Auth.AppAuth(acme.app.id, acme.app.private_key_pem), base_url=root, **FAST
    )
    bot = integration.get_github_for_installation(acme.installation.id)
    team = bot.get_organization("acme").get_team_by_slug("platform")
    assert {member.login for member in team.get_members()} == {"bob", "erin"}
    assert team.get_team_membership("erin").state == "active"
    with pytest.raises(github.UnknownObjectException):
        team.get_team_membership("alice")
    repo = bot.get_repo("acme/infra")
    assert repo.get_collaborator_permission("bob") == "write"
    assert repo.get_collaborator_permission("dave") == "none"
    assert repo.get_contents("CODEOWNERS", ref="main").decoded_content.startswith(b"* @acme/platform")


def test_issues_labels_statuses_and_conditional_reads(acme: Acme, root: str) -> None:
    alice = person(acme, root, "alice")
    repo = alice.get_repo("acme/infra")
    issue = repo.create_issue("Rotate", body="please", labels=["approval"])
    issue.add_to_labels("later")
    issue.remove_from_labels("approval")
    assert [label.name for label in repo.get_issue(issue.number).labels] == ["later"]
    issue.edit(state="closed")
    assert [event.event for event in issue.get_timeline()] == ["labeled", "unlabeled", "closed"]
    commit = repo.get_commit("main")
    commit.create_status("success", context="ci")
    assert commit.get_combined_status().state == "success"
    assert not repo.update()
    assert alice.get_rate_limit().rate.limit == 5000


def test_an_unknown_token_is_bad_credentials(acme: Acme, root: str) -> None:
    with pytest.raises(github.BadCredentialsException):
        Github(auth=Auth.Token("ghp_nobody"), base_url=root, **FAST).get_user().login  # noqa: B018
