"""Requests under everything at once: agents, people, runners, clocks, lost webhooks, errors of GitHub.

Whatever happens in whatever order: states follow the table, nothing is claimed twice, nothing is claimed
without an owner's approval of exactly that commit, the audit chain holds and tells the same story, and
once everything has come to rest, every pull request says what the database says.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import celpy
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bot import request_store, wording
from bot.request_tables import OPEN
from policy.audit import Kind
from policy.receipt import Outcome
from policy.refusal import Refused
from policy.runner_protocol import Job, JobKind, JobOutcome
from policy.states import TRANSITIONS, State, Tier
from tests.living_bot import LivingBot, living
from tests.scripted_runner import ScriptedRunner

# CEL's environment raises the recursion limit; Hypothesis warns when that happens in the middle of a test.
celpy.Environment()

LONG = "OWNERGATE_LONG_PROPERTIES" in os.environ
"""Set it to search for long; the short search is for every run of the tests."""


def reachable(before: State, after: State) -> bool:
    """Whether the table of states has a way from one to the other."""
    seen, waiting = {before}, [before]
    while waiting:
        for state in TRANSITIONS[Tier.DESTRUCTIVE].get(waiting.pop(), frozenset()):
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return after in seen


class RequestLife(RuleBasedStateMachine):
    """One bot, two agents, four people, one runner."""

    def __init__(self) -> None:
        super().__init__()
        self.resources = ExitStack()
        folder = self.resources.enter_context(tempfile.TemporaryDirectory())
        self.bot: LivingBot = self.resources.enter_context(living(Path(folder)))
        self.runner = ScriptedRunner(self.bot)
        self.jobs: list[Job] = []
        self.claimed: list[Job] = []
        self.last: dict[str, State] = {}

    @initialize()
    def begin(self) -> None:
        """One request is there."""
        self.bot.agent("bob").apply(text="first")

    # --- Agents ---------------------------------------------------------------------------------

    @rule(login=st.sampled_from(["bob", "dave", "alice"]), text=st.sampled_from(["first", "second"]))
    def ask(self, login: str, text: str) -> None:
        """Somebody's agent asks; the same as another one's, or something else on the same state."""
        source = {
            "files": {"terraform/demo/main.tf": f'resource "terraform_data" "x" {{\n  input = "{text}"\n}}\n'}
        }
        answer = self.bot.agent(login).call("terraform_apply", {"module": "demo"}, source=source)
        assert answer.status_code in (200, 429)

    @rule(login=st.sampled_from(["bob", "dave"]), really=st.sampled_from([True, False, False, False]))
    def cancel(self, login: str, really: bool) -> None:
        """An agent takes its newest request back, if it can."""
        if not really:
            return
        agent = self.bot.agent(login)
        own = agent.client.get("/api/v1/requests").json()["requests"]
        if own:
            assert agent.cancel(own[0]["id"]).status_code in (200, 409)

    # --- People ---------------------------------------------------------------------------------

    def _open(self) -> list[int]:
        return [int(pull["number"]) for pull in self.bot.get("/pulls")]

    @rule(
        data=st.data(),
        login=st.sampled_from(["alice", "carol", "mallory", "dave"]),
        event=st.sampled_from(["APPROVE", "APPROVE", "APPROVE", "REQUEST_CHANGES", "COMMENT"]),
    )
    def review(self, data: st.DataObject, login: str, event: str) -> None:
        """Somebody reviews."""
        numbers = self._open()
        if numbers:
            self.bot.review(data.draw(st.sampled_from(numbers)), login, event)

    @rule(data=st.data(), how=st.sampled_from(["close", "edit", "push", "base"]))
    def disturb(self, data: st.DataObject, how: str) -> None:
        """Somebody does what voids, or pushes to the base."""
        numbers = self._open()
        if not numbers:
            return
        number = data.draw(st.sampled_from(numbers))
        person = self.bot.github.as_user("mallory")
        match how:
            case "close":
                person.patch(f"/repos/acme/infra/pulls/{number}", json={"state": "closed"})
            case "edit":
                person.patch(f"/repos/acme/infra/pulls/{number}", json={"body": "harmless"})
            case "push":
                branch = self.bot.get(f"/pulls/{number}")["head"]["ref"]
                self.bot.push(branch, {"README.md": "mine\n"}, author="mallory")
            case _:
                self.bot.push("main", {"README.md": f"{self.bot.clock.now()}\n"})

    @rule(login=st.sampled_from(["alice", "carol"]))
    def approved_as_usual(self, login: str) -> None:
        """Things go as they mostly do: planned, opened, approved, seen."""
        self.poll()
        if any(job.kind is JobKind.PLAN for job in self.jobs):
            self.plan("create")
        self.post()
        for number in self._open():
            self.bot.review(number, login)
        self.deliver()
        self.poll()

    @rule(login=st.sampled_from(["alice", "carol"]), outcome=st.sampled_from(list(Outcome)[:2]))
    def carried_out_as_usual(self, login: str, outcome: Outcome) -> None:
        """And carried out."""
        self.approved_as_usual(login)
        if any(job.kind is JobKind.EXECUTE for job in self.jobs):
            self.claim()
        if self.claimed:
            self.finish(outcome)

    # --- The bot's own threads --------------------------------------------------------------------

    @rule()
    def deliver(self) -> None:
        """Webhooks arrive and the inbox works."""
        self.bot.github.wait_for_deliveries()
        self.bot.worker.work_once()

    @rule()
    def post(self) -> None:
        """The outbox works."""
        self.bot.core.run_outbox_once()

    @rule()
    def reconcile(self) -> None:
        """The reconciler works."""
        with suppress(Refused):
            self.bot.core.reconcile_once()

    @rule(seconds=st.sampled_from([5, 70, 400, 1900]))
    def time_passes(self, seconds: int) -> None:
        """The clock moves."""
        self.bot.clock.move(seconds=seconds)

    @rule(
        when=st.sampled_from(["before", "after"]),
        method=st.sampled_from(["POST", "PATCH", "PUT"]),
    )
    def github_errs(self, when: Any, method: str) -> None:
        """One of the bot's next writes gets an error, before or after it was done."""
        self.bot.github.faults.fail(502, when=when, method=method, path="/repos/acme/infra/[!p]*")

    @rule()
    def lose_a_webhook(self) -> None:
        """One of the next deliveries is lost."""
        self.bot.github.faults.webhooks(drop=1)

    # --- The runner -------------------------------------------------------------------------------

    @rule()
    def poll(self) -> None:
        """The runner takes a job."""
        job = self.runner.poll(running=tuple(job.id for job in self.jobs))
        if job is not None:
            self.jobs.append(job)

    @precondition(lambda self: any(job.kind is JobKind.PLAN for job in self.jobs))
    @rule(case=st.sampled_from(["create", "create", "worst"]))
    def plan(self, case: str) -> None:
        """The runner sends a plan."""
        job = next(job for job in self.jobs if job.kind is JobKind.PLAN)
        self.jobs.remove(job)
        assert self.runner.result(job, self.runner.planned(job, case)).status_code == 200

    @precondition(lambda self: any(job.kind is JobKind.EXECUTE for job in self.jobs))
    @rule()
    def claim(self) -> None:
        """The runner claims."""
        job = next(job for job in self.jobs if job.kind is JobKind.EXECUTE)
        self.jobs.remove(job)
        if self.runner.claim(job).status_code == 200:
            self._check_approved(job)
            self.runner.tell(job, Kind.GRANT_SPENT, Kind.CREDENTIAL_REQUESTED, Kind.SANDBOX_STARTED)
            self.claimed.append(job)
        else:
            self.runner.result(job, self.runner.ended(JobOutcome.FAILED, "the claim was refused"))

    @precondition(lambda self: self.claimed)
    @rule(outcome=st.sampled_from([Outcome.SUCCEEDED, Outcome.FAILED]))
    def finish(self, outcome: Outcome) -> None:
        """The runner sends what came of it, perhaps after it was taken for lost."""
        job = self.claimed.pop()
        assert self.runner.result(job, self.runner.ran(job, outcome)).status_code == 200

    @precondition(lambda self: self.jobs)
    @rule()
    def forget(self) -> None:
        """The runner dies and forgets what it had."""
        self.jobs.clear()

    def _check_approved(self, job: Job) -> None:
        """At the moment of the claim GitHub shows an owner's approval of exactly that commit."""
        pull = self.bot.get(f"/pulls/{job.pull_request}")
        assert (pull["state"], pull["head"]["sha"]) == ("open", job.head_sha)
        latest: dict[str, Any] = {}
        for review in self.bot.get(f"/pulls/{job.pull_request}/reviews"):
            if review["state"] != "COMMENTED":
                latest[review["user"]["login"]] = review
        approvers = {
            login
            for login, review in latest.items()
            if review["state"] == "APPROVED" and review["commit_id"] == job.head_sha
        }
        barred = {
            login
            for login in ("alice", "bob", "carol")
            if self.bot.github.world.account(login).id in job.barred
        }
        required = self.bot.request(job.request_id).required or 0
        assert len((approvers & {"alice", "carol"}) - barred) >= required

    # --- What always holds ------------------------------------------------------------------------

    @invariant()
    def states_follow_the_table(self) -> None:
        """From one look to the next every request went a way that the table has."""
        with self.bot.base.database.reading() as connection:
            requests = request_store.in_states(connection, tuple(State))
        for request in requests:
            before = self.last.get(request.id, State.RECEIVED)
            assert reachable(before, request.state), (before, request.state)
            self.last[request.id] = request.state
        keys = [request.same_key for request in requests if request.state in OPEN]
        assert len(keys) == len(set(keys))
        running = [request for request in requests if request.state in (State.CLAIMED, State.RUNNING)]
        assert len(running) <= 1

    @invariant()
    def nothing_is_claimed_twice(self) -> None:
        """The chain holds, and has one claim a request at most."""
        self.bot.check_chain()
        for request_id in self.last:
            kinds = self.bot.kinds(request_id)
            assert kinds.count(Kind.GRANT_CLAIMED.value) <= 1
            assert kinds.count(Kind.GRANT_ISSUED.value) <= 1

    def teardown(self) -> None:
        """At rest, what people read is what the database holds."""
        try:
            self._at_rest()
        finally:
            self.resources.close()

    def _at_rest(self) -> None:
        self.bot.github.faults.clear()
        self.bot.settle(seconds=120)
        for request_id in self.last:
            request = self.bot.request(request_id)
            if request.pull_request is None:
                continue
            comments = self.bot.status_comments(request.pull_request)
            assert len(comments) == 1
            assert f"### {wording.HEADLINES[request.state].capitalize()}\n" in comments[0]
            pull = self.bot.get(f"/pulls/{request.pull_request}")
            assert (pull["state"] == "closed") or not request.final
            if pull["merged"]:
                assert request.state is State.SUCCEEDED


RequestLife.TestCase.settings = settings(
    max_examples=200 if LONG else 4,
    stateful_step_count=60 if LONG else 30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestRequestLife = RequestLife.TestCase
