"""Doing things a second time: a delivery of GitHub's, and the claim of a grant."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import httpx2
import jwt
import yaml

from demo.stage import Stage
from policy import record, runner_protocol


def redeliver(stage: Stage, review_id: int) -> int:
    """Has GitHub deliver a review's event again, as an App's owner can; returns how many deliveries."""
    folder = stage.path / "bot"
    app_id = yaml.safe_load((folder / "bot.yaml").read_text())["github"]["app_id"]
    now = int(time.time())
    claims = {"iss": str(app_id), "iat": now - 30, "exp": now + 300}
    token = jwt.encode(claims, (folder / "app.pem").read_text(), algorithm="RS256")
    headers = {"authorization": f"Bearer {token}", "accept": "application/vnd.github+json"}
    again = 0
    with httpx2.Client(base_url=stage.github_url, headers=headers, trust_env=False) as http:
        for delivery in http.get("/app/hook/deliveries?per_page=100").json():
            if delivery["event"] != "pull_request_review":
                continue
            detail: dict[str, Any] = http.get(f"/app/hook/deliveries/{delivery['id']}").json()
            if detail["request"]["payload"]["review"]["id"] == review_id:
                http.post(f"/app/hook/deliveries/{delivery['id']}/attempts").raise_for_status()
                again += 1
    return again


def claim_again(stage: Stage, request_id: str) -> str:
    """Claims a request's grant once more, with the runner's real token; returns what the bot says."""
    with sqlite3.connect(f"file:{stage.path / 'bot' / 'data' / 'bot.db'}?mode=ro", uri=True) as database:
        ((job_id, digest),) = database.execute(
            "SELECT jobs.id, requests.digest FROM jobs JOIN requests ON requests.id = jobs.request_id "
            "WHERE requests.id = ? AND jobs.kind = 'execute'",
            (request_id,),
        ).fetchall()
    policy = httpx2.get(
        f"{stage.bot_url}/api/v1/tools",
        headers={"authorization": f"Bearer {_token(stage.agent_token_file)}"},
        trust_env=False,
    ).json()["policy_sha256"]
    claim = runner_protocol.ClaimRequest(runner="runner-1", digest=digest, policy_sha256=policy)
    answer = httpx2.post(
        f"{stage.bot_url}/api/v1/runner/jobs/{job_id}/claim",
        headers={
            "authorization": f"Bearer {_token(str(stage.path / 'runner' / 'token'))}",
            "content-type": "application/json",
        },
        content=record.encode(claim),
        trust_env=False,
    )
    if answer.is_success:
        return "the grant was handed out a second time"
    refusal = answer.json()["refusal"]
    return f"Refused: {refusal['what']}. {refusal['rule']} [{refusal['code']}]"


def _token(path: str) -> str:
    return Path(path).read_text().strip()
