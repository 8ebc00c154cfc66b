"""Chapters: a change that looks harmless, who may not approve it, who may, and that it runs once."""

from __future__ import annotations

from demo import company
from demo.people import wait_for
from demo.story.cast import Asked, Cast, change, edited
from demo.story.lateness import late_events, on_time
from demo.story.replay import claim_again, redeliver

REASON = "The checkout team owns this service now."


async def a_change_is_asked_for(cast: Cast) -> None:
    """One line in a label; the plan replaces the running service, and a pull request says so."""
    tell, agent, dana = cast.teller, cast.agent, cast.people["dana"]
    tell.chapter("The agent wants to change one line")
    source = dana.file(company.SOURCE_FILE, "main")
    cast.notes["source"] = source
    tell.show(f'-    team = "payments"\n+    team = "checkout"     ({company.SOURCE_FILE})')
    arguments = {"module": company.MODULE, "reason": REASON, "source": change(source, "checkout")}
    surprise = await agent.call("terraform_apply", **arguments, expect={"replaces": 0, "updates": 1})
    tell.say("It expects an update in place and says so. The plan does more, so it comes back to the agent:")
    tell.show(str((surprise.data.get("refusal") or {}).get("what", surprise.text)))
    tell.hold(
        surprise.data.get("state") == "refused", "a plan that does more than expected bothers no people"
    )
    answer = await agent.call("terraform_apply", **arguments)
    tell.hold(answer.data.get("state") == "pending", "asked plainly, it is pending: the agent only asked")
    tell.fact("plan", answer.data["verdict"])
    tell.fact("digest", answer.data["digest"])
    tell.fact("the agent is told", answer.data["next_action"])
    tell.hold("REPLACES 1" in answer.data["verdict"], "the one-line edit replaces the running service")
    again = await agent.call("terraform_apply", **arguments)
    tell.hold(again.data["id"] == answer.data["id"], "asking the same again gives the same request")
    cast.done = cast.asked(answer)


async def the_pull_request(cast: Cast) -> None:
    """What reviewers see."""
    tell, asked, alice = cast.teller, _done(cast), cast.people["alice"]
    tell.chapter("What the code owners see on GitHub")
    pull = alice.pull_request(asked.number)
    tell.fact(f"pull request {asked.number}", pull["title"])
    tell.fact("page", pull["html_url"])
    tell.fact("asked by GitHub", ", ".join(alice.requested(asked.number)))
    for path in alice.files(asked.number):
        tell.fact("in its one commit", path)
    tell.show(pull["body"], most=30)
    tell.hold(asked.digest in pull["body"], "the body names the digest")
    tell.hold("forces replacement" in pull["body"] or "REPLACES 1" in pull["body"], "and the replacement")
    waiting = await cast.agent.call("check_request", request_id=asked.id, wait_seconds=1)
    tell.hold(waiting.data["state"] == "pending", "the agent waits; it has no way to approve")


async def approvals_that_do_not_count(cast: Cast) -> None:
    """A stranger's and the requester's own."""
    tell, asked = cast.teller, _done(cast)
    tell.chapter("Two approvals that don't count")
    attempts = (
        ("mallory", "mallory may write here, but owns nothing, and approves"),
        ("dana", "dana owns the code, but her agent asked; she approves all the same"),
    )
    for login, sentence in attempts:
        tell.say(f"{sentence}. The pull request then says:")
        review = cast.people[login].approve(asked.number, asked.head)
        tell.show(_line_about(cast, asked, review))
        state = await cast.agent.call("check_request", request_id=asked.id, wait_seconds=0)
        tell.hold(state.data["state"] == "pending", f"the approval by {login} is refused, with its reason")


async def a_commit_slips_in(cast: Cast) -> None:
    """A further commit, and an approval of the commit before it."""
    tell, asked = cast.teller, _done(cast)
    tell.chapter("A commit slips in, and an owner approves the one before it")
    # GitHub's events come late here, so that the bot meets both at once, as it can happen.
    late_events(cast.stage, seconds=2)
    pushed = cast.people["mallory"].push(
        f"ownergate/{asked.id}", f"{company.SOURCE}/extra.tf", "# nothing to see here\n"
    )
    review = cast.people["alice"].approve(asked.number, asked.head)
    tell.say(
        f"mallory adds the commit {pushed[:7]} to the branch. alice approves {asked.head[:7]}, from a page "
        "that she left open. The pull request then says:"
    )
    tell.show(_line_about(cast, asked, review))
    state = await cast.agent.wait(asked.id, {"void", "granted", "claimed", "running", "succeeded"})
    on_time(cast.stage)
    tell.hold(state.data["state"] == "void", "an approval of an older commit is refused, and all is void")
    answer = await cast.agent.call(
        "terraform_apply",
        module=company.MODULE,
        reason=REASON,
        source=change(cast.notes["source"], "checkout"),
    )
    tell.hold(answer.data["state"] == "pending", "the agent asks anew: a new pull request, a new digest")
    tell.hold(answer.data["digest"] != asked.digest, "no approval carries over")
    cast.done = cast.asked(answer)


async def an_owner_approves(cast: Cast) -> None:
    """One execution of the saved plan."""
    tell, asked = cast.teller, _done(cast)
    tell.chapter("A code owner approves what stands there")
    cast.replayed_review = cast.people["alice"].approve(asked.number, asked.head)
    tell.say("alice approves the pull request's commit. The bot reads it at GitHub and signs a grant for")
    tell.say("this digest; the runner reads it at GitHub too, spends the grant, and applies the saved plan.")
    answer = await cast.agent.wait(asked.id, {"succeeded", "failed", "refused", "unknown", "void", "stale"})
    tell.hold(answer.data["state"] == "succeeded", "the saved plan was applied")
    result = answer.data["result"]
    tell.show(result["output"])
    for lease in result["leases"]:
        tell.fact("lease", f"{lease['lease_id']} ({lease['scope']})")
        tell.fact("powerless", f"{lease['powerless_after_ms']} ms after its revocation began")
    tell.hold(result["residue"] == "none", "a second plan afterwards was empty")
    pull = wait_for(
        lambda: (found := cast.people["alice"].pull_request(asked.number))["merged"] and found,
        "the merge",
        seconds=20,
    )
    tell.hold(bool(pull["merged"]), "the change was merged after it had run")
    merged = cast.people["alice"].file(company.SOURCE_FILE, "main")
    tell.hold(merged == edited(cast.notes["source"], "checkout"), "main holds exactly the approved line")
    check = wait_for(
        lambda: next(
            (run for run in cast.people["alice"].checks(asked.head) if run["status"] == "completed"), None
        ),
        "the check run",
        seconds=20,
    )
    tell.fact("check run", f"{check['conclusion']}: {check['output']['title']}")


async def nothing_runs_twice(cast: Cast) -> None:
    """A replayed delivery, a second claim, and the same change asked for again."""
    tell, asked = cast.teller, _done(cast)
    tell.chapter("Nothing runs twice")
    deliveries = redeliver(cast.stage, cast.replayed_review)
    tell.say(f"GitHub delivers alice's approval again ({deliveries} delivery), byte for byte.")
    refused = claim_again(cast.stage, asked.id)
    tell.say("A runner asks for the same grant a second time:")
    tell.show(refused)
    tell.hold("Refused" in refused, "the second claim is refused")
    state = await cast.agent.call("check_request", request_id=asked.id, wait_seconds=0)
    tell.hold(state.data["state"] == "succeeded", "the request stays as it ended")
    answer = await cast.agent.call("terraform_apply", module=company.MODULE, reason="again, to be sure")
    tell.hold(answer.data["state"] == "no_change", "asked again after the merge, there is nothing to do")
    source = cast.people["dana"].file(company.SOURCE_FILE, "main")
    other = source.replace('team = "checkout"', 'team = "billing"')
    answer = await cast.agent.call(
        "terraform_apply",
        module=company.MODULE,
        reason="Billing wants it too.",
        source={"files": {company.SOURCE_FILE: other}},
    )
    tell.hold(answer.data["state"] == "pending", "another value is another request, pending again")
    tell.fact("first digest", asked.digest)
    tell.fact("its digest", answer.data["digest"])
    tell.hold(answer.data["digest"] != asked.digest, "the earlier approval says nothing about it")
    cast.open = cast.asked(answer)


def _line_about(cast: Cast, asked: Asked, review: int) -> str:
    comment = cast.people["alice"].wait_for_comment(asked.number, f"review {review}")
    return next(line for line in comment.split("\n") if f"review {review}" in line)


def _done(cast: Cast) -> Asked:
    if cast.done is None:
        raise RuntimeError("this chapter needs the one before")
    return cast.done
