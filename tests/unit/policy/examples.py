"""Examples of records that several tests of the policy start from."""

from __future__ import annotations

from datetime import UTC, datetime

from policy import grant, manifest, receipt

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
REQUEST_ID = "og-" + "0123456789abcdefghjkmnpqrs"


def a_manifest() -> manifest.Manifest:
    """A Terraform apply of one module, as the bot would compose it."""
    return manifest.Manifest(
        version=1,
        id=REQUEST_ID,
        tool="terraform_apply",
        tool_digest="1" * 64,
        arguments={"module": "web"},
        requester=manifest.Requester(agent="claude-code", person_id=101, login="dana"),
        reason="rename the label",
        repository=manifest.Repository(id=7, name="acme/infra"),
        base=manifest.Base(ref="main", sha="b" * 40),
        owned=("terraform/web/",),
        target=manifest.Target(
            name="demo", runner_pool="demo", cluster_uid=None, vault_mount="pki", backend="folder"
        ),
        source=manifest.Source(
            path="terraform/web",
            sha256="2" * 64,
            files=(manifest.SourceFile(path="terraform/web/main.tf", sha256="3" * 64, size=12),),
        ),
        plan=manifest.Plan(
            kind="terraform",
            sha256="4" * 64,
            masked_json_sha256="5" * 64,
            summary={"replaces": 1},
            state=manifest.TerraformState(lineage="9c1c3e3c", serial=3),
            objects=None,
        ),
        execution=manifest.Execution(
            image="tools",
            image_sha256="6" * 64,
            steps=(
                manifest.Step(
                    argv=("terraform", "apply", "plan.bin"),
                    cwd="/work/src/terraform/web",
                    environment={"TF_IN_AUTOMATION": "1"},
                    network="none",
                    lease=True,
                ),
            ),
            timeout_seconds=600,
            grace_seconds=30,
            providers_lock=None,
        ),
        policy_sha256="7" * 64,
        approvals_required=2,
        created_at=NOW,
        expires_at=datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC),
        nonce="8" * 64,
    )


def a_grant(**changes: object) -> grant.Grant:
    """A grant for `a_manifest`, from `NOW` on for half an hour."""
    start = int(NOW.timestamp())
    values: dict[str, object] = {
        "iss": grant.issuer(7),
        "aud": grant.AUDIENCE,
        "sub": REQUEST_ID,
        "jti": "a" * 64,
        "iat": start,
        "nbf": start,
        "exp": start + 1800,
        "digest": manifest.digest(a_manifest()),
        "tool": "terraform_apply",
        "target": "demo",
        "policy_sha256": "7" * 64,
        "evidence": grant.Evidence(
            channel="pull_request",
            number=12,
            head_sha="c" * 40,
            approvals=(
                grant.Approval(review_id=5, person_id=202, login="alice", commit="c" * 40, lines=(3,)),
            ),
        ),
    }
    return grant.Grant(**{**values, **changes})  # type: ignore[arg-type]


def a_receipt() -> receipt.Receipt:
    """The receipt of a successful run of `a_manifest`."""
    return receipt.Receipt(
        request_id=REQUEST_ID,
        digest=manifest.digest(a_manifest()),
        grant_id="a" * 64,
        tool="terraform_apply",
        target="demo",
        runner="runner-1",
        outcome=receipt.Outcome.SUCCEEDED,
        exit_code=0,
        reason="every step ended with exit code 0",
        kernel="Linux version 4.4.0 gVisor",
        image_sha256="6" * 64,
        started_at=NOW,
        ended_at=NOW,
        leases=(
            receipt.LeaseRecord(
                lease_id="pki/issue/terraform-apply/abc",
                role="terraform-apply",
                scope="CN=terraform-apply.demo",
                issued_at=NOW,
                expires_at=NOW,
                revoked_at=NOW,
                powerless_after_ms=12,
            ),
        ),
        output_sha256="9" * 64,
        output_cut_bytes=0,
        residue=receipt.Residue.NONE,
        state_rescued=False,
        audit_tip=receipt.AuditTip(sequence=9, hash="d" * 64),
    )
