"""Rules 1 to 8: what voids a request, whoever approved it.

Each rule is a function that yields a finding for each cause. A request that the App did not make, or
that is not as the App made it, can't be approved: people may have seen something else.
"""

from __future__ import annotations

from collections.abc import Iterator

from policy import canonical, deciding_paths, git_objects, request_files
from policy import manifest as manifests
from policy.facts import DISTURBING_EVENTS, Facts, Person
from policy.findings import Finding, FindingCode, no, some
from policy.manifest import Source
from policy.requirement import Requirement


def causes(facts: Facts, requirement: Requirement) -> tuple[Finding, ...]:
    """Every cause that voids the request, in the order of the rules; empty when none does."""
    return (
        *_request(requirement),
        *_limits(facts),
        *_repository(facts, requirement),
        *_pull_request(facts, requirement),
        *_timeline(facts),
        *_commit(facts, requirement),
        *_files(facts, requirement),
        *_source(facts, requirement),
        *_base(facts, requirement),
    )


def _request(requirement: Requirement) -> Iterator[Finding]:
    """Rule 1."""
    if manifests.digest(requirement.manifest) != requirement.digest:
        yield no(
            FindingCode.DIGEST_DIFFERS,
            "digest",
            f"The digest {requirement.digest[:16]}… is not the one of this request's manifest.",
        )
    if requirement.now >= requirement.manifest.expires_at:
        yield no(FindingCode.EXPIRED, "request", "The time in which this could be approved is over.")


def _limits(facts: Facts) -> Iterator[Finding]:
    """Rule 2."""
    for limit in facts.limits:
        yield no(FindingCode.FACTS_INCOMPLETE, "pull request", limit)


def _repository(facts: Facts, requirement: Requirement) -> Iterator[Finding]:
    """Rule 3."""
    expected = requirement.manifest.repository
    if (facts.repository_id, facts.repository_name) != (expected.id, expected.name):
        yield no(
            FindingCode.REPOSITORY_MOVED,
            "repository",
            f"This was asked for in {expected.name} (number {expected.id}), and the repository is now "
            f"{facts.repository_name} (number {facts.repository_id}).",
        )


def _pull_request(facts: Facts, requirement: Requirement) -> Iterator[Finding]:
    """Rule 4."""
    pull, base = facts.pull_request, requirement.manifest.base
    repository = requirement.manifest.repository.id
    subject = f"pull request #{pull.number}"
    author = pull.author.id if pull.author else None
    if not author == facts.app_user_id == requirement.app_user_id:
        yield no(FindingCode.PULL_REQUEST_NOT_OURS, subject, "The App did not open this pull request.")
    if pull.merged:
        yield no(FindingCode.PULL_REQUEST_MERGED, subject, "The pull request was merged by hand.")
    elif pull.state != "open":
        yield no(FindingCode.PULL_REQUEST_CLOSED, subject, "The pull request is closed.")
    if pull.draft:
        yield no(FindingCode.PULL_REQUEST_DRAFT, subject, "The pull request was made a draft.")
    if (pull.base_ref, pull.base_repository_id) != (base.ref, repository):
        yield no(
            FindingCode.BASE_CHANGED,
            subject,
            f"The pull request's base is {some([pull.base_ref])}, and this was asked for on {base.ref}.",
        )
    if pull.head_repository_id != repository:
        yield no(FindingCode.HEAD_DIFFERS, subject, "The request's branch is not in this repository.")
    if requirement.body is not None and pull.body != requirement.body:
        yield no(FindingCode.BODY_EDITED, subject, "The pull request's text was edited.")


def _timeline(facts: Facts) -> Iterator[Finding]:
    """Rule 5."""
    for event in facts.pull_request.timeline:
        what = DISTURBING_EVENTS.get(event.event, f"{some([event.event])} happened to the pull request")
        by = f" by {_name(event.actor)}" if event.actor else ""
        yield no(FindingCode.DISTURBED, event.event, f"{what[0].upper()}{what[1:]}{by}.")


def _commit(facts: Facts, requirement: Requirement) -> Iterator[Finding]:
    """Rule 6."""
    pull = facts.pull_request
    if pull.head_sha != requirement.head_sha:
        yield no(
            FindingCode.HEAD_DIFFERS,
            "head",
            f"The pull request is at {pull.head_sha[:7]}, and the App's commit is "
            f"{requirement.head_sha[:7]}.",
        )
    if len(pull.commits) != 1:
        yield no(
            FindingCode.COMMITS_ADDED,
            "commits",
            f"The pull request has {len(pull.commits)} commits; it must have the App's alone.",
        )
    for commit in pull.commits:
        short = commit.sha[:7]
        if commit.author_id != requirement.app_user_id:
            reason = f"Commit {short} was not made by the App."
        elif commit.parents != (requirement.manifest.base.sha,):
            reason = f"Commit {short} does not stand on {requirement.manifest.base.sha[:7]} alone."
        elif commit.sha != requirement.head_sha:
            reason = f"Commit {short} is not the commit that the App made for this request."
        else:
            continue
        yield no(FindingCode.COMMIT_NOT_OURS, f"commit {short}", reason)


def _files(facts: Facts, requirement: Requirement) -> Iterator[Finding]:
    """Rule 7, the files of the pull request."""
    manifest = requirement.manifest
    if not manifest.owned:
        yield no(FindingCode.NOTHING_OWNED, "owned paths", "The request names no path whose owners decide.")
        return
    own = request_files.paths(manifest)
    names = (
        name
        for file in facts.pull_request.files
        for name in (file.path, file.previous_path)
        if name is not None
    )
    unexpected = [
        name
        for name in names
        if name not in (own.manifest, own.rendering) and not deciding_paths.in_source(name, manifest)
    ]
    if unexpected:
        yield no(
            FindingCode.FILE_UNEXPECTED,
            "files",
            f"The pull request changes {some(unexpected)}, and that is no part of this request.",
        )
    if facts.manifest != manifests.encode(manifest):
        yield no(
            FindingCode.MANIFEST_FILE_DIFFERS,
            own.manifest,
            f"{own.manifest} at the head is not the manifest of this request.",
        )
    if facts.rendering != requirement.rendering:
        yield no(
            FindingCode.RENDERING_FILE_DIFFERS,
            own.rendering,
            f"{own.rendering} at the head is not the rendering of this request.",
        )


def _source(facts: Facts, requirement: Requirement) -> Iterator[Finding]:
    """Rule 7, the source: manifest, the bytes that would run and the head must say the same."""
    source = requirement.manifest.source
    if source is None:
        if requirement.source is not None or facts.head_source is not None:
            yield no(FindingCode.SOURCE_DIFFERS, "source", "The request has no source, and one was given.")
        return
    differing = _differing(source, requirement, facts)
    if differing:
        yield no(
            FindingCode.SOURCE_DIFFERS,
            "source",
            f"What would run is not what the pull request shows in {some(differing)}.",
        )


def _differing(source: Source, requirement: Requirement, facts: Facts) -> list[str]:
    contents, at_head = requirement.source or {}, facts.head_source or {}
    named = {file.path: file for file in source.files}
    differing = sorted(named.keys() ^ contents.keys() | named.keys() ^ at_head.keys())
    for path in sorted(named.keys() & contents.keys() & at_head.keys()):
        file, content, entry = named[path], contents[path], at_head[path]
        if (
            (file.sha256, file.size) != (canonical.sha256_bytes(content), len(content))
            or entry.blob != git_objects.blob_id(content)
            or entry.mode not in git_objects.REGULAR_MODES
        ):
            differing.append(path)
    return differing or ([source.path] if not source.files else [])


def _base(facts: Facts, requirement: Requirement) -> Iterator[Finding]:
    """Rule 8."""
    if facts.changed_since_base:
        yield no(
            FindingCode.BASE_SOURCE_MOVED,
            requirement.manifest.base.ref,
            f"{some(sorted(facts.changed_since_base))} changed on {requirement.manifest.base.ref} since "
            "this was planned.",
        )


def _name(person: Person) -> str:
    return f"@{person.login}"
