"""What routes are given to work with; `bot.app` puts it into the application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from fastapi import Request

from bot.audit_log import AuditLog
from bot.clock import Clock
from bot.database import Database
from bot.github_contact import GitHubContact
from bot.inbox import Inbox
from bot.metrics import Metrics
from bot.notifier import Notifier
from bot.pause import Pause
from bot.tokens import Tokens

if TYPE_CHECKING:
    from bot.core import Core


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """The process's one set of parts: `wiring.of(request).core.submit(…)`."""

    database: Database
    audit: AuditLog
    tokens: Tokens
    notifier: Notifier
    clock: Clock
    inbox: Inbox
    metrics: Metrics
    pause: Pause
    contact: GitHubContact
    core: Core


def of(request: Request) -> Wiring:
    """The parts, inside a route or a dependency."""
    return cast("Wiring", request.app.state.wiring)
