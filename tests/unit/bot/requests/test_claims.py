"""The claim: one winner, nothing stale, nothing paused, nothing locked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from bot.tokens import Role
from policy import grant, signing
from policy.runner_protocol import JobKind
from policy.states import State
from tests.living_bot import Agent, LivingBot
from tests.scripted_runner import SEALED, ScriptedRunner


def refusal(answer: object) -> str:
    return str(answer.json()["refusal"]["what"])  # type: ignore[attr-defined]


def test_the_winner_gets_a_grant_for_exactly_this(
    bot: LivingBot, runner: ScriptedRunner, granted: str, number: int
) -> None:
    job, claim = runner.start()
    public = bot.base.grant_key.public_key()
    signed = grant.verify(
        claim.grant,
        {signing.key_id(public): public},
        now=bot.clock.now(),
        repository_id=bot.repository.id,
        request_id=granted,
        digest=str(bot.request(granted).digest),
        tool="terraform_apply",
        target="demo",
    )
    assert (signed.evidence.number, signed.evidence.head_sha) == (number, job.head_sha)
    assert [approval.login for approval in signed.evidence.approvals] == ["alice"]
    assert (claim.fence, claim.sealed_plan) == (1, SEALED)
    assert claim.grant not in bot.status_comments(number)[0]


def test_the_signed_grant_is_stored_nowhere(bot: LivingBot, runner: ScriptedRunner, granted: str) -> None:
    _, claim = runner.start()
    stored = (bot.folder / "bot" / "data" / "bot.db").read_bytes()
    stored += (bot.folder / "bot" / "data" / "bot.db-wal").read_bytes()
    assert claim.grant.encode() not in stored
    assert claim.grant.split(".")[2].encode() not in stored


def test_many_at_once_one_wins(bot: LivingBot, runner: ScriptedRunner, granted: str) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: runner.claim(job), range(6)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409, 409]


def test_a_claim_is_not_repeated(bot: LivingBot, runner: ScriptedRunner, granted: str) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    assert runner.claim(job).status_code == 200
    answer = runner.claim(job)
    assert answer.status_code == 409
    assert "it is claimed" in refusal(answer)


def test_another_digest_claims_nothing(bot: LivingBot, runner: ScriptedRunner, granted: str) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    assert "digest" in refusal(runner.claim(job, digest="0" * 64))
    assert bot.request(granted).state is State.GRANTED


def test_another_policy_claims_nothing(bot: LivingBot, runner: ScriptedRunner, granted: str) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    assert "policy" in refusal(runner.claim(job, policy_sha256="0" * 64))


def test_another_runners_job_claims_nothing(bot: LivingBot, runner: ScriptedRunner, granted: str) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    other = ScriptedRunner(bot, name="runner-2")
    answer = other.claim(job)
    assert (answer.status_code, answer.json()["refusal"]["code"]) == (403, "job_not_yours")


def test_an_unknown_job_claims_nothing(bot: LivingBot, runner: ScriptedRunner, granted: str) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    assert runner.post("jobs/job-unknown/claim", {}).status_code in (404, 422)
    assert bot.request(job.request_id).state is State.GRANTED


def test_a_planning_job_claims_nothing(bot: LivingBot, agent: Agent, runner: ScriptedRunner) -> None:
    agent.apply()
    job = runner.need_job(JobKind.PLAN)
    wanted = {"runner": "runner-1", "digest": "0" * 64, "policy_sha256": bot.base.policy.sha256}
    answer = runner.post(f"jobs/{job.id}/claim", wanted)
    assert answer.status_code == 409


def test_a_pause_stops_claims_and_says_so(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str
) -> None:
    admin = bot.client(bot.token("an admin", Role.ADMIN))
    job = runner.need_job(JobKind.EXECUTE)
    admin.post("/api/v1/pause", json={"reason": "an incident"}).raise_for_status()
    assert "paused" in refusal(runner.claim(job))
    assert "Claims are paused" in agent.view(granted)["cause"]
    assert agent.client.get("/api/v1/sandbox").json()["paused"] is True
    admin.post("/api/v1/resume").raise_for_status()
    assert runner.claim(job).status_code == 200


def test_while_paused_nothing_to_execute_is_handed_out(
    bot: LivingBot, runner: ScriptedRunner, granted: str
) -> None:
    admin = bot.client(bot.token("an admin", Role.ADMIN))
    admin.post("/api/v1/pause", json={"reason": "an incident"}).raise_for_status()
    assert runner.poll() is None


def test_a_grant_whose_time_is_over_is_not_claimed(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str
) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    bot.clock.move(minutes=31)
    assert "time is over" in refusal(runner.claim(job))
    bot.core.reconcile_once()
    view = agent.view(granted)
    assert (view["state"], "no runner claimed it" in view["cause"]) == ("expired", True)


def test_github_away_claims_nothing(bot: LivingBot, runner: ScriptedRunner, granted: str) -> None:
    job = runner.need_job(JobKind.EXECUTE)
    bot.github.faults.fail(502, method="GET", path="*/pulls/*", times=1000)
    answer = runner.claim(job)
    assert (answer.status_code, answer.json()["refusal"]["code"]) == (503, "github_unavailable")
    bot.github.faults.clear()
    assert runner.claim(job).status_code == 200


def test_of_two_on_one_state_one_runs_and_the_other_is_planned_anew(
    bot: LivingBot, agent: Agent, runner: ScriptedRunner, granted: str, number: int
) -> None:
    dave = bot.agent("dave")
    other = dave.apply(text="another change")["id"]
    runner_2 = ScriptedRunner(bot, name="runner-2")
    first = runner_2.poll()
    # The execution of the first is handed out first; the second's plan waits for its lock.
    assert first is not None
    assert first.kind is JobKind.EXECUTE
    plan = runner.need_job(JobKind.PLAN)
    runner.result(plan, runner.planned(plan))
    bot.settle()
    other_number = int(bot.request(other).pull_request or 0)
    bot.review(other_number, "carol")
    bot.settle()
    assert bot.request(other).state is State.GRANTED
    assert runner_2.claim(first).status_code == 200
    assert runner.poll() is None
    assert "another request on the same state" in dave.view(other)["cause"]
    runner_2.result(first, runner_2.ran(first))
    bot.settle()
    stale = bot.request(other)
    assert stale.state is State.STALE
    assert stale.successor_id is not None
    assert dave.view(other)["next_action"] == "check_request"
    assert dave.view(other)["successor_id"] == stale.successor_id
    successor = bot.request(stale.successor_id)
    assert (successor.predecessor_id, successor.state) == (other, State.PLANNING)
    assert bot.get(f"/pulls/{other_number}")["state"] == "closed"
    assert f"planned anew as `{stale.successor_id}`" in bot.status_comments(other_number)[0]
    runner.plan()
    bot.settle()
    next_number = bot.request(successor.id).pull_request
    assert bot.request(successor.id).state is State.PENDING
    assert f"It replaces `{other}` (#{other_number})" in bot.status_comments(int(next_number or 0))[0]
    assert f"in #{next_number}" in bot.status_comments(other_number)[0]
