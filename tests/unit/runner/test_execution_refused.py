"""What must stop an execution. One approved request serves most of it: whatever is refused stays unspent."""

from __future__ import annotations

import base64
import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy import grant, manifest
from policy.audit import Kind
from policy.refusal import Code, Refused
from policy.runner_protocol import Job, JobEvent, JobKind, JobOutcome, JobResult
from runner.bot_client import BotUnavailable
from runner.lease.interface import GrantLogin, Login, RunnerLogin
from runner.secret_bytes import SecretBytes
from runner.work_loop import WorkLoop
from tests.openbao import running_openbao
from tests.runner_stack import Opened, Stack
from tests.scripted_bot import Answer


@pytest.fixture(scope="session")
def opened(stack: Stack) -> Opened:
    """An approved request that is never carried out."""
    return stack.ready(stack.module())


def refused(stack: Stack, job: Job, code: Code, *, claimed: bool, **changes: Any) -> JobResult:
    """Lets the runner refuse a job, and checks that nothing was spent, leased or started."""
    spent = set(stack.data.spent.iterdir()) if stack.data.spent.exists() else set()
    claims = len(stack.bot.claims)
    result = stack.work(job, **changes)
    assert result.refusal is not None, result
    assert result.refusal.code == code, result.refusal
    assert result.receipt is None
    assert set(stack.data.spent.iterdir()) == spent
    assert (len(stack.bot.claims) > claims) is claimed
    assert stack.bot.kinds(job.id) == [Kind.RUNNER_REFUSED]
    return result


# The approval


def test_a_bot_that_grants_what_nobody_approved(stack: Stack) -> None:
    alone = stack.ready(stack.module(), approved=False)
    stack.grants(alone)
    result = refused(stack, stack.execution(alone), Code.APPROVAL_MISSING, claimed=False)
    assert result.outcome is JobOutcome.REFUSED
    assert result.refusal is not None
    assert "finds no approval at GitHub" in result.refusal.what

    for login, why in (("mallory", "not an owner"), ("agent-owner", "asked")):
        stack.forge.review(alone.number, login, commit=alone.head)
        result = refused(stack, stack.execution(alone), Code.APPROVAL_MISSING, claimed=False)
        assert login in str(result.refusal), why

    # Whoever else is barred is the bot's word, and the bot may only bar more.
    stack.forge.review(alone.number, "alice", commit=alone.head)
    job = stack.execution(alone, barred=(stack.forge.id("alice"),))
    refused(stack, job, Code.APPROVAL_MISSING, claimed=False)

    stack.forge.review(alone.number, "carol", event="REQUEST_CHANGES", commit=alone.head)
    result = refused(stack, stack.execution(alone), Code.APPROVAL_MISSING, claimed=False)
    assert "@carol requested changes" in str(result.refusal)


def test_a_pull_request_that_was_disturbed_after_its_approval(stack: Stack) -> None:
    other = stack.ready(stack.module())
    stack.grants(other)
    stack.forge.edit(other.number, "bob", state="closed")
    stack.forge.edit(other.number, "bob", state="open")
    refused(stack, stack.execution(other), Code.APPROVAL_MISSING, claimed=False)


def test_github_that_can_not_be_read(stack: Stack, opened: Opened) -> None:
    stack.grants(opened)
    stack.forge.github.faults.fail(503, path="*/reviews*", times=50)
    try:
        result = refused(stack, stack.execution(opened), Code.GITHUB_UNAVAILABLE, claimed=False)
    finally:
        stack.forge.github.faults.clear()
    assert result.outcome is JobOutcome.FAILED, "a request that may be tried again"


# What would run


def forged(stack: Stack, opened: Opened, **changes: Any) -> Job:
    """A job with another manifest than the approved one."""
    text = manifest.encode(replace(opened.manifest, **changes)).decode()
    return stack.execution(opened, manifest=text)


EXECUTIONS: dict[str, tuple[Callable[[manifest.Execution], manifest.Execution], Code]] = {
    "another image": (lambda e: replace(e, image_sha256="0" * 64), Code.IMAGE_DIFFERS),
    "another timeout": (lambda e: replace(e, timeout_seconds=3600), Code.LIMITS_DIFFER),
    "another argv": (
        lambda e: replace(e, steps=(e.steps[0], replace(e.steps[1], argv=("terraform", "destroy")))),
        Code.STEPS_DIFFER,
    ),
    "another folder": (
        lambda e: replace(e, steps=(e.steps[0], replace(e.steps[1], cwd="/work/src"))),
        Code.STEPS_DIFFER,
    ),
    "another lock file": (lambda e: replace(e, providers_lock="0" * 64), Code.LOCK_FILE_DIFFERS),
}


@pytest.mark.parametrize("name", EXECUTIONS)
def test_another_execution_than_the_policys(stack: Stack, opened: Opened, name: str) -> None:
    change, code = EXECUTIONS[name]
    job = forged(stack, opened, execution=change(opened.manifest.execution))
    refused(stack, job, code, claimed=False)


def test_another_target(stack: Stack, opened: Opened) -> None:
    elsewhere = replace(opened.manifest.target, vault_mount="production")
    refused(stack, forged(stack, opened, target=elsewhere), Code.TARGET_DIFFERS, claimed=False)


def test_another_repository(stack: Stack, opened: Opened) -> None:
    other = replace(opened.manifest.repository, id=1)
    refused(stack, forged(stack, opened, repository=other), Code.REPOSITORY_DIFFERS, claimed=False)


def test_another_source(stack: Stack, opened: Opened) -> None:
    assert opened.manifest.source is not None
    files = (replace(opened.manifest.source.files[0], sha256="0" * 64),)
    other = replace(opened.manifest.source, files=files)
    refused(stack, forged(stack, opened, source=other), Code.SOURCE_DIFFERS, claimed=False)


def test_another_declaration_of_the_tool(stack: Stack, opened: Opened) -> None:
    refused(stack, forged(stack, opened, tool_digest="0" * 64), Code.TOOL_DIFFERS, claimed=False)
    job = stack.execution(opened, tool_digest="0" * 64)
    refused(stack, job, Code.TOOL_DIFFERS, claimed=False)


def test_another_policy(stack: Stack, opened: Opened) -> None:
    job = stack.execution(opened, policy_sha256="0" * 64)
    result = refused(stack, job, Code.POLICY_DIFFERS, claimed=False)
    assert result.outcome is JobOutcome.FAILED, "the files may agree again in a minute"


def test_an_expired_request(stack: Stack, opened: Opened) -> None:
    job = forged(stack, opened, expires_at=opened.manifest.created_at)
    refused(stack, job, Code.REQUEST_EXPIRED, claimed=False)


def test_fewer_approvals_than_the_policy_wants(stack: Stack, opened: Opened) -> None:
    job = forged(stack, opened, approvals_required=0)
    refused(stack, job, Code.APPROVALS_REQUIRED_DIFFER, claimed=False)


def test_a_manifest_that_is_not_the_committed_one(stack: Stack, opened: Opened) -> None:
    """Nothing in it that this runner could know better: only the committed file tells."""
    refused(stack, forged(stack, opened, reason="harmless"), Code.APPROVAL_MISSING, claimed=False)


@pytest.mark.parametrize("text", ["{}", "[", '{"version":1,"version":1}', '{"version": 1}'])
def test_a_manifest_that_is_none(stack: Stack, opened: Opened, text: str) -> None:
    result = stack.work(stack.execution(opened, manifest=text))
    assert result.refusal is not None
    assert result.refusal.code in (Code.MANIFEST_INVALID, Code.JSON_INVALID)


def test_a_manifest_in_another_form(stack: Stack, opened: Opened) -> None:
    spaced = manifest.encode(opened.manifest).decode().replace(":", ": ", 1)
    job = stack.execution(opened, manifest=spaced)
    refused(stack, job, Code.MANIFEST_INVALID, claimed=False)


@pytest.mark.parametrize("missing", ["manifest", "pull_request", "head_sha"])
def test_a_job_without_what_an_execution_needs(stack: Stack, opened: Opened, missing: str) -> None:
    job = stack.execution(opened, **{missing: None})
    refused(stack, job, Code.REQUEST_DIFFERS, claimed=False)


def test_an_execution_that_calls_itself_a_read(stack: Stack, opened: Opened) -> None:
    job = replace(stack.execution(opened), kind=JobKind.READ)
    refused(stack, job, Code.TOOL_DIFFERS, claimed=False)


# The grant and the plan: what only the claim gives


def test_a_forged_rendering(stack: Stack) -> None:
    """People approved a text that is not what this manifest and plan say."""
    shown = stack.ready(stack.module(), document="# Nothing will happen\n")
    stack.grants(shown)
    result = refused(stack, stack.execution(shown), Code.APPROVAL_MISSING, claimed=True)
    assert "rendering" in str(result.refusal)


GRANTS: dict[str, tuple[dict[str, Any], Code]] = {
    "expired": ({"exp": 1_700_000_001, "nbf": 1_700_000_000}, Code.GRANT_EXPIRED),
    "not yet": ({"nbf": 4_000_000_000, "exp": 4_000_000_001}, Code.GRANT_EXPIRED),
    "another digest": ({"digest": "0" * 64}, Code.GRANT_OTHER_REQUEST),
    "another tool": ({"tool": "forget"}, Code.GRANT_OTHER_REQUEST),
    "another target": ({"target": "production"}, Code.GRANT_OTHER_REQUEST),
    "another request": ({"sub": "og-" + "1" * 26}, Code.GRANT_OTHER_REQUEST),
    "another repository's bot": ({"iss": grant.issuer(1)}, Code.GRANT_OTHER_REQUEST),
    "for somebody else": ({"aud": "vault"}, Code.GRANT_OTHER_REQUEST),
}


@pytest.mark.parametrize("name", GRANTS)
def test_a_grant_for_something_else(stack: Stack, opened: Opened, name: str) -> None:
    changes, code = GRANTS[name]
    stack.grants(opened, **changes)
    refused(stack, stack.execution(opened), code, claimed=True)


def test_a_grant_with_other_evidence(stack: Stack, opened: Opened) -> None:
    honest = stack.a_grant(opened).evidence
    for evidence in (replace(honest, number=honest.number + 1), replace(honest, head_sha="0" * 40)):
        stack.grants(opened, evidence=evidence)
        refused(stack, stack.execution(opened), Code.EVIDENCE_DIFFERS, claimed=True)


def test_a_grant_by_another_key(stack: Stack, opened: Opened) -> None:
    stack.grants(opened, key=Ed25519PrivateKey.generate())
    refused(stack, stack.execution(opened), Code.GRANT_SIGNATURE, claimed=True)


def test_an_altered_grant(stack: Stack, opened: Opened) -> None:
    stack.grants(opened)
    honest = stack.bot.on_claim

    def alter(job_id: str, request: Any) -> Any:
        claim = honest(job_id, request)
        head, body, tail = claim.grant.split(".")
        padded = base64.urlsafe_b64decode(body + "==").replace(b'"aud":"openbao"', b'"aud":"openbap"')
        return replace(claim, grant=f"{head}.{base64.urlsafe_b64encode(padded).decode().rstrip('=')}.{tail}")

    stack.bot.on_claim = alter
    refused(stack, stack.execution(opened), Code.GRANT_SIGNATURE, claimed=True)


def test_a_revoked_grant(stack: Stack, opened: Opened) -> None:
    granted = stack.grants(opened)
    revoked = frozenset({granted.jti})
    job = stack.execution(opened)
    refused(stack, job, Code.GRANT_REVOKED, claimed=True, revoked_grants=lambda: revoked)


def test_a_plan_that_swaps_its_bytes(stack: Stack, opened: Opened) -> None:
    """Neither another request's sealed plan nor altered bytes open for this one."""
    other = stack.ready(stack.module(), approved=False)
    assert opened.sealed_plan is not None
    sealed = bytearray(base64.b64decode(opened.sealed_plan))
    sealed[len(sealed) // 2] ^= 1
    for swapped in (other.sealed_plan, base64.b64encode(sealed).decode(), "?", ""):
        stack.grants(opened, sealed=swapped)
        refused(stack, stack.execution(opened), Code.SEALED_PLAN, claimed=True)


def test_no_plan_where_one_was_approved(stack: Stack, opened: Opened) -> None:
    stack.grants(replace(opened, sealed_plan=None))
    refused(stack, stack.execution(opened), Code.PLAN_MISSING, claimed=True)


def test_a_plan_whose_json_is_not_what_was_shown(stack: Stack) -> None:
    """The bytes are right and the people saw something else: the masked JSON's digest tells."""
    job, planned = stack.plan(stack.module())
    assert planned.plan is not None
    assert planned.plan.plan is not None
    lying = replace(planned.plan.plan, masked_json_sha256="0" * 64)
    shown = stack.open(job, replace(planned, plan=replace(planned.plan, plan=lying)))
    stack.forge.review(shown.number, "alice", commit=shown.head)
    stack.grants(shown)
    refused(stack, stack.execution(shown), Code.PLAN_JSON_DIFFERS, claimed=True)


# The claim and the trail


def test_a_claim_that_the_bot_refuses(stack: Stack, opened: Opened) -> None:
    def refuse(job_id: str, request: Any) -> Any:
        raise Answer(409, "somebody else was faster")

    stack.bot.on_claim = refuse
    result = stack.work(stack.execution(opened))
    assert result.outcome is JobOutcome.FAILED
    assert "somebody else was faster" in result.reason


def test_a_claim_whose_answer_is_lost(stack: Stack, opened: Opened) -> None:
    stack.grants(opened)
    stack.bot.lost.append("claim$")
    claims = len(stack.bot.claims)
    result = stack.work(stack.execution(opened))
    assert result.outcome is JobOutcome.FAILED
    assert len(stack.bot.claims) == claims + 1, "a claim is never sent twice"


def test_nothing_is_spent_when_the_intent_cant_be_recorded(stack: Stack, opened: Opened) -> None:
    granted = stack.grants(opened)

    def refuse(job_id: str, event: JobEvent) -> None:
        if event.kind is Kind.GRANT_SPENT:
            raise Answer(409, "the request is void")

    stack.bot.on_event = refuse
    try:
        result = stack.work(stack.execution(opened))
    finally:
        stack.bot.on_event = lambda job_id, event: None
    assert result.outcome is JobOutcome.FAILED
    assert not (stack.data.spent / granted.jti).exists()


def test_a_state_that_moved_before_the_claim(stack: Stack, opened: Opened) -> None:
    module = str(opened.manifest.arguments["module"])
    state = stack.state(module)
    state.write_text('{"version": 4, "serial": 1, "lineage": "x", "resources": []}')
    try:
        result = refused(stack, stack.execution(opened), Code.STATE_CHANGED, claimed=False)
        assert result.outcome is JobOutcome.STALE
        foreign = '{"provider": "provider[\\"registry.terraform.io/evil/evil\\"]"}'
        state.write_text(f'{{"version": 4, "serial": 1, "lineage": "x", "resources": [{foreign}]}}')
        refused(stack, stack.execution(opened), Code.PLAN_PROVIDER, claimed=False)
        state.write_text("not a state")
        refused(stack, stack.execution(opened), Code.STATE_INVALID, claimed=False)
    finally:
        state.unlink()


def test_openbao_that_is_down_or_sealed_before_the_claim(
    stack: Stack, opened: Opened, tmp_path: Path
) -> None:
    with running_openbao(tmp_path / "openbao") as bao:
        own = stack.with_openbao(tmp_path / "runner", bao)
        bao.seal()
        result = refused(own, own.execution(opened), Code.VAULT_SEALED, claimed=False)
        assert result.outcome is JobOutcome.FAILED
        bao.stop()
        refused(own, own.execution(opened), Code.VAULT_UNREACHABLE, claimed=False)


# OpenBao's own part of the law


def test_openbao_gives_the_destructive_role_to_nothing_but_its_grant(stack: Stack, opened: Opened) -> None:
    own_key = Ed25519PrivateKey.generate()
    good = stack.a_grant(opened)
    forgeries: dict[str, Login] = {
        "the runner's own identity": RunnerLogin(role="grant-terraform-apply"),
        "the read role for it": RunnerLogin(role="read-terraform-apply"),
        "a grant that the runner signed": GrantLogin(
            role="grant-terraform-apply", grant_jwt=SecretBytes(grant.sign(good, own_key).encode())
        ),
    }
    altered: dict[str, dict[str, Any]] = {
        "a grant for another tool": {"tool": "forget"},
        "a grant for another target": {"target": "production"},
        "an expired grant": {"nbf": 1_700_000_000, "exp": 1_700_000_001, "iat": 1_700_000_000},
    }
    for name, changes in altered.items():
        signed = grant.sign(replace(good, **changes), stack.keys["grant"])
        forgeries[name] = GrantLogin(role="grant-terraform-apply", grant_jwt=SecretBytes(signed.encode()))
    with stack.equipment() as equipment:
        for name, login in forgeries.items():
            with pytest.raises(Refused) as raised:
                equipment.leases.issue(
                    call_id=f"call-{secrets.token_hex(4)}",
                    mount="pki",
                    role="terraform-apply",
                    common_name="terraform-apply.demo.ownergate.internal",
                    login=login,
                    ttl_seconds=300,
                    parameters={},
                )
            assert raised.value.refusal.code is Code.VAULT_REFUSED, name


def test_the_bot_is_away_before_the_claim(stack: Stack, opened: Opened, tmp_path: Path) -> None:
    own = stack.variant(tmp_path / "runner")
    stack.grants(opened)
    job = own.execution(opened)

    def leave(job_id: str, request: Any) -> Any:
        own.bot.away.set()
        raise Answer(503)

    own.bot.on_claim = leave
    try:
        own.bot.give(job)
        with own.equipment() as equipment:
            WorkLoop(equipment, stop=threading.Event()).run_once()
            with pytest.raises(BotUnavailable):
                equipment.bot.heartbeat(job.id, "test-1")
    finally:
        own.bot.away.clear()
    assert not list(own.data.spent.iterdir())
    assert len(list(own.data.results.glob("*.json"))) == 1
