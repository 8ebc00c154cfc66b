"""No verdict without coverage: the decision against a second, naive reading of the rules."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from policy.approval import Approved, CommitEvidence, Denied, Requirement, Void, Waiting, decide
from policy.facts import ChangedFile, Facts, OwnerFact, Person, ReviewFact
from tests.approval_facts import (
    APP,
    HEAD,
    NOW,
    SOURCE,
    TIP,
    a_manifest,
    a_pull_request,
    a_requirement,
    codeowners,
    some_facts,
    source_of,
)

PEOPLE = [Person(id=number, login=f"p{number}", is_bot=number == 4) for number in range(1, 6)]
OWNERS = ["@one", "@two", "@o/three"]
PATHS = ["terraform/web/", "terraform/db/", "terraform/web/main.tf", "terraform/web/new.tf"]
COMMITS = [HEAD, "e" * 40, None]

reviews = st.lists(
    st.builds(
        ReviewFact,
        id=st.integers(min_value=1, max_value=5),
        author=st.sampled_from([*PEOPLE, APP, None]),
        state=st.sampled_from(
            ["APPROVED", "APPROVED", "APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED"]
        ),
        commit=st.sampled_from([HEAD, *COMMITS]),
        submitted_at=st.integers(min_value=0, max_value=3).map(lambda at: NOW + timedelta(minutes=at)),
        witnessed_commit=st.sampled_from([HEAD, *COMMITS]),
    ),
    max_size=8,
    unique_by=lambda review: review.id,
)
people = st.frozensets(st.integers(min_value=1, max_value=5))
owner_facts = st.fixed_dictionaries(
    {
        name: st.builds(
            OwnerFact,
            name=st.just(name),
            people=people,
            unresolved=st.sampled_from([None, None, None, "is secret"]),
        )
        for name in OWNERS
    }
)
owner_lists = st.lists(st.sampled_from(OWNERS), min_size=1, max_size=3, unique=True)
lines = st.fixed_dictionaries({path: st.none() | owner_lists for path in PATHS})


def file_of(everything: list[str], special: dict[str, list[str] | None]) -> bytes:
    rows = [f"* {' '.join(everything)}"]
    rows += [f"/{path} {' '.join(special[path] or ())}" for path in PATHS if special[path]]
    return "\n".join(rows).encode()


@st.composite
def requests(draw: st.DrawFn) -> tuple[Facts, Requirement, dict[str, list[str]], bytes, bytes]:
    everything, special = draw(owner_lists), draw(lines)
    text = file_of(everything, special)
    tip_text = draw(st.just(text) | st.builds(file_of, owner_lists, lines))
    plain = a_manifest(
        owned=tuple(PATHS[:2]), source=source_of(SOURCE), approvals_required=draw(st.integers(0, 3))
    )
    new = ChangedFile(path=PATHS[3], previous_path=None, status="removed")
    facts = some_facts(
        *draw(reviews),
        plain=plain,
        text=text,
        owners=draw(owner_facts),
        tip_codeowners=codeowners(tip_text, TIP),
        pull_request=a_pull_request(
            files=(*a_pull_request().files, new), draft=draw(st.sampled_from([False] * 9 + [True]))
        ),
    )
    requirement = a_requirement(
        plain,
        required=draw(st.integers(0, 3)),
        barred=draw(people),
        allow_self_approval=draw(st.booleans()),
        commit_evidence=draw(st.sampled_from(CommitEvidence)),
    )
    owners_of = {
        path: special[path] or (special["terraform/web/"] if "web/" in path else None) or everything
        for path in PATHS
    }
    return facts, requirement, owners_of, text, tip_text


def naive(facts: Facts, requirement: Requirement, owners_of: dict[str, list[str]]) -> tuple[bool, bool]:
    """Whether the request is denied, and whether it is approved, written as the rules are spoken."""

    def owner_of(person: int, path: str) -> bool:
        return any(
            facts.owners[name].unresolved is None and person in facts.owners[name].people
            for name in owners_of[path]
        )

    def last_word(person: Person) -> ReviewFact | None:
        words = [
            one
            for one in facts.reviews
            if one.author == person and one.state in {"APPROVED", "CHANGES_REQUESTED", "DISMISSED"}
        ]
        return max(words, key=lambda one: (one.submitted_at, one.id)) if words else None

    denied, yes = False, set()
    for person in PEOPLE:
        word = last_word(person)
        if word is None or person.is_bot or not any(owner_of(person.id, path) for path in PATHS):
            continue
        if word.state == "CHANGES_REQUESTED":
            denied = True
        seen = (
            word.commit
            if requirement.commit_evidence is CommitEvidence.ONLY_COMMIT
            else word.witnessed_commit
        )
        barred = person.id in requirement.barred and not requirement.allow_self_approval
        if word.state == "APPROVED" and seen == HEAD and not barred:
            yes.add(person.id)
    covered = all(any(owner_of(person, path) for person in yes) for path in PATHS)
    number = max(1, requirement.required, requirement.manifest.approvals_required)
    return denied, covered and len(yes) >= number


@settings(max_examples=400, deadline=None)
@given(requests())
def test_the_verdict_is_the_one_that_the_rules_speak_of(
    case: tuple[Facts, Requirement, dict[str, list[str]], bytes, bytes],
) -> None:
    facts, requirement, owners_of, text, tip_text = case
    decision = decide(facts, requirement)
    denied, approved = naive(facts, requirement, owners_of)
    match decision:
        case Void():
            assert facts.pull_request.draft or text != tip_text
            assert decision.reasons
        case Denied():
            assert denied
            assert not decision.by.is_bot
        case Approved():
            assert approved
            assert not denied
            assert not facts.pull_request.draft
            assert {path for one in decision.approvals for path in one.covers} == set(PATHS)
            assert len({one.person.id for one in decision.approvals}) == len(decision.approvals)
            assert {one.review_id for one in decision.approvals} <= {one.id for one in facts.reviews}
        case Waiting():
            assert not approved
            assert not denied
            assert decision.still_needed >= 1
    if text == tip_text and not facts.pull_request.draft:
        assert isinstance(decision, Denied) is denied
        assert isinstance(decision, Approved) is (approved and not denied)


@settings(max_examples=100, deadline=None)
@given(requests())
def test_the_order_in_which_github_lists_reviews_does_not_matter(
    case: tuple[Facts, Requirement, dict[str, list[str]], bytes, bytes],
) -> None:
    facts, requirement, *_ = case
    turned = decide(replace(facts, reviews=facts.reviews[::-1]), requirement)
    assert type(turned) is type(decide(facts, requirement))


@settings(max_examples=200, deadline=None)
@given(requests())
def test_who_may_approve_really_can(
    case: tuple[Facts, Requirement, dict[str, list[str]], bytes, bytes],
) -> None:
    facts, requirement, *_ = case
    decision = decide(facts, requirement)
    if not isinstance(decision, Waiting) or not all(decision.may_approve.values()):
        return
    by_login = {facts.logins.get(person.id, f"user {person.id}"): person for person in PEOPLE}
    chosen = {logins[0] for logins in decision.may_approve.values()}
    given_now = tuple(
        ReviewFact(
            id=100 + at,
            author=replace(by_login[login], is_bot=False),
            state="APPROVED",
            commit=HEAD,
            submitted_at=NOW + timedelta(days=1),
            witnessed_commit=HEAD,
        )
        for at, login in enumerate(sorted(chosen))
    )
    after = decide(replace(facts, reviews=facts.reviews + given_now), requirement)
    assert isinstance(after, Approved) or (
        isinstance(after, Waiting) and not after.missing_paths and after.still_needed < 3
    )
