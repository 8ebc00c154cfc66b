"""The status comment as people read it, in every state, and its limits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from bot import audit_export, status_comment, wording
from bot.participants import Participant
from bot.request_store import Request
from bot.status_comment import LIMIT, Related, Status
from policy import audit
from policy.audit import Kind
from policy.receipt import AuditTip, LeaseRecord, Outcome, Receipt, Residue
from policy.states import State, Tier, is_final

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
ID = "og-0123456789abcdefghjkmnpqrs"


def a_request(**changes: Any) -> Request:
    plain = Request(
        id=ID,
        state=State.PENDING,
        cause=wording.PENDING,
        tier=Tier.DESTRUCTIVE,
        tool="terraform_apply",
        tool_digest="1" * 64,
        arguments={"module": "demo"},
        source=None,
        expect=None,
        reason="because",
        agent="editor",
        principal_id=1,
        person_id=1003,
        login="bob",
        same_key="2" * 64,
        target="demo",
        runner_pool="demo",
        lock_key="state:demo:terraform/demo",
        owned=["terraform/demo/"],
        base_ref="main",
        base_sha="3" * 40,
        branch_sha=None,
        routing=[{"path": "terraform/demo/", "people": [{"id": 1, "login": "alice"}]}],
        planned_at=NOW,
        verdict="REPLACES 1",
        structure=None,
        digest="4" * 64,
        required=1,
        required_because=[],
        changes_source=True,
        pull_request=7,
        link="https://github.example/acme/infra/pull/7",
        head_sha="5" * 40,
        check_run_id=None,
        comment_id=None,
        comment_sha256=None,
        merged=None,
        decision=None,
        looked_at=None,
        refusal=None,
        result=None,
        receipt=None,
        predecessor_id=None,
        successor_id=None,
        created_at=NOW,
        expires_at=NOW,
        changed_at=NOW,
        fence=None,
    )
    return replace(plain, **changes)


def a_receipt() -> Receipt:
    return Receipt(
        request_id=ID,
        digest="4" * 64,
        grant_id="6" * 64,
        tool="terraform_apply",
        target="demo",
        runner="runner-1",
        outcome=Outcome.SUCCEEDED,
        exit_code=0,
        reason="done",
        kernel="Linux version 4.4.0",
        image_sha256="7" * 64,
        started_at=NOW,
        ended_at=NOW,
        leases=(
            LeaseRecord(
                lease_id="pki/issue/terraform-apply/1",
                role="terraform-apply",
                scope="apply on demo",
                issued_at=NOW,
                expires_at=NOW,
                revoked_at=NOW,
                powerless_after_ms=12,
            ),
        ),
        output_sha256="8" * 64,
        output_cut_bytes=0,
        residue=Residue.NONE,
        state_rescued=False,
        audit_tip=AuditTip(sequence=3, hash="9" * 64),
    )


def trail(count: int = 2, **data: Any) -> list[audit.Event]:
    events: list[audit.Event] = []
    for _ in range(count):
        events.append(
            audit.link(
                kind=Kind.CREDENTIAL_ISSUED,
                request_id=ID,
                at=NOW,
                data={"lease_id": "pki/issue/x/1", **data},
                tip=events[-1].tip if events else None,
                previous_of_request=events[-1].hash if events else None,
            )
        )
    return events


def a_status(request: Request | None = None, **changes: Any) -> Status:
    events = trail()
    bob = Participant(
        request_id=ID,
        principal_id=1,
        person_id=1003,
        login="bob",
        agent="editor",
        asked_first=True,
        joined_at=NOW,
    )
    plain = Status(
        request=request or a_request(),
        asked_by=[bob],
        predecessor=None,
        successor=None,
        receipt=None,
        events=events,
        tip=events[-1].tip,
    )
    return replace(plain, **changes)


FINDINGS = {
    "verdict": "waiting",
    "given": 0,
    "still_needed": 1,
    "missing_paths": ["terraform/demo/"],
    "may_approve": {"terraform/demo/": ["alice", "carol"]},
    "findings": [
        {
            "ok": False,
            "subject": "review 12 by @mallory",
            "reason": "@mallory approved, but is not an owner of terraform/demo/.",
            "code": "not_an_owner",
        }
    ],
}


@pytest.mark.parametrize("state", [state for state in State if state in wording.HEADLINES])
def test_every_state_reads_well(state: State, snapshot: SnapshotAssertion) -> None:
    text = status_comment.write(a_status(a_request(state=state, cause="This is the cause.")))
    assert text.split("<details>")[0] == snapshot


def test_what_is_missing_and_why_an_approval_does_not_count(snapshot: SnapshotAssertion) -> None:
    assert status_comment.write(a_status(a_request(decision=FINDINGS))) == snapshot


def test_a_success_with_its_receipt(snapshot: SnapshotAssertion) -> None:
    request = a_request(
        state=State.SUCCEEDED,
        cause=wording.SUCCEEDED,
        result={"output": "Apply complete!\n```\n@everyone <img src=x>\n", "output_cut_bytes": 0},
        receipt="aaa.bbb.ccc",
    )
    text = status_comment.write(a_status(request, receipt=a_receipt()))
    assert text == snapshot


def test_joined_predecessor_and_successor(snapshot: SnapshotAssertion) -> None:
    status = a_status(a_request(state=State.STALE, cause=wording.STALE))
    dave = replace(status.asked_by[0], login="dave", principal_id=2, asked_first=False)
    text = status_comment.write(
        replace(
            status,
            asked_by=[*status.asked_by, dave],
            predecessor=Related(id="og-" + "1" * 26, number=5),
            successor=Related(id="og-" + "2" * 26, number=None),
        )
    )
    assert text.split("<details>")[0] == snapshot


def test_a_trail_of_thousands_of_events_fits_and_says_what_is_left_out() -> None:
    events = trail(1500, text="x" * 60)
    request = a_request(
        state=State.SUCCEEDED,
        result={"output": "é" * 60_000, "output_cut_bytes": 0},
        decision=FINDINGS,
    )
    text = status_comment.write(a_status(request, receipt=a_receipt(), events=events, tip=events[-1].tip))
    assert len(text.encode()) <= LIMIT
    read = audit_export.read(text)
    assert read.omitted > 0
    assert f"The oldest {read.omitted} events don't fit here." in text
    assert read.events[-1] == events[-1]


@pytest.mark.parametrize(
    "evil",
    ["@acme/everyone", "</details>", "<script>", "#12", "![x](http://evil)", "`x` | y", "www.evil.example"],
)
def test_names_of_others_have_no_power(evil: str) -> None:
    finding = {"ok": False, "subject": evil, "reason": f"Nobody owns {evil}.", "code": "path_unowned"}
    request = a_request(decision={**FINDINGS, "findings": [finding]})
    text = status_comment.write(a_status(request, events=trail(2, reason=evil))).split("```")[0]
    page = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    assert "<script>" not in page
    assert "<img" not in page
    assert page.count("</details>") <= page.count("<details>")
    outside = page.replace("</code>", "<code>").split("<code>")[::2]
    assert not any(word in part for part in outside for word in ("@acme", "#12", "www.evil"))


def test_each_final_state_has_a_conclusion() -> None:
    assert set(wording.CONCLUSIONS) == {state for state in State if is_final(state)}
    assert set(wording.HEADLINES) == set(State)
