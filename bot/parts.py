"""What every part of the request life cycle is given: the bot's doors to the outside, and its keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from bot.audit_log import AuditLog
from bot.clock import Clock
from bot.database import Database
from bot.github_app import AppIdentity
from bot.github_writer import GitHubWriter
from bot.notifier import Notifier
from bot.pause import Pause
from evidence import GitHubReader
from policy.tools import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Numbers that an operator may set, and some that nobody needs to.

    Attributes:
        open_requests_per_agent: destructive requests that one token may have open.
        open_reads_per_agent: read-only calls that one token may have open.
        heartbeat_seconds: a runner that is silent for longer has lost its job.
        received_seconds: how long a call may wait for GitHub before it is refused.
        reread_seconds: how old the last reading of a request's facts may get, whatever happens.
    """

    open_requests_per_agent: int = 3
    open_reads_per_agent: int = 20
    heartbeat_seconds: int = 60
    received_seconds: int = 600
    reread_seconds: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Handed to every part; nothing here changes while the bot runs.

    Attributes:
        reader, writer: make a reader or writer of GitHub for one job. They are never shared between
            threads (PyGithub keeps one connection an object).
        grant_key: signs grants, and nothing else.
        receipt_keys: the runners' public keys, by `policy.signing.key_id`.
    """

    database: Database
    audit: AuditLog
    policy: Policy
    clock: Clock
    notifier: Notifier
    identity: AppIdentity
    pause: Pause
    reader: Callable[[], GitHubReader]
    writer: Callable[[], GitHubWriter]
    grant_key: Ed25519PrivateKey = field(repr=False)
    receipt_keys: Mapping[str, Ed25519PublicKey]
    limits: Limits
