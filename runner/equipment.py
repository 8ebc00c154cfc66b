"""What every job is done with: the runner's own policy, keys, folders and clients, made once at start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

import evidence
from policy.tools import Policy
from runner.bot_client import BotClient
from runner.chain_watch import ChainWatch
from runner.job_journal import JobJournal
from runner.kept_results import KeptResults
from runner.lease.interface import LeaseBroker
from runner.readiness import Readiness
from runner.sandbox.interface import Sandbox
from runner.sealing import SealingKeys
from runner.settings import Settings
from runner.spent_grants import SpentGrants
from runner.terraform_state import StateFolders


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """One runner's equipment. All of it may be used from several threads.

    Attributes:
        check_vault: raises `Refused` unless OpenBao answers and is not sealed.
        sweep_leases: ends leases whose sandbox is gone; gives the reasons why others stay.
        github: makes a reader with a client of its own; one for each job, never shared by threads.
        grant_keys: the bot's public keys by key id.
        revoked_grants: reads the ids of grants that were taken back, anew each time.
        rescued: folder for sealed states that Terraform could not store.
        now: the clock, aware, UTC.
    """

    settings: Settings
    policy: Policy
    bot: BotClient
    chain: ChainWatch
    readiness: Readiness
    sandbox: Sandbox
    leases: LeaseBroker
    check_vault: Callable[[], None]
    sweep_leases: Callable[[], tuple[str, ...]]
    github: Callable[[], evidence.GitHubReader]
    states: StateFolders
    spent: SpentGrants
    sealing: SealingKeys = field(repr=False)
    receipt_key: Ed25519PrivateKey = field(repr=False)
    grant_keys: Mapping[str, Ed25519PublicKey]
    revoked_grants: Callable[[], frozenset[str]]
    journal: JobJournal
    kept: KeptResults
    rescued: Path
    now: Callable[[], datetime]
