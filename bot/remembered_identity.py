"""The App's identity as GitHub told it last, so that the bot can start while GitHub is down."""

from __future__ import annotations

import logging

from bot import memory
from bot.clock import Clock
from bot.database import Database
from bot.github_app import AppIdentity, GitHubApp
from bot.github_contact import GitHubContact
from policy import record
from policy.refusal import Code, Refused

_NAME = "app_identity"

logger = logging.getLogger(__name__)


def identify(
    app: GitHubApp, database: Database, clock: Clock, contact: GitHubContact, *, expected: tuple[int, int]
) -> AppIdentity:
    """Asks GitHub who the App is; when GitHub can't be reached, what it said last time counts.

    Args:
        expected: app id and installation id of the settings; an identity of others is forgotten.

    Raises:
        Refused: `github_unavailable` when it can't be reached and was never asked; `settings_invalid`.
    """
    try:
        identity = app.identify()
    except Refused as refused:
        contact.failed(clock.now(), refused.refusal.what)
        remembered = _remembered(database)
        if refused.refusal.code is not Code.GITHUB_UNAVAILABLE or remembered is None:
            raise
        if (remembered.app_id, remembered.installation_id) != expected:
            raise
        logger.warning("%s The bot starts with what GitHub said last.", refused.refusal.text())
        return remembered
    contact.reached(clock.now())
    _remember(database, identity, clock)
    return identity


def _remembered(database: Database) -> AppIdentity | None:
    with database.reading() as connection:
        known = memory.recall(connection, _NAME)
    if known is None:
        return None
    return record.read(AppIdentity, known.value, what="the remembered identity", code=Code.SETTINGS_INVALID)


def _remember(database: Database, identity: AppIdentity, clock: Clock) -> None:
    with database.transaction() as connection:
        memory.remember(connection, _NAME, record.encode(identity).decode(), at=clock.now())
