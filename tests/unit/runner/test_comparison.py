"""Every way in which what would run can differ from what was approved has its own refusal."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from policy import manifest, source
from policy.plan import Plan, Summary
from policy.refusal import Code, Refused
from policy.runner_protocol import JobKind
from runner import comparison
from runner.plan_reading import ReadPlan
from tests.unit.runner import examples
from tests.unit.runner.examples import APPLY, ARGUMENTS, EXECUTION, NOW, PLAN, SOURCE, a_job, a_manifest

REPOSITORY = manifest.Repository(id=7, name="acme/infra")


def execute_job(**changes: Any) -> Any:
    fields = {"kind": JobKind.EXECUTE, "tool": APPLY.name, "arguments": ARGUMENTS}
    return a_job(**{**fields, **changes})


def code_of(raised: pytest.ExceptionInfo[Refused]) -> Code:
    return raised.value.refusal.code


def test_what_was_approved_passes() -> None:
    approved = a_manifest()
    comparison.check_request(approved, execute_job(), repository=REPOSITORY)
    comparison.check_tool(approved, APPLY, ARGUMENTS)
    comparison.check_execution(approved.execution, EXECUTION)
    comparison.check_source(approved.source, SOURCE)
    comparison.check_time(approved, APPLY, now=NOW)
    assert comparison.required_approvals(approved, APPLY, ARGUMENTS) == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"request_id": "og-" + "1" * 26}, Code.REQUEST_DIFFERS),
        ({"tool": "forget"}, Code.TOOL_DIFFERS),
        ({"arguments": {"module": "db"}}, Code.ARGUMENTS_DIFFER),
        ({"arguments": {"module": "web", "more": 1}}, Code.ARGUMENTS_DIFFER),
        ({"base": manifest.Base(ref="main", sha="d" * 40)}, Code.BASE_DIFFERS),
        ({"base": manifest.Base(ref="other", sha=examples.BASE)}, Code.BASE_DIFFERS),
    ],
)
def test_a_job_that_is_not_the_manifests(changes: dict[str, Any], code: Code) -> None:
    with pytest.raises(Refused) as raised:
        comparison.check_request(a_manifest(), execute_job(**changes), repository=REPOSITORY)
    assert code_of(raised) is code


def test_another_repository() -> None:
    with pytest.raises(Refused) as raised:
        comparison.check_request(
            a_manifest(), execute_job(), repository=manifest.Repository(id=8, name="acme/infra")
        )
    assert code_of(raised) is Code.REPOSITORY_DIFFERS


TARGET = a_manifest().target


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"tool_digest": "0" * 64}, Code.TOOL_DIFFERS),
        ({"arguments": {"module": "db"}}, Code.ARGUMENTS_DIFFER),
        ({"target": replace(TARGET, name="other")}, Code.TARGET_DIFFERS),
        ({"target": replace(TARGET, runner_pool="other")}, Code.TARGET_DIFFERS),
        ({"target": replace(TARGET, vault_mount="other")}, Code.TARGET_DIFFERS),
        ({"target": replace(TARGET, backend=None)}, Code.TARGET_DIFFERS),
        ({"target": replace(TARGET, cluster_uid="other")}, Code.TARGET_DIFFERS),
        ({"owned": ("terraform/",)}, Code.OWNED_DIFFERS),
        ({"owned": ()}, Code.OWNED_DIFFERS),
        ({"owned": ("terraform/web/", "more/")}, Code.OWNED_DIFFERS),
        ({"base": manifest.Base(ref="dev", sha=examples.BASE)}, Code.BASE_DIFFERS),
    ],
)
def test_a_manifest_that_is_not_this_policys(changes: dict[str, Any], code: Code) -> None:
    with pytest.raises(Refused) as raised:
        comparison.check_tool(a_manifest(**changes), APPLY, ARGUMENTS)
    assert code_of(raised) is code


STEP = EXECUTION.steps[1]
OTHER_STEPS = (
    replace(STEP, argv=(*STEP.argv, "-auto-approve")),
    replace(STEP, argv=STEP.argv[:-1]),
    replace(STEP, cwd="/work"),
    replace(STEP, environment={**STEP.environment, "TF_LOG": "trace"}),
    replace(STEP, environment={}),
    replace(STEP, network="host"),
    replace(STEP, lease=False),
)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"image": "other"}, Code.IMAGE_DIFFERS),
        ({"image_sha256": "3" * 64}, Code.IMAGE_DIFFERS),
        ({"timeout_seconds": 61}, Code.LIMITS_DIFFER),
        ({"grace_seconds": 3}, Code.LIMITS_DIFFER),
        ({"providers_lock": None}, Code.LOCK_FILE_DIFFERS),
        ({"steps": EXECUTION.steps[:1]}, Code.STEPS_DIFFER),
        ({"steps": EXECUTION.steps[::-1]}, Code.STEPS_DIFFER),
        *(({"steps": (EXECUTION.steps[0], step)}, Code.STEPS_DIFFER) for step in OTHER_STEPS),
    ],
)
def test_an_execution_that_differs(changes: dict[str, Any], code: Code) -> None:
    with pytest.raises(Refused) as raised:
        comparison.check_execution(replace(EXECUTION, **changes), EXECUTION)
    assert code_of(raised) is code


@pytest.mark.parametrize(
    "files",
    [
        {**examples.FILES, "terraform/web/more.tf": b""},
        {"terraform/web/main.tf": examples.FILES["terraform/web/main.tf"]},
        {**examples.FILES, "terraform/web/main.tf": b"# other\n"},
    ],
)
def test_another_source(files: dict[str, bytes]) -> None:
    with pytest.raises(Refused) as raised:
        comparison.check_source(a_manifest().source, source.archive("terraform/web", files))
    assert code_of(raised) is Code.SOURCE_DIFFERS


@pytest.mark.parametrize(("approved", "here"), [(None, SOURCE), (SOURCE.described(), None)])
def test_a_source_on_one_side_only(approved: Any, here: Any) -> None:
    with pytest.raises(Refused) as raised:
        comparison.check_source(approved, here)
    assert code_of(raised) is Code.SOURCE_DIFFERS


def a_read_plan(sha256: str = PLAN.sha256, masked: bytes = b"{}", **summary: int) -> ReadPlan:
    plan = Plan(
        kind="terraform",
        summary=Summary(**(summary or {"creates": 1})),
        resources=(),
        drift=(),
        outputs=(),
        variables=(),
        checks=(),
        engine_version="1.11.4",
        planned_at="",
        masked=0,
    )
    return ReadPlan(kind="terraform", sha256=sha256, masked=masked, plan=plan)


SHOWN = replace(PLAN, masked_json_sha256=a_read_plan().masked_sha256)


def test_the_approved_plan_passes() -> None:
    comparison.check_plan(SHOWN, a_read_plan())


@pytest.mark.parametrize(
    ("here", "code"),
    [
        (a_read_plan(sha256="8" * 64), Code.PLAN_CHANGED),
        (replace(a_read_plan(), kind="other"), Code.PLAN_JSON_DIFFERS),
        (a_read_plan(masked=b"[]"), Code.PLAN_JSON_DIFFERS),
        (a_read_plan(creates=1, deletes=1), Code.PLAN_SUMMARY_DIFFERS),
    ],
)
def test_a_plan_that_is_not_the_one_that_was_shown(here: ReadPlan, code: Code) -> None:
    with pytest.raises(Refused) as raised:
        comparison.check_plan(SHOWN, here)
    assert code_of(raised) is code


STATE = manifest.TerraformState(lineage="l", serial=4)


@pytest.mark.parametrize(
    ("approved", "here"),
    [
        (STATE, None),
        (None, STATE),
        (STATE, replace(STATE, serial=5)),
        (STATE, replace(STATE, serial=3)),
        (STATE, replace(STATE, lineage="m")),
    ],
)
def test_a_state_that_moved_makes_the_request_stale(approved: Any, here: Any) -> None:
    with pytest.raises(Refused) as raised:
        comparison.check_state(approved, here)
    assert code_of(raised) is Code.STATE_CHANGED
    assert "replan" in raised.value.refusal.remedy


@pytest.mark.parametrize(
    ("changes", "late"),
    [
        ({"expires_at": NOW}, "the request expired 0 seconds"),
        ({"expires_at": NOW - timedelta(seconds=7)}, "the request expired 7 seconds"),
        ({"created_at": NOW - timedelta(days=1)}, "its plan expired 0 seconds"),
    ],
)
def test_what_expired_is_not_carried_out(changes: dict[str, Any], late: str) -> None:
    with pytest.raises(Refused, match=late) as raised:
        comparison.check_time(a_manifest(**changes), APPLY, now=NOW)
    assert code_of(raised) is Code.REQUEST_EXPIRED


def test_fewer_approvals_than_the_policy_asks_for() -> None:
    deleting = replace(PLAN, summary={**PLAN.summary, "deletes": 1})
    with pytest.raises(Refused) as raised:
        comparison.required_approvals(a_manifest(plan=deleting), APPLY, ARGUMENTS)
    assert code_of(raised) is Code.APPROVALS_REQUIRED_DIFFER
    enough = a_manifest(plan=deleting, approvals_required=2)
    assert comparison.required_approvals(enough, APPLY, ARGUMENTS) == 2


def test_a_read_tool_has_no_rule_and_is_never_executed_here() -> None:
    with pytest.raises(Refused) as raised:
        comparison.rule_of(examples.POLICY.tool("report"))
    assert code_of(raised) is Code.TOOL_DIFFERS


def test_true_is_not_one() -> None:
    with pytest.raises(Refused) as raised:
        comparison.check_tool(a_manifest(arguments={"module": True}), APPLY, {"module": 1})
    assert code_of(raised) is Code.ARGUMENTS_DIFFER
