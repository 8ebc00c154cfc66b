"""Which events a job may report, and which state an outcome leads to."""

from __future__ import annotations

import pytest

from bot import job_rules
from policy.audit import Kind
from policy.runner_protocol import JobKind, JobOutcome
from policy.states import State, Tier, is_final, may_follow

ORDER = [
    Kind.GRANT_SPENT,
    Kind.CREDENTIAL_REQUESTED,
    Kind.CREDENTIAL_ISSUED,
    Kind.SANDBOX_STARTED,
    Kind.SANDBOX_COMPLETED,
    Kind.CREDENTIAL_REVOKED,
]


def test_an_execution_in_order_is_taken() -> None:
    for position, event in enumerate(ORDER):
        assert job_rules.misplaced(JobKind.EXECUTE, State.CLAIMED, ORDER[:position], event) is None


@pytest.mark.parametrize("event", ORDER[1:])
def test_nothing_of_an_execution_comes_before_spending(event: Kind) -> None:
    assert job_rules.misplaced(JobKind.EXECUTE, State.CLAIMED, [], event) is not None


@pytest.mark.parametrize("state", [State.PENDING, State.GRANTED, State.SUCCEEDED, State.VOID])
def test_an_execution_reports_only_after_its_claim(state: State) -> None:
    assert job_rules.misplaced(JobKind.EXECUTE, state, [], Kind.GRANT_SPENT) is not None
    assert job_rules.misplaced(JobKind.EXECUTE, state, [], Kind.RUNNER_REFUSED) is None


@pytest.mark.parametrize(
    "event",
    [Kind.TOOL_REQUEST, Kind.APPROVAL_GIVEN, Kind.GRANT_ISSUED, Kind.GRANT_CLAIMED, Kind.TOOL_RESULT],
)
@pytest.mark.parametrize("kind", list(JobKind))
def test_what_is_the_bots_own_is_never_a_runners(kind: JobKind, event: Kind) -> None:
    assert job_rules.misplaced(kind, State.RUNNING, ORDER, event) is not None


def test_a_second_sandbox_has_a_beginning_and_an_end_of_its_own() -> None:
    seen = [Kind.SANDBOX_STARTED, Kind.SANDBOX_COMPLETED]
    assert job_rules.misplaced(JobKind.PLAN, State.PLANNING, seen, Kind.SANDBOX_COMPLETED) is not None
    assert job_rules.misplaced(JobKind.PLAN, State.PLANNING, seen, Kind.SANDBOX_STARTED) is None


@pytest.mark.parametrize("kind", [JobKind.READ, JobKind.EXECUTE])
@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("outcome", list(JobOutcome))
def test_every_end_is_one_that_the_table_of_states_has(
    kind: JobKind, state: State, outcome: JobOutcome
) -> None:
    tier = Tier.READ if kind is JobKind.READ else Tier.DESTRUCTIVE
    end = job_rules.end_of(kind, state, outcome)
    if end is not None:
        assert may_follow(tier, state, end)
        assert is_final(end)


@pytest.mark.parametrize("outcome", [JobOutcome.SUCCEEDED, JobOutcome.PLANNED])
def test_nothing_succeeds_without_running(outcome: JobOutcome) -> None:
    for kind in JobKind:
        for state in set(State) - {State.RUNNING}:
            assert job_rules.end_of(kind, state, outcome) is None


def test_only_the_tool_itself_makes_a_request_run() -> None:
    started = Kind.SANDBOX_STARTED
    assert job_rules.starts_running(Tier.READ, JobKind.READ, State.RECEIVED, started)
    assert job_rules.starts_running(Tier.DESTRUCTIVE, JobKind.EXECUTE, State.CLAIMED, started)
    assert not job_rules.starts_running(Tier.DESTRUCTIVE, JobKind.PLAN, State.PLANNING, started)
    assert not job_rules.starts_running(Tier.READ, JobKind.READ, State.RUNNING, started)
