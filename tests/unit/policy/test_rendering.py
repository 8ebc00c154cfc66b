"""What people read: snapshots of all of it, and the limits."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from policy import manifest as manifests
from policy import rendering, terraform_plan
from policy.plan import Absent, Action, AttributeChange, Plan, ResourceChange, Summary
from policy.refusal import Code, Refused
from policy.tools import Via
from tests.unit.policy import plan_examples
from tests.unit.policy.plan_examples import approvers, manifest_for


def render(case: str, **changes: Any) -> rendering.Rendering:
    masked = terraform_plan.mask(plan_examples.document(case))
    plan = terraform_plan.read(masked)
    return rendering.render(manifest_for(plan, masked=masked, **changes), plan, approvers=approvers())


@pytest.mark.parametrize("case", ["worst", "create", "hostile", "leaks", "import", "tainted", "check"])
def test_what_people_read(case: str, snapshot: SnapshotAssertion) -> None:
    shown = render(case)
    assert f"TITLE {shown.title}\n\n{shown.body}\n=== DOCUMENT ===\n\n{shown.document}" == snapshot


def test_without_a_preview(snapshot: SnapshotAssertion) -> None:
    manifest = manifest_for(None, source=None, tool="state_backup_delete", owned=("terraform/web/state/",))
    shown = rendering.render(manifest, None, approvers=approvers(required=1, because=(), barred=()))
    assert shown.title == "state_backup_delete terraform/web/state/: NO PREVIEW"
    assert f"{shown.body}\n=== DOCUMENT ===\n\n{shown.document}" == snapshot
    for text in (shown.body, shown.document):
        assert "NO PREVIEW" in text
        for exact in (
            "terraform apply plan.bin",
            "/work/src/terraform/web",
            'TF_IN_AUTOMATION="1"',
            "6" * 64,
        ):
            assert exact in text


def test_drift_is_shown(snapshot: SnapshotAssertion) -> None:
    plan = plan_examples.read("worst")
    drifted = dataclasses.replace(
        plan, drift=plan.resources[6:7], summary=dataclasses.replace(plan.summary, drifted=1)
    )
    shown = rendering.render(manifest_for(drifted), drifted, approvers=approvers())
    assert "**Changed outside since the last apply:** `terraform_data.config`." in shown.body
    assert "## Changed outside" in shown.document


def test_the_issue_channel_says_so_and_holds_everything() -> None:
    plan = plan_examples.read("worst")
    view = approvers(channel=Via.ISSUE, document_path=None, allow_self_approval=True)
    shown = rendering.render(manifest_for(plan), plan, approvers=view)
    assert "Close the issue to stop it" in shown.body
    assert "This tool lets the person who asked approve it too" in shown.body
    assert rendering.in_issue(shown).endswith(shown.document)
    with pytest.raises(Refused) as caught:
        rendering.in_issue(dataclasses.replace(shown, document="x" * rendering.BODY_LIMIT))
    assert caught.value.refusal.code is Code.CANNOT_BE_SHOWN_WHOLE


def test_who_may_approve_is_not_in_the_document() -> None:
    plan = plan_examples.read("worst")
    manifest = manifest_for(plan)
    one = rendering.render(manifest, plan, approvers=approvers())
    other = rendering.render(manifest, plan, approvers=approvers(required=1, paths=(), barred=()))
    assert one.body != other.body
    assert one.document == other.document == rendering.document(manifest, plan)


def many(action: Action, count: int, *, name: str = "web") -> tuple[ResourceChange, ...]:
    change = AttributeChange(
        path="input", before=1, after=Absent(), forces_replacement=False, sensitive=False
    )
    return tuple(
        ResourceChange(
            address=f"terraform_data.{name}[{number}]",
            previous_address=None,
            deposed=None,
            type="terraform_data",
            provider=plan_examples.BUILTIN,
            action=action,
            reason=None,
            imported=None,
            attributes=(change,),
            create_before_destroy=False,
        )
        for number in range(count)
    )


def large(*resources: tuple[ResourceChange, ...], **counts: int) -> Plan:
    base = plan_examples.read("nothing")
    return dataclasses.replace(
        base, resources=tuple(item for group in resources for item in group), summary=Summary(**counts)
    )


def test_a_plan_too_large_for_the_body_lists_what_destroys_and_counts_the_rest() -> None:
    plan = large(
        many(Action.DELETE, 100),
        many(Action.REPLACE, 50, name="db"),
        many(Action.UPDATE, 2000, name="u"),
        deletes=100,
        replaces=50,
        updates=2000,
    )
    shown = rendering.render(manifest_for(plan), plan, approvers=approvers())
    assert len(shown.body) <= rendering.BODY_LIMIT
    assert "The plan has 2000 more changes than fit here" in shown.body
    assert all(f"`terraform_data.web[{number}]`" in shown.body for number in range(100))
    assert all(f"`terraform_data.db[{number}]`" in shown.body for number in range(50))
    assert all(f"terraform_data.u[{number}]" in shown.document for number in range(2000))


def test_more_deletions_than_fit_are_refused() -> None:
    plan = large(many(Action.DELETE, 3000), deletes=3000)
    with pytest.raises(Refused) as caught:
        rendering.render(manifest_for(plan), plan, approvers=approvers())
    assert caught.value.refusal.code is Code.CANNOT_BE_SHOWN_WHOLE
    assert "Split it" in caught.value.refusal.remedy


def test_a_reason_that_does_not_fit_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        render("nothing", reason="x" * 70_000)
    assert caught.value.refusal.code is Code.CANNOT_BE_SHOWN_WHOLE


@pytest.mark.parametrize("path", ["x" * 400, "@octocat/#1/`a`", "a/⟦b", "fixes #1", "\u202e"])
def test_titles_are_short_and_inert(path: str) -> None:
    source = manifest_for(None).source
    assert source is not None
    manifest = manifest_for(None, source=dataclasses.replace(source, path=path))
    title = rendering.title(manifest, None)
    assert len(title) <= rendering.TITLE_LIMIT
    assert title.endswith(": NO PREVIEW")
    assert not set("@#`\u202e") & set(title)


@pytest.mark.parametrize(
    "other",
    [
        lambda plan: None,
        lambda plan: dataclasses.replace(plan, kind="pulumi"),
        lambda plan: dataclasses.replace(plan, summary=Summary(deletes=1)),
    ],
)
def test_a_plan_that_is_not_the_manifests_is_refused(other: Any) -> None:
    plan = plan_examples.read("worst")
    with pytest.raises(Refused) as caught:
        rendering.render(manifest_for(plan), other(plan), approvers=approvers())
    assert caught.value.refusal.code is Code.PLAN_INVALID


def test_a_plan_without_a_place_in_the_manifest_is_refused() -> None:
    with pytest.raises(Refused):
        rendering.document(manifest_for(None), plan_examples.read("worst"))


def test_the_digest_is_the_manifests() -> None:
    plan = plan_examples.read("worst")
    manifest = manifest_for(plan)
    shown = rendering.render(manifest, plan, approvers=approvers())
    for text in (shown.body, shown.document):
        assert manifests.digest(manifest) in text
