"""What is looked at before a job is begun: does this runner and this job belong together at all?

Only comparisons; nothing is read from anywhere. Whatever does not fit is refused before a grant is
claimed or a lease is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from policy import arguments as argument_rules
from policy import canonical
from policy.canonical import Json
from policy.refusal import Code, refuse
from policy.runner_protocol import Job
from policy.tools import Policy, Tool

LARGEST_CLOCK_DIFFERENCE_SECONDS = 30
"""Expiries are compared with this machine's clock, so it must be close to the bot's."""


def check(job: Job, *, policy: Policy, pool: str, now: datetime) -> Tool:
    """Checks a job against this runner, and gives the tool that it is for.

    Raises:
        Refused: `clock_differs`, `policy_differs`, `tool_unknown`, `tool_differs` or `target_differs`.
    """
    difference = (now - job.at).total_seconds()
    if abs(difference) > LARGEST_CLOCK_DIFFERENCE_SECONDS:
        raise refuse(
            Code.CLOCK_DIFFERS,
            f"this runner's clock is {abs(difference):.0f} seconds "
            f"{'ahead of' if difference > 0 else 'behind'} the bot's",
            rule=f"They may differ by {LARGEST_CLOCK_DIFFERENCE_SECONDS} seconds.",
            remedy="Set the clocks of both machines (NTP).",
        )
    if job.policy_sha256 != policy.sha256:
        raise refuse(
            Code.POLICY_DIFFERS,
            f"the bot's policy is {job.policy_sha256[:12]}… and this runner's is {policy.sha256[:12]}…",
            rule="Bot and runner each load the policy themselves and must agree on it.",
            remedy="Put the same policy.yaml on both sides and restart them.",
        )
    tool = policy.tool(job.tool)
    if job.tool_digest != tool.sha256:
        raise refuse(
            Code.TOOL_DIFFERS,
            f"the declaration of {tool.name} that the request is for is not this runner's",
            rule="A request holds only for the declaration of its tool that it was made with.",
            remedy="Ask for this change anew.",
        )
    if tool.target.runner != pool:
        raise refuse(
            Code.TARGET_DIFFERS,
            f"the target {tool.target.name} belongs to the pool {tool.target.runner}, and this runner "
            f"serves {pool}",
            rule="A runner acts only on targets of its own pool.",
            remedy=f"Let a runner of the pool {tool.target.runner} do it.",
        )
    return tool


def validated(tool: Tool, given: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments, validated again by the tool's own declaration and found as they were given.

    Raises:
        Refused: by `policy.arguments`, or `arguments_differ` when validating changes them: the bot
            sends them whole, with their defaults.
    """
    checked = argument_rules.validate(tool, dict(given))
    # Compared as bytes: in Python, 1 and True are equal.
    if canonical.encode(checked) != canonical.encode(dict(given)):
        raise refuse(
            Code.ARGUMENTS_DIFFER,
            f"the arguments of {tool.name} are not the validated ones",
            rule="A runner gets the arguments whole, defaults included, as they stand in the manifest.",
            remedy="Ask for this anew; if it happens again, the bot and this runner differ.",
        )
    return checked
