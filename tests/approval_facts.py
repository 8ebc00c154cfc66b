"""A request that @alice has rightly approved, as facts; tests change one thing and look at the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from policy import canonical, git_objects, manifest, request_files
from policy.approval import CommitEvidence, Decision, Requirement, decide
from policy.facts import (
    ChangedFile,
    CodeownersFact,
    CommitFact,
    Facts,
    OwnerFact,
    Person,
    PullRequestFact,
    ReviewFact,
    TreeFile,
)
from policy.manifest import Base, Execution, Manifest, Repository, Requester, Source, SourceFile, Target

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
REPOSITORY = 100
BASE, HEAD, TIP = "b" * 40, "c" * 40, "d" * 40

ALICE = Person(id=1, login="alice", is_bot=False)
BOB = Person(id=2, login="bob", is_bot=False)
CAROL = Person(id=3, login="carol", is_bot=False)
ASKER = Person(id=5, login="agent-owner", is_bot=False)
MALLORY = Person(id=9, login="mallory", is_bot=False)
APP = Person(id=77, login="ownergate[bot]", is_bot=True)
PEOPLE = (ALICE, BOB, CAROL, ASKER, MALLORY, APP)

CODEOWNERS = b"# who decides\n/terraform/web/ @acme/platform\n/terraform/db/ @bob\n"
SOURCE = {"terraform/web/main.tf": b'resource "terraform_data" "web" {}\n'}
RENDERING = b"# REPLACES 1\n"
BODY = "REPLACES 1 in web"


def source_of(files: Mapping[str, bytes], *, path: str = "terraform/web") -> Source:
    entries = tuple(
        SourceFile(path=name, sha256=canonical.sha256_bytes(content), size=len(content))
        for name, content in sorted(files.items())
    )
    return Source(path=path, sha256="5" * 64, files=entries)


def a_manifest(**changes: Any) -> Manifest:
    plain = Manifest(
        version=1,
        id="og-" + "0" * 26,
        tool="terraform_apply",
        tool_digest="1" * 64,
        arguments={"module": "web"},
        requester=Requester(agent="editor", person_id=ASKER.id, login=ASKER.login),
        reason="a bigger disk",
        repository=Repository(id=REPOSITORY, name="acme/infra"),
        base=Base(ref="main", sha=BASE),
        owned=("terraform/web/",),
        target=Target(name="demo", runner_pool="demo", cluster_uid=None, vault_mount="pki", backend=None),
        source=source_of(SOURCE),
        plan=None,
        execution=Execution(
            image="tools",
            image_sha256="2" * 64,
            steps=(),
            timeout_seconds=60,
            grace_seconds=5,
            providers_lock=None,
        ),
        policy_sha256="3" * 64,
        approvals_required=1,
        created_at=NOW - timedelta(hours=1),
        expires_at=NOW + timedelta(hours=1),
        nonce="4" * 64,
    )
    return replace(plain, **changes)


MANIFEST = a_manifest()
OWN_FILES = request_files.paths(MANIFEST)


def a_requirement(plain: Manifest = MANIFEST, **changes: Any) -> Requirement:
    requirement = Requirement(
        digest=manifest.digest(plain),
        manifest=plain,
        rendering=RENDERING,
        source=SOURCE if plain.source else None,
        head_sha=HEAD,
        required=1,
        barred=frozenset({ASKER.id}),
        allow_self_approval=False,
        app_user_id=APP.id,
        body=BODY,
        commit_evidence=CommitEvidence.WITNESSED,
        now=NOW,
    )
    return replace(requirement, **changes)


def review(person: Person | None = ALICE, state: str = "APPROVED", **changes: Any) -> ReviewFact:
    plain = ReviewFact(
        id=10, author=person, state=state, commit=HEAD, submitted_at=NOW, witnessed_commit=HEAD
    )
    return replace(plain, **changes)


def in_order(*reviews: ReviewFact) -> tuple[ReviewFact, ...]:
    """The reviews with growing ids and times."""
    return tuple(
        replace(one, id=10 + at, submitted_at=NOW + timedelta(minutes=at)) for at, one in enumerate(reviews)
    )


def owners(**people: Sequence[Person]) -> dict[str, OwnerFact]:
    """`owners(bob=[BOB], acme__platform=[ALICE])`: two underscores stand for the slash of a team."""
    names = {"@" + name.replace("__", "/"): folk for name, folk in people.items()}
    return {
        name: OwnerFact(
            name=name,
            people=frozenset(person.id for person in folk),
            unresolved=None if folk else "has no write access",
        )
        for name, folk in names.items()
    }


def codeowners(text: bytes | None, commit: str = BASE) -> CodeownersFact:
    return CodeownersFact(commit=commit, path=None if text is None else ".github/CODEOWNERS", text=text)


def a_pull_request(**changes: Any) -> PullRequestFact:
    plain = PullRequestFact(
        number=7,
        state="open",
        draft=False,
        merged=False,
        base_ref="main",
        base_repository_id=REPOSITORY,
        head_ref=f"ownergate/{MANIFEST.id}",
        head_repository_id=REPOSITORY,
        head_sha=HEAD,
        author=APP,
        title="Replace web",
        body=BODY,
        commits=(CommitFact(sha=HEAD, author_id=APP.id, committer_id=APP.id, parents=(BASE,)),),
        timeline=(),
        files=(
            ChangedFile(path=OWN_FILES.manifest, previous_path=None, status="added"),
            ChangedFile(path=OWN_FILES.rendering, previous_path=None, status="added"),
            ChangedFile(path="terraform/web/main.tf", previous_path=None, status="modified"),
        ),
        mergeable=None,
    )
    return replace(plain, **changes)


def some_facts(
    *reviews: ReviewFact,
    plain: Manifest = MANIFEST,
    text: bytes | None = CODEOWNERS,
    tip_text: bytes | None | str = "the same",
    head: Mapping[str, bytes] = SOURCE,
    **changes: Any,
) -> Facts:
    facts = Facts(
        read_at=NOW,
        repository_id=REPOSITORY,
        repository_name="acme/infra",
        pull_request=a_pull_request(),
        reviews=reviews,
        base_commit_codeowners=codeowners(text),
        tip_codeowners=codeowners(text if isinstance(tip_text, str) else tip_text, TIP),
        base_tip=TIP,
        owners=owners(acme__platform=[ALICE, CAROL, ASKER], bob=[BOB]),
        logins={person.id: person.login for person in PEOPLE},
        manifest=manifest.encode(plain),
        rendering=RENDERING,
        head_source=(
            {path: TreeFile(mode="100644", blob=git_objects.blob_id(text)) for path, text in head.items()}
            if plain.source
            else None
        ),
        changed_since_base=frozenset(),
        app_id=7,
        app_user_id=APP.id,
        limits=(),
        calls=0,
    )
    return replace(facts, **changes)


def verdict(*reviews: ReviewFact, requirement: Requirement | None = None, **changes: Any) -> Decision:
    """The decision about the usual request with these reviews and these changed facts."""
    return decide(some_facts(*reviews, **changes), requirement or a_requirement())
