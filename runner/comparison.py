"""The manifest that people approved, compared with what will really run: every difference has a name.

Pure. The left side of each comparison is the approved text, the right side was computed on this machine
from the policy, the source at the pull request's head, the image folder and the saved plan's bytes.
Nothing that the bot says stands on the right side.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from policy import argv, canonical, conditions, manifest, record
from policy.canonical import Json
from policy.manifest import Manifest
from policy.refusal import Code, Refused, refuse
from policy.runner_protocol import Job
from policy.source import SourceArchive
from policy.tools import ApprovalRule, Tool
from runner.plan_reading import ReadPlan


def check_request(approved: Manifest, job: Job, *, repository: manifest.Repository) -> None:
    """The manifest is the job's and the repository this runner's own.

    Raises:
        Refused: `request_differs`, `tool_differs`, `arguments_differ`, `repository_differs` or
            `base_differs`.
    """
    _same(Code.REQUEST_DIFFERS, "the request", approved.id, job.request_id)
    _same(Code.TOOL_DIFFERS, "the tool", approved.tool, job.tool)
    arguments = record.to_json(approved.arguments)
    _same(Code.ARGUMENTS_DIFFER, "the arguments", arguments, record.to_json(job.arguments))
    # The number is the repository; its name may change and is checked at GitHub with the approval.
    _same(Code.REPOSITORY_DIFFERS, "the repository", approved.repository.id, repository.id)
    _same(Code.BASE_DIFFERS, "the base", record.to_json(approved.base), record.to_json(job.base))


def check_tool(approved: Manifest, tool: Tool, arguments: Mapping[str, Json]) -> None:
    """Tool, arguments, target and owned path are those of this runner's own policy.

    Raises:
        Refused: `tool_differs`, `arguments_differ`, `target_differs`, `owned_differs`, `base_differs`.
    """
    _same(Code.TOOL_DIFFERS, "the declaration of the tool", approved.tool_digest, tool.sha256)
    _same(Code.ARGUMENTS_DIFFER, "the arguments", record.to_json(approved.arguments), dict(arguments))
    target = manifest.Target(
        name=tool.target.name,
        runner_pool=tool.target.runner,
        cluster_uid=tool.target.cluster,
        vault_mount=tool.target.vault,
        backend=tool.target.state,
    )
    _same(Code.TARGET_DIFFERS, "the target", record.to_json(approved.target), record.to_json(target))
    owned = argv.fill(rule_of(tool).owned, arguments)
    _same(Code.OWNED_DIFFERS, "the paths whose owners decide", list(approved.owned), [owned])
    branch = approved.base.ref.removeprefix("refs/heads/")
    _same(Code.BASE_DIFFERS, "the base branch", branch, tool.target.base)


def check_execution(approved: manifest.Execution, here: manifest.Execution) -> None:
    """What will run is what was approved: image, limits, lock file, and step by step.

    Raises:
        Refused: `image_differs`, `limits_differ`, `lock_file_differs`, `steps_differ`.
    """
    _same(Code.IMAGE_DIFFERS, "the image", approved.image, here.image)
    content = f"the content of the image {here.image}"
    _same(Code.IMAGE_DIFFERS, content, approved.image_sha256, here.image_sha256)
    limits = "the time limits"
    _same(Code.LIMITS_DIFFER, limits, approved.timeout_seconds, here.timeout_seconds)
    _same(Code.LIMITS_DIFFER, limits, approved.grace_seconds, here.grace_seconds)
    lock = "the dependency lock file"
    _same(Code.LOCK_FILE_DIFFERS, lock, approved.providers_lock, here.providers_lock)
    _same(Code.STEPS_DIFFER, "the number of steps", len(approved.steps), len(here.steps))
    for number, (left, right) in enumerate(zip(approved.steps, here.steps, strict=True), start=1):
        _same(Code.STEPS_DIFFER, f"step {number}", record.to_json(left), record.to_json(right))


def check_source(approved: manifest.Source | None, here: SourceArchive | None) -> None:
    """The source at the head is the approved one, file by file.

    Raises:
        Refused: `source_differs`.
    """
    _same(
        Code.SOURCE_DIFFERS,
        "the source",
        record.to_json(approved),
        record.to_json(None if here is None else here.described()),
    )


def check_plan(approved: manifest.Plan, here: ReadPlan) -> None:
    """The saved plan is the approved one: its bytes, and what a fresh sandbox read from them.

    Raises:
        Refused: `plan_changed`, `plan_json_differs` or `plan_summary_differs`.
    """
    _same(Code.PLAN_CHANGED, "the saved plan", approved.sha256, here.sha256)
    _same(Code.PLAN_JSON_DIFFERS, "the kind of plan", approved.kind, here.kind)
    shown = "what the saved plan says"
    _same(Code.PLAN_JSON_DIFFERS, shown, approved.masked_json_sha256, here.masked_sha256)
    _same(
        Code.PLAN_SUMMARY_DIFFERS,
        "the counts of the plan",
        record.to_json(approved.summary),
        record.to_json(here.counts),
    )


def check_state(approved: manifest.TerraformState | None, here: manifest.TerraformState | None) -> None:
    """The state is still the one that the plan was made on.

    Raises:
        Refused: `state_changed`; the request is stale, not wrong.
    """
    if approved != here:
        raise refuse(
            Code.STATE_CHANGED,
            f"the state was {_state(approved)} when the plan was made and is {_state(here)} now",
            rule="A plan is carried out only on the state that it was made on.",
            remedy="Ask for a replan: comment /ownergate replan on the pull request.",
        )


def check_time(approved: Manifest, tool: Tool, *, now: datetime) -> None:
    """The request has not expired and its plan is not too old.

    Raises:
        Refused: `request_expired`.
    """
    oldest = approved.created_at + timedelta(seconds=tool.plan_age_seconds)
    for what, until in (("the request", approved.expires_at), ("its plan", oldest)):
        if now >= until:
            raise refuse(
                Code.REQUEST_EXPIRED,
                f"{what} expired {(now - until).total_seconds():.0f} seconds ago",
                rule="A request is carried out only before it expires, with a plan that is not too old.",
                remedy="Ask for a replan: comment /ownergate replan on the pull request.",
            )


def required_approvals(approved: Manifest, tool: Tool, arguments: Mapping[str, Json]) -> int:
    """How many owners this runner's own policy asks for, which is what the manifest says.

    Raises:
        Refused: `approvals_required_differ`, or `condition_failed`.
    """
    counts = None if approved.plan is None else approved.plan.summary
    needed = conditions.required_approvals(
        rule_of(tool), plan=counts, arguments=arguments, target=tool.target.name
    )
    what = "the number of approvals"
    _same(Code.APPROVALS_REQUIRED_DIFFER, what, approved.approvals_required, needed.count)
    return needed.count


def rule_of(tool: Tool) -> ApprovalRule:
    """The rule of a tool that people approve.

    Raises:
        Refused: `tool_differs`, for a tool that nobody approves: it is never executed through here.
    """
    if tool.approval is None:
        raise _differs(Code.TOOL_DIFFERS, f"{tool.name}, a tool that nobody approves")
    return tool.approval


def _same(code: Code, what: str, approved: Json, here: Json) -> None:
    # As canonical bytes: in Python 1 equals True and 1.0, in a manifest it does not.
    if canonical.encode(approved) != canonical.encode(here):
        raise _differs(code, f"{what}: approved was {_short(approved)}, and here it is {_short(here)}")


def _differs(code: Code, what: str) -> Refused:
    return refuse(
        code,
        what,
        rule="Exactly what was approved runs, computed anew from what this runner has.",
        remedy="Ask for this change anew, so that people see what would run now.",
    )


def _short(value: Json) -> str:
    text = canonical.encode(value).decode()
    return text if len(text) <= 120 else f"{text[:60]}… (SHA-256 {canonical.sha256(value)[:12]}…)"


def _state(state: manifest.TerraformState | None) -> str:
    return "none" if state is None else f"serial {state.serial} of {state.lineage}"
