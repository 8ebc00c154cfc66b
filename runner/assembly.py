"""Puts the runner's equipment together from its settings: every key, folder and client, or a clear no."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

import evidence
from evidence.app_client import AppClients
from policy import policy_file
from policy.policy_errors import PolicyErrors
from policy.refusal import Code, refuse
from policy.tools import Policy
from runner import grant_keys, key_files
from runner.bot_client import BotClient
from runner.chain_watch import ChainWatch
from runner.data_folder import DataFolder
from runner.equipment import Equipment
from runner.job_journal import JobJournal
from runner.kept_results import KeptResults
from runner.lease import sweeping
from runner.lease.identity import RunnerIdentity
from runner.lease.journal import LeaseJournal
from runner.lease.openbao import OpenBaoLeases
from runner.lease.vault_calls import VaultCalls
from runner.readiness import Readiness
from runner.sandbox.interface import Sandbox
from runner.sandbox.runsc import RunscSandbox
from runner.sealing import SealingKeys
from runner.settings import Settings
from runner.spent_grants import SpentGrants
from runner.terraform_state import StateFolders

_TOKEN = re.compile(r"og_runner_[A-Za-z0-9_-]{43}")


class PolicyInvalid(Exception):  # noqa: N818  What is wrong is the file.
    """The policy can't be used; the text names every mistake."""


def now() -> datetime:
    """The present, aware, UTC."""
    return datetime.now(UTC)


def assemble(settings: Settings, data: DataFolder) -> Equipment:
    """Builds the equipment. Nothing outside this machine is called yet.

    Raises:
        Refused: for a key, a token or a program that is missing or not as it must be.
        PolicyInvalid: for a policy with mistakes, or none.
        OSError: when a folder can't be made.
    """
    sandbox: Sandbox = RunscSandbox(
        images=settings.sandbox.images, scratch=settings.sandbox.scratch, runsc=settings.sandbox.runsc
    )
    vault = VaultCalls(settings.openbao.address, ca_file=settings.openbao.ca_file)
    lease_journal = LeaseJournal(data.leases)
    leases = _leases(settings, vault, lease_journal)
    github = _github(settings)

    def sweep() -> tuple[str, ...]:
        swept = sweeping.sweep(leases, lease_journal, alive=sandbox.alive, now=now())
        return tuple(f"{kept.entry.lease_id or kept.entry.id}: {kept.why}" for kept in swept.kept)

    return Equipment(
        settings=settings,
        policy=_policy(settings),
        bot=BotClient(settings.bot_url, token=_token(settings), ca_file=settings.bot_ca_file),
        chain=ChainWatch(data.audit),
        readiness=Readiness(sandbox, period_seconds=settings.proof_seconds, now=now),
        sandbox=sandbox,
        leases=leases,
        check_vault=lambda: _check_vault(vault),
        sweep_leases=sweep,
        github=lambda: evidence.GitHubReader(
            github.client(),
            repository=settings.repository.name,
            app_id=settings.bot_app.id,
            app_user_id=settings.bot_app.user_id,
        ),
        states=StateFolders(settings.state),
        spent=SpentGrants(data.spent),
        sealing=SealingKeys.from_files([settings.sealing_key_file]),
        receipt_key=key_files.read_ed25519_private_key(
            settings.receipt_key_file, what="the runner's receipt key"
        ),
        grant_keys=grant_keys.read_public_keys(settings.grant_keys_file),
        revoked_grants=lambda: grant_keys.read_revoked(settings.revoked_grants_file),
        journal=JobJournal(data.jobs),
        kept=KeptResults(data.results),
        rescued=data.rescued,
        now=now,
    )


def _leases(settings: Settings, vault: VaultCalls, journal: LeaseJournal) -> OpenBaoLeases:
    key = key_files.read_ed25519_private_key(
        settings.openbao.login_key_file, what="the runner's identity key"
    )
    return OpenBaoLeases(
        vault,
        identity=RunnerIdentity(key, issuer=settings.openbao.login_issuer, pool=settings.pool),
        journal=journal,
        runner_mount=settings.openbao.jwt_runner_mount,
        grant_mount=settings.openbao.jwt_grant_mount,
    )


def _github(settings: Settings) -> AppClients:
    key = key_files.read_secret(
        settings.github.private_key_file, what="the private key of the runner's GitHub App"
    )
    return AppClients(
        base_url=settings.github.api_url,
        app_id=settings.github.app_id,
        private_key=key.reveal().decode("ascii", "replace"),
        installation_id=settings.github.installation_id,
        read_only=True,
        verify=True if settings.github.ca_file is None else str(settings.github.ca_file),
    )


def _policy(settings: Settings) -> Policy:
    try:
        return policy_file.load(settings.policy.read_bytes(), name=str(settings.policy))
    except OSError as error:
        raise PolicyInvalid(f"{settings.policy}: the policy can't be read: {error.strerror}.") from None
    except PolicyErrors as errors:
        raise PolicyInvalid(str(errors)) from None


def _token(settings: Settings) -> Callable[[], str]:
    def read() -> str:
        secret = key_files.read_secret(settings.token_file, what="the runner's token for the bot")
        return secret.reveal().decode("ascii", "replace").strip()

    token = read()
    if not _TOKEN.fullmatch(token):
        raise refuse(
            Code.TOKEN_FILE,
            f"{settings.token_file} does not hold a runner's token",
            rule="A runner calls the bot with a token of the role runner: og_runner_ and 43 characters.",
            remedy="Have one made by the bot's operator, and put it into the file with mode 0600.",
        )
    # Read again for each call, so that an exchanged token needs no restart.
    return read


def _check_vault(vault: VaultCalls) -> None:
    """Raises `Refused` with `vault_unreachable` or `vault_sealed` unless OpenBao can give leases."""
    answer = vault.read(vault.client(), "sys/seal-status") or {}
    if answer.get("sealed") is not False:
        raise refuse(
            Code.VAULT_SEALED,
            f"OpenBao at {vault.address} is sealed",
            rule="Without OpenBao there is no credential, and without its word none is dead.",
            remedy="Unseal it: bao operator unseal.",
        )
