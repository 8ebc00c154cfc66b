"""Chapters: three break-ins, each by one part that was taken over, and who stops it."""

from __future__ import annotations

import base64
import secrets
import sqlite3
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hvac
import hvac.exceptions
import yaml

from demo import company, processes, rogue_bot
from demo.story.cast import Asked, Cast
from policy import grant, manifest, policy_file
from policy.manifest import Base
from policy.runner_protocol import Job, JobKind
from runner import key_files
from runner.lease.identity import RunnerIdentity

REFUSAL_SECONDS = 60.0


async def a_bot_that_signs_what_nobody_approved(cast: Cast) -> None:
    """The signing key is stolen; the runner reads GitHub itself."""
    tell, asked = cast.teller, _open(cast)
    tell.chapter("Break-in: a bot that signs a grant which nobody approved")
    tell.say(
        f"Pull request {asked.number} has no approval. A bot that was taken over signs a grant for it with "
        "the real key, names alice as approver, and offers it to a runner."
    )
    document = cast.people["alice"].file(f"{company.SOURCE}/.ownergate/{asked.id}.json", asked.head)
    bound = manifest.parse(document)
    sealed = base64.b64decode(_sealed_plan(cast, asked.id))
    bot = rogue_bot.RogueBot(
        job=_job(cast, asked, bound, document), grant=_forged(cast, asked, bound), sealed_plan=sealed
    )
    with rogue_bot.serving(bot):
        runner = _another_runner(cast, bot.url)
        try:
            heard = bot.done.wait(REFUSAL_SECONDS)
        finally:
            processes.kill_group(runner.pid)
            runner.wait()
    result = bot.result
    tell.hold(heard and result is not None, "the runner answered")
    if result is None:
        return
    tell.show(result.refusal.what if result.refusal else result.reason)
    tell.hold(result.outcome.value == "refused", "the runner read the approval at GitHub, and refused")
    kinds = {event.kind.value for event in bot.events}
    tell.hold("credential.issued" not in kinds, "no credential was issued, and nothing ran")


async def a_runner_without_a_grant(cast: Cast) -> None:
    """The runner's identity is stolen; OpenBao demands a grant."""
    tell, stage = cast.teller, cast.stage
    tell.chapter("Break-in: a runner that wants the destructive credential without a grant")
    key = key_files.read_ed25519_private_key(Path(stage.login_key_file), what="the runner's login key")
    token = RunnerIdentity(key, issuer="ownergate:runner", pool="demo").token().reveal().decode()
    client = hvac.Client(url=stage.openbao_address)
    tell.say("With its own identity it tries to log in to the role that only a grant opens:")
    tell.hold(
        _refused(cast, lambda: _login(client, "jwt-grant", "grant-terraform-apply", token)),
        "OpenBao refuses the login",
    )
    tell.say("It logs in to its read role, which is its right, and asks that login for the other lease:")
    client.token = _login(client, "jwt-runner", "read-terraform-plan", token)
    tell.hold(
        _refused(cast, lambda: client.write_data("pki/issue/terraform-apply", data={"common_name": "x"})),
        "OpenBao refuses the lease",
    )


async def a_plan_that_swaps_its_bytes(cast: Cast) -> None:
    """The bot's database is altered after people saw the plan."""
    tell, asked, done = cast.teller, _open(cast), cast.done
    tell.chapter("Break-in: a plan that swaps its bytes after it was shown")
    if done is None:
        raise RuntimeError("this chapter needs an earlier plan")
    tell.say(
        f"In the bot's database, the saved plan of pull request {asked.number} is replaced by another one. "
        "Then alice approves what the pull request shows."
    )
    with sqlite3.connect(cast.stage.path / "bot" / "data" / "bot.db", timeout=10) as database:
        database.execute(
            "UPDATE papers SET sealed_plan = (SELECT sealed_plan FROM papers WHERE request_id = ?) "
            "WHERE request_id = ?",
            (done.id, asked.id),
        )
    cast.people["alice"].approve(asked.number, asked.head)
    answer = await cast.agent.wait(asked.id, {"refused", "succeeded", "failed", "unknown", "void", "stale"})
    tell.show(str((answer.data["refusal"] or {}).get("what", answer.data["cause"])))
    tell.hold(answer.data["state"] == "refused", "the runner refuses bytes that the digest doesn't cover")
    comment = cast.people["alice"].wait_for_comment(asked.number, "Refused by the runner")
    tell.hold("pki/issue/terraform-apply/" not in comment, "no destructive lease was issued, nothing ran")


def _job(cast: Cast, asked: Asked, bound: manifest.Manifest, document: str) -> Job:
    return Job(
        id="job-" + secrets.token_hex(13),
        kind=JobKind.EXECUTE,
        request_id=asked.id,
        at=datetime.now(UTC),
        audit_tip=rogue_bot.TIP,
        audit_at_remembered=None,
        tool=bound.tool,
        tool_digest=bound.tool_digest,
        policy_sha256=_policy_sha256(cast),
        arguments=bound.arguments,
        base=Base(ref=bound.base.ref, sha=bound.base.sha),
        source=None,
        manifest=document,
        pull_request=asked.number,
        head_sha=asked.head,
        barred=(bound.requester.person_id,),
    )


def _forged(cast: Cast, asked: Asked, bound: manifest.Manifest) -> str:
    key = key_files.read_ed25519_private_key(Path(cast.stage.grant_key_file), what="the stolen key")
    now = int(time.time())
    alice = cast.stage.people_ids["alice"]
    approval = grant.Approval(review_id=1, person_id=alice, login="alice", commit=asked.head, lines=(3,))
    statement = grant.Grant(
        iss=grant.issuer(cast.stage.repository_id),
        aud=grant.AUDIENCE,
        sub=asked.id,
        jti=secrets.token_hex(32),
        iat=now,
        nbf=now,
        exp=now + 1800,
        digest=manifest.digest(bound),
        tool=bound.tool,
        target=bound.target.name,
        policy_sha256=bound.policy_sha256,
        evidence=grant.Evidence(
            channel="pull_request", number=asked.number, head_sha=asked.head, approvals=(approval,)
        ),
    )
    return grant.sign(statement, key)


def _another_runner(cast: Cast, bot_url: str) -> subprocess.Popen[bytes]:
    settings = yaml.safe_load(Path(cast.stage.runner_config).read_text())
    settings |= {"name": "runner-2", "bot_url": bot_url, "data": "data-2"}
    settings["sandbox"]["scratch"] = f"{cast.stage.scratch}/sandbox-2"
    path = Path(cast.stage.runner_config).with_name("runner-2.yaml")
    path.write_text(yaml.safe_dump(settings))
    with (cast.stage.path / "logs" / "runner-2.log").open("ab") as log:
        return subprocess.Popen(
            [processes.OWNERGATE, "runner", "--config", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _policy_sha256(cast: Cast) -> str:
    settings = yaml.safe_load(Path(cast.stage.runner_config).read_text())
    return policy_file.load(Path(settings["policy"]).read_bytes()).sha256


def _sealed_plan(cast: Cast, request_id: str) -> str:
    with sqlite3.connect(f"file:{cast.stage.path / 'bot' / 'data' / 'bot.db'}?mode=ro", uri=True) as database:
        row = database.execute(
            "SELECT sealed_plan FROM papers WHERE request_id = ?", (request_id,)
        ).fetchone()
    return str(row[0])


def _login(client: hvac.Client, mount: str, role: str, token: str) -> str:
    answer = client.write_data(f"auth/{mount}/login", data={"role": role, "jwt": token})
    return str(answer["auth"]["client_token"])


def _refused(cast: Cast, attempt: Any) -> bool:
    try:
        attempt()
    except hvac.exceptions.VaultError as error:
        cast.teller.show(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        return True
    return False


def _open(cast: Cast) -> Asked:
    if cast.open is None:
        raise RuntimeError("this chapter needs the one before")
    return cast.open
