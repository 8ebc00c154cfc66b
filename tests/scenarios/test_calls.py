"""Calls that are wrong, repeated or made by many at once, through MCP and REST."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scenarios.product import MAIN, Product, at_once, call, files

MODULE = {"module": "demo"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"module": 7}, "arguments_invalid"),
        ({"module": ["demo"]}, "arguments_invalid"),
        ({}, "arguments_invalid"),
        ({**MODULE, "force": True}, "arguments_invalid"),
        ({"module": "-chdir=/"}, "arguments_invalid"),
        ({"module": "../demo"}, "arguments_invalid"),
        ({"module": "demo/../../runner"}, "arguments_invalid"),
        ({"module": "demo\0"}, "arguments_invalid"),
        ({"module": "de\u0301mo"}, "json_invalid"),
        ({"module": "d" * 1_000_000}, "arguments_invalid"),
        ({**MODULE, "expect": {"replaces": 2**60}}, "json_invalid"),
        ({**MODULE, "source": {"branch": "x", "files": {}}}, "arguments_invalid"),
        ({**MODULE, "source": {"files": {"terraform/demo/../../CODEOWNERS": "* @dana"}}}, "source_invalid"),
        ({**MODULE, "source": {"files": {"CODEOWNERS": "* @dana"}}}, "source_invalid"),
        (
            {**MODULE, "source": {"files": {"terraform/demo/x.tf": "# ghp_" + "a1B2c3D4e5F6" * 3}}},
            "credential_literal",
        ),
    ],
)
def test_a_wrong_call_is_refused_and_says_why(
    ownergate: Product, arguments: dict[str, Any], code: str
) -> None:
    answer = ownergate.agent.call("terraform_apply", **{"reason": "r", **arguments})
    assert answer.is_error
    assert answer.data["refusal"]["code"] == code, answer.text
    assert answer.data["next_action"] == "fix_arguments"
    assert len(answer.text) < 2_000, "what was sent is not sent back"


def test_the_bot_checks_again_what_the_agents_server_checks(ownergate: Product) -> None:
    token = ownergate.running.stage.agent_token_file
    with ownergate.rest(token) as http:
        for arguments in ({"module": 7}, {**MODULE, "force": True}, {"module": "-x"}, {"module": "a/../b"}):
            answer = http.post("/api/v1/requests", json=call("terraform_apply", arguments))
            assert (answer.status_code, answer.json()["refusal"]["code"]) == (422, "arguments_invalid")
        unknown = http.post("/api/v1/requests", json=call("terraform_aply", MODULE))
        assert unknown.json()["refusal"]["code"] == "tool_unknown"
        assert "terraform_apply" in unknown.text, "the nearest name is told"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('"module": "demo"', '"module": "demo", "module": "other"', "json_invalid"),
        ('"expect": null', '"expect": {"creates": NaN}', "json_invalid"),
        ('"expect": null', '"expect": {"creates": 1.5}', "json_invalid"),
        ('"expect": null', '"expect": {"creates": 99999999999999999999}', "json_invalid"),
        ('"reason": "a scenario"', '"reason": "\\ud800"', "json_invalid"),
        ('"wait_seconds": 0', '"wait_seconds": "0"', "arguments_invalid"),
        ('"wait_seconds": 0', '"wait_seconds": 0, "approve": true', "arguments_invalid"),
    ],
)
def test_json_that_reads_two_ways_is_refused(ownergate: Product, old: str, new: str, code: str) -> None:
    text = json.dumps(call("terraform_apply", MODULE))
    assert old in text
    with ownergate.rest(ownergate.running.stage.agent_token_file) as http:
        answer = http.post(
            "/api/v1/requests",
            content=text.replace(old, new),
            headers={"content-type": "application/json"},
        )
    assert 400 <= answer.status_code < 500
    assert answer.json()["refusal"]["code"] == code, answer.text


def test_no_token_of_any_role_but_an_agent_s_can_ask_and_none_can_approve(ownergate: Product) -> None:
    stage = ownergate.running.stage
    runner = str(stage.path / "runner" / "token")
    for token in (None, stage.auditor_token_file, runner):
        with ownergate.rest(token) as http:
            answer = http.post("/api/v1/requests", json=call("sandbox_report", {}))
            assert answer.status_code == (401 if token is None else 403)
    with ownergate.rest(stage.agent_token_file) as http:
        for path in ("/api/v1/pause", "/api/v1/runner/poll", "/api/v1/audit/export"):
            assert http.post(path, json={}).status_code in {401, 403, 405}
        assert http.post("/api/v1/requests/og-x/approve", json={}).status_code == 404


def test_twenty_identical_calls_at_once_make_one_pull_request(ownergate: Product) -> None:
    module = ownergate.module()
    body = call(
        "terraform_apply",
        {"module": module},
        source=files(module, MAIN.replace("one", "many")),
        wait_seconds=40,
    )
    token = ownergate.running.stage.agent_token_file

    def ask() -> str:
        with ownergate.rest(token) as http:
            return str(http.post("/api/v1/requests", json=body).raise_for_status().json()["id"])

    ids = at_once(*[ask] * 20)
    assert len(set(ids)) == 1
    asked = ownergate.asked(module, ownergate.agent.wait(ids[0], "pending"))
    pulls = ownergate.github("alice").get(ownergate.path("/pulls?state=all&per_page=100")).json()
    branch = f"ownergate/{asked.id}"
    assert [pull["number"] for pull in pulls if pull["head"]["ref"] == branch] == [asked.number]
    ownergate.agent.call("cancel_request", request_id=asked.id)


def test_a_key_stands_for_one_call(ownergate: Product) -> None:
    module = ownergate.module()
    call_once = {"module": module, "reason": "r", "idempotency_key": f"key-of-{module}"}
    first = ownergate.agent.call("terraform_apply", **call_once)
    ownergate.agent.call("cancel_request", request_id=first.data["id"])
    again = ownergate.agent.call("terraform_apply", **call_once)
    assert again.data["id"] == first.data["id"]
    assert again.data["state"] == "cancelled"
    other = ownergate.agent.call("terraform_apply", **{**call_once, "expect": {"creates": 5}})
    assert other.data["refusal"]["code"] == "idempotency_key_reused"


def test_requests_of_others_are_as_if_they_were_not_there(ownergate: Product) -> None:
    own = ownergate.agent.call("sandbox_report").data["id"]
    for tool in ("check_request", "cancel_request"):
        answer = ownergate.second_agent.call(tool, request_id=own)
        assert answer.data["refusal"]["code"] == "not_found"
    assert own not in ownergate.second_agent.call("list_requests").text
