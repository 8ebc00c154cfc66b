"""What a call would do, shown beforehand."""

from __future__ import annotations

import json

import pytest

from policy import conditions, explanation
from policy.refusal import Code, Refused
from tests.unit.policy import tool_examples as examples

POLICY = examples.load()


def test_a_read_call_is_explained() -> None:
    found = explanation.explain(POLICY, "show", {"name": "a.log"})
    assert found.arguments == {"name": "a.log", "lines": 10, "follow": False}
    assert found.steps[0].argv == ("head", "--lines=10", "a.log")
    assert found.approval is None
    assert found.lease is not None
    assert (found.lease.mount, found.lease.role, found.lease.login) == ("pki", "show", "read-show")
    assert "approval   none: it runs at once" in found.text()


def test_a_destructive_call_is_explained_with_its_owners() -> None:
    found = explanation.explain(POLICY, "apply", {"module": "demo"})
    digest = POLICY.tools["apply"].sha256
    assert found.text() == (
        "apply: Apply\n"
        "tier       destructive\n"
        "target     demo, by runners of the pool demo\n"
        "source     terraform/demo\n"
        "runs       terraform init\n"
        "runs       terraform apply plan.bin   (with the credential)\n"
        "limits     10m, 500m of CPU, 512 MiB of memory, image tools\n"
        "lease      pki, role apply, for 15m, by the login grant-apply\n"
        "preview    by plan\n"
        "approval   1 owner of terraform/demo/, by pull_request\n"
        "           2 owners when plan.deletes + plan.replaces > 0\n"
        f"digest     {digest}\n"
    )


def test_a_plan_shows_which_conditions_hold() -> None:
    counts = {**dict.fromkeys(conditions.PLAN_COUNTS, 0), "replaces": 1}
    found = explanation.explain(POLICY, "apply", {"module": "demo"}, plan=counts)
    assert found.approval is not None
    assert found.approval.for_plan is not None
    assert found.approval.for_plan.count == 2
    assert "here: 2 owners" in found.text()


def test_no_preview_is_said() -> None:
    assert "preview    NO PREVIEW" in explanation.explain(POLICY, "forget", {"module": "demo"}).text()


def test_danger_is_said() -> None:
    text = examples.changed(("required: 1", "required: 1\n      allow_self_approval: true"))
    shown = explanation.explain(examples.load(text), "apply", {"module": "demo"}).text()
    assert "DANGER: the requester may approve" in shown


def test_an_element_with_blanks_is_shown_as_one() -> None:
    text = examples.changed(('pattern: "^[a-z.-]+$", ', ""))
    assert "head --lines=10 'a b'" in explanation.explain(examples.load(text), "show", {"name": "a b"}).text()


def test_programs_get_the_same_as_json() -> None:
    found = json.loads(json.dumps(explanation.explain(POLICY, "apply", {"module": "demo"}).as_json()))
    assert found["approval"]["owned"] == "terraform/demo/"
    assert found["approval"]["for_plan"] is None
    assert found["lease"]["ttl_seconds"] == 900
    assert found["tool_digest"] == POLICY.tools["apply"].sha256


@pytest.mark.parametrize(
    ("name", "call", "code"),
    [
        ("nope", {}, Code.TOOL_UNKNOWN),
        ("apply", {}, Code.ARGUMENTS_INVALID),
        ("apply", {"module": "-"}, Code.ARGUMENTS_INVALID),
    ],
)
def test_what_a_call_would_be_refused_for_is_refused(name: str, call: dict[str, str], code: Code) -> None:
    with pytest.raises(Refused) as caught:
        explanation.explain(POLICY, name, dict(call))
    assert caught.value.refusal.code is code
