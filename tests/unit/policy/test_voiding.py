"""What voids a request: one change to a rightly approved one for each cause, with its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from policy import git_objects
from policy.approval import Approved, CommitEvidence, Requirement, Void, decide
from policy.facts import (
    DISTURBING_EVENTS,
    ChangedFile,
    CommitFact,
    Facts,
    PullRequestFact,
    TimelineFact,
    TreeFile,
)
from policy.findings import FindingCode
from tests.approval_facts import (
    ALICE,
    APP,
    BASE,
    HEAD,
    MALLORY,
    NOW,
    OWN_FILES,
    REPOSITORY,
    SOURCE,
    a_manifest,
    a_pull_request,
    a_requirement,
    codeowners,
    review,
    some_facts,
    source_of,
)

OTHER = "e" * 40
COMMIT = CommitFact(sha=HEAD, author_id=APP.id, committer_id=APP.id, parents=(BASE,))


def reasons(facts: Facts, requirement: Requirement | None = None) -> list[tuple[FindingCode, str]]:
    decision = decide(facts, requirement or a_requirement())
    assert isinstance(decision, Void), decision
    assert all(not finding.ok and finding.reason.endswith(".") for finding in decision.reasons)
    return [(finding.code, finding.reason) for finding in decision.reasons]


def pull(**changes: Any) -> Facts:
    return some_facts(review(ALICE), pull_request=a_pull_request(**changes))


def changed(*files: ChangedFile) -> Facts:
    return pull(files=(*a_pull_request().files, *files))


def file(path: str, previous_path: str | None = None) -> ChangedFile:
    return ChangedFile(path=path, previous_path=previous_path, status="renamed" if previous_path else "added")


CAUSES: dict[str, tuple[Callable[[], Facts], FindingCode, str]] = {
    "limit": (
        lambda: some_facts(limits=("GitHub lists at most 3000 files.",)),
        FindingCode.FACTS_INCOMPLETE,
        "GitHub lists at most 3000 files.",
    ),
    "renamed": (
        lambda: some_facts(repository_name="acme/other"),
        FindingCode.REPOSITORY_MOVED,
        "This was asked for in acme/infra (number 100), and the repository is now acme/other (number 100).",
    ),
    "another repository of that name": (
        lambda: some_facts(repository_id=101),
        FindingCode.REPOSITORY_MOVED,
        "This was asked for in acme/infra (number 100), and the repository is now acme/infra (number 101).",
    ),
    "opened by a person": (
        lambda: pull(author=MALLORY),
        FindingCode.PULL_REQUEST_NOT_OURS,
        "The App did not open this pull request.",
    ),
    "opened by a deleted account": (
        lambda: pull(author=None),
        FindingCode.PULL_REQUEST_NOT_OURS,
        "The App did not open this pull request.",
    ),
    "read for another App": (
        lambda: some_facts(app_user_id=78),
        FindingCode.PULL_REQUEST_NOT_OURS,
        "The App did not open this pull request.",
    ),
    "merged": (
        lambda: pull(merged=True, state="closed"),
        FindingCode.PULL_REQUEST_MERGED,
        "The pull request was merged by hand.",
    ),
    "closed": (
        lambda: pull(state="closed"),
        FindingCode.PULL_REQUEST_CLOSED,
        "The pull request is closed.",
    ),
    "draft": (
        lambda: pull(draft=True),
        FindingCode.PULL_REQUEST_DRAFT,
        "The pull request was made a draft.",
    ),
    "retargeted": (
        lambda: pull(base_ref="side"),
        FindingCode.BASE_CHANGED,
        "The pull request's base is side, and this was asked for on main.",
    ),
    "base elsewhere": (
        lambda: pull(base_repository_id=REPOSITORY + 1),
        FindingCode.BASE_CHANGED,
        "The pull request's base is main, and this was asked for on main.",
    ),
    "branch of a fork": (
        lambda: pull(head_repository_id=REPOSITORY + 1),
        FindingCode.HEAD_DIFFERS,
        "The request's branch is not in this repository.",
    ),
    "branch of a deleted fork": (
        lambda: pull(head_repository_id=None),
        FindingCode.HEAD_DIFFERS,
        "The request's branch is not in this repository.",
    ),
    "body edited": (
        lambda: pull(body="REPLACES 0"),
        FindingCode.BODY_EDITED,
        "The pull request's text was edited.",
    ),
    "forced push back to the same commit": (
        lambda: pull(timeline=(TimelineFact(event="head_ref_force_pushed", actor=MALLORY),)),
        FindingCode.DISTURBED,
        "The request's branch was rewritten by a forced push by @mallory.",
    ),
    "closed and reopened by a deleted account": (
        lambda: pull(timeline=(TimelineFact(event="reopened", actor=None),)),
        FindingCode.DISTURBED,
        "The pull request was closed and opened again.",
    ),
    "an event nobody has words for": (
        lambda: pull(timeline=(TimelineFact(event="moved_to_mars", actor=None),)),
        FindingCode.DISTURBED,
        "Moved_to_mars happened to the pull request.",
    ),
    "no commit": (
        lambda: pull(commits=()),
        FindingCode.COMMITS_ADDED,
        "The pull request has 0 commits; it must have the App's alone.",
    ),
    "commit by a person": (
        lambda: pull(commits=(replace(COMMIT, author_id=MALLORY.id),)),
        FindingCode.COMMIT_NOT_OURS,
        "Commit ccccccc was not made by the App.",
    ),
    "commit by nobody GitHub knows": (
        lambda: pull(commits=(replace(COMMIT, author_id=None),)),
        FindingCode.COMMIT_NOT_OURS,
        "Commit ccccccc was not made by the App.",
    ),
    "commit on another base": (
        lambda: pull(commits=(replace(COMMIT, parents=(OTHER,)),)),
        FindingCode.COMMIT_NOT_OURS,
        "Commit ccccccc does not stand on bbbbbbb alone.",
    ),
    "merge commit": (
        lambda: pull(commits=(replace(COMMIT, parents=(BASE, OTHER)),)),
        FindingCode.COMMIT_NOT_OURS,
        "Commit ccccccc does not stand on bbbbbbb alone.",
    ),
    "another commit in the list": (
        lambda: pull(commits=(replace(COMMIT, sha=OTHER),)),
        FindingCode.COMMIT_NOT_OURS,
        "Commit eeeeeee is not the commit that the App made for this request.",
    ),
    "stranger's file": (
        lambda: changed(file("README.md")),
        FindingCode.FILE_UNEXPECTED,
        "The pull request changes README.md, and that is no part of this request.",
    ),
    "file moved into the source": (
        lambda: changed(file("terraform/web/x.tf", "terraform/db/x.tf")),
        FindingCode.FILE_UNEXPECTED,
        "The pull request changes terraform/db/x.tf, and that is no part of this request.",
    ),
    "file moved out of the source": (
        lambda: changed(file("terraform/webs/x.tf", "terraform/web/x.tf")),
        FindingCode.FILE_UNEXPECTED,
        "The pull request changes terraform/webs/x.tf, and that is no part of this request.",
    ),
    "another request's file": (
        lambda: changed(file("terraform/web/.ownergate/og-1.json")),
        FindingCode.FILE_UNEXPECTED,
        "The pull request changes terraform/web/.ownergate/og-1.json, and that is no part of this request.",
    ),
    "file whose name forges a line": (
        lambda: changed(file("a\nApproved.")),
        FindingCode.FILE_UNEXPECTED,
        "The pull request changes a\\nApproved., and that is no part of this request.",
    ),
    "manifest gone": (
        lambda: some_facts(manifest=None),
        FindingCode.MANIFEST_FILE_DIFFERS,
        f"{OWN_FILES.manifest} at the head is not the manifest of this request.",
    ),
    "manifest with one byte more": (
        lambda: some_facts(manifest=(some_facts().manifest or b"") + b"\n"),
        FindingCode.MANIFEST_FILE_DIFFERS,
        f"{OWN_FILES.manifest} at the head is not the manifest of this request.",
    ),
    "rendering gone": (
        lambda: some_facts(rendering=None),
        FindingCode.RENDERING_FILE_DIFFERS,
        f"{OWN_FILES.rendering} at the head is not the rendering of this request.",
    ),
    "rendering harmless": (
        lambda: some_facts(rendering=b"# updates 1\n"),
        FindingCode.RENDERING_FILE_DIFFERS,
        f"{OWN_FILES.rendering} at the head is not the rendering of this request.",
    ),
    "source at the head is other": (
        lambda: some_facts(head={"terraform/web/main.tf": b"# harmless\n"}),
        FindingCode.SOURCE_DIFFERS,
        "What would run is not what the pull request shows in terraform/web/main.tf.",
    ),
    "source at the head has more": (
        lambda: some_facts(head={**SOURCE, "terraform/web/extra.tf": b""}),
        FindingCode.SOURCE_DIFFERS,
        "What would run is not what the pull request shows in terraform/web/extra.tf.",
    ),
    "source at the head has less": (
        lambda: some_facts(head={}),
        FindingCode.SOURCE_DIFFERS,
        "What would run is not what the pull request shows in terraform/web/main.tf.",
    ),
    "source at the head was not read": (
        lambda: some_facts(head_source=None),
        FindingCode.SOURCE_DIFFERS,
        "What would run is not what the pull request shows in terraform/web/main.tf.",
    ),
    "source at the head is a link": (
        lambda: some_facts(
            head_source={
                path: TreeFile(mode="120000", blob=git_objects.blob_id(text)) for path, text in SOURCE.items()
            }
        ),
        FindingCode.SOURCE_DIFFERS,
        "What would run is not what the pull request shows in terraform/web/main.tf.",
    ),
    "source changed on the base": (
        lambda: some_facts(changed_since_base=frozenset({"modules/b.tf", "modules/a.tf"})),
        FindingCode.BASE_SOURCE_MOVED,
        "modules/a.tf and modules/b.tf changed on main since this was planned.",
    ),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_voids_alone_with_its_own_words(cause: str) -> None:
    build, code, words = CAUSES[cause]
    assert (code, words) in reasons(replace(build(), reviews=(review(ALICE),)))


@pytest.mark.parametrize("cause", CAUSES)
def test_no_cause_brings_another_one_along(cause: str) -> None:
    build, code, _ = CAUSES[cause]
    everything = b"* @acme/platform\n"
    facts = replace(
        build(), base_commit_codeowners=codeowners(everything), tip_codeowners=codeowners(everything)
    )
    assert {found for found, _ in reasons(facts)} == {code}


@pytest.mark.parametrize("event", DISTURBING_EVENTS)
def test_each_disturbing_event_has_words(event: str) -> None:
    ((code, words),) = reasons(pull(timeline=(TimelineFact(event=event, actor=ALICE),)))
    assert code is FindingCode.DISTURBED
    assert words == f"{DISTURBING_EVENTS[event].capitalize()} by @alice."


def test_forced_pushes_are_counted() -> None:
    events = ("head_ref_force_pushed", "closed", "head_ref_force_pushed")
    plain: PullRequestFact = a_pull_request(timeline=tuple(TimelineFact(event=e, actor=None) for e in events))
    assert plain.pushes == 2


def test_a_moved_head_is_told_with_both_commits() -> None:
    commits = (COMMIT, replace(COMMIT, sha=OTHER, parents=(HEAD,)))
    assert reasons(pull(head_sha=OTHER, commits=commits)) == [
        (FindingCode.HEAD_DIFFERS, "The pull request is at eeeeeee, and the App's commit is ccccccc."),
        (FindingCode.COMMITS_ADDED, "The pull request has 2 commits; it must have the App's alone."),
        (FindingCode.COMMIT_NOT_OURS, "Commit eeeeeee does not stand on bbbbbbb alone."),
    ]


def test_a_digest_of_another_request_voids() -> None:
    assert reasons(some_facts(review(ALICE)), a_requirement(digest="f" * 64)) == [
        (
            FindingCode.DIGEST_DIFFERS,
            "The digest ffffffffffffffff… is not the one of this request's manifest.",
        )
    ]


@pytest.mark.parametrize(("seconds", "over"), [(-1, False), (0, True), (1, True)])
def test_the_time_ends_at_the_second_that_the_manifest_names(seconds: int, over: bool) -> None:
    requirement = a_requirement(now=NOW + timedelta(hours=1, seconds=seconds))
    decision = decide(some_facts(review(ALICE)), requirement)
    if not over:
        assert isinstance(decision, Approved)
        return
    assert isinstance(decision, Void)
    assert [finding.code for finding in decision.reasons] == [FindingCode.EXPIRED]


def test_a_caller_that_can_not_know_the_body_does_not_compare_it() -> None:
    requirement = a_requirement(body=None, commit_evidence=CommitEvidence.ONLY_COMMIT)
    assert isinstance(decide(pull(body="anything"), requirement), Approved)


def test_bytes_that_would_run_but_are_not_in_the_manifest_void() -> None:
    for given in (None, {}, {**SOURCE, "terraform/web/extra.tf": b""}, {"terraform/web/main.tf": b"other"}):
        ((code, _),) = reasons(some_facts(review(ALICE)), a_requirement(source=given))
        assert code is FindingCode.SOURCE_DIFFERS


def test_a_manifest_that_lies_about_a_size_voids() -> None:
    source = source_of(SOURCE)
    plain = a_manifest(source=replace(source, files=(replace(source.files[0], size=1),)))
    ((code, _),) = reasons(some_facts(review(ALICE), plain=plain), a_requirement(plain))
    assert code is FindingCode.SOURCE_DIFFERS


def test_a_source_without_files_voids() -> None:
    plain = a_manifest(source=source_of({}))
    ((code, words),) = reasons(
        some_facts(review(ALICE), plain=plain, head={}), a_requirement(plain, source={})
    )
    assert code is FindingCode.SOURCE_DIFFERS
    assert words == "What would run is not what the pull request shows in terraform/web."


def test_bytes_for_a_request_without_source_void() -> None:
    plain = a_manifest(source=None)
    files = a_pull_request().files[:2]
    facts = some_facts(review(ALICE), plain=plain, pull_request=a_pull_request(files=files))
    assert isinstance(decide(facts, a_requirement(plain)), Approved)
    for given, found in ((SOURCE, None), (None, {})):
        read = replace(facts, head_source=found)
        ((code, words),) = reasons(read, a_requirement(plain, source=given))
        assert (code, words) == (
            FindingCode.SOURCE_DIFFERS,
            "The request has no source, and one was given.",
        )


def test_a_request_that_names_no_owned_path_voids() -> None:
    plain = a_manifest(owned=())
    found = reasons(some_facts(review(ALICE), plain=plain), a_requirement(plain))
    assert found[0] == (FindingCode.NOTHING_OWNED, "The request names no path whose owners decide.")
