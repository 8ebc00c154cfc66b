"""Finds webhooks that GitHub sent and the inbox never got, and has them sent again.

GitHub repeats nothing by itself and keeps its list for three days (docs.github.com, "Handling failed
webhook deliveries"). What counts is not GitHub's status but the inbox: a delivery that a proxy
answered 200 and lost is missed too. A redelivery keeps its GUID, so asking once too often is free.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from github import GithubException, GithubIntegration
from requests.exceptions import RequestException
from sqlalchemy import bindparam, select

from bot import github_failures, memory, schema, webhook_events
from bot.clock import Clock
from bot.database import Database
from bot.github_app import GitHubApp
from policy.refusal import Code, refuse

PAGE = 100
"""Deliveries a page, GitHub's most."""

MOST_PAGES = 20
"""Pages read in one look at most; the next look goes on from newer ones."""

MOST_ASKED = 50
"""Redeliveries asked for in one look at most, oldest first."""

MOST_ATTEMPTS = 3
"""Redeliveries of one event at most; after that the reconciler's own reading has to do."""

OVERLAP = timedelta(minutes=10)
"""Each look begins this long before the last one, for deliveries that were listed late."""

KEPT = timedelta(days=3)
"""How long GitHub keeps its list."""

YOUNG = timedelta(seconds=20)
"""A delivery younger than this may still be on its way: GitHub waits ten seconds for an answer."""

_LAST_LOOK = "deliveries_looked_at"
_NEXT = re.compile(r"[?&]cursor=([^&>]+)[^>]*>;\s*rel=\"next\"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look found. `asked`: GUIDs that were asked for again; `given_up`: GUIDs that never came."""

    listed: int
    asked: tuple[str, ...]
    given_up: tuple[str, ...]


class MissedDeliveries:
    """Looks through GitHub's list of deliveries."""

    def __init__(
        self, database: Database, app: GitHubApp, serves: webhook_events.Scope, clock: Clock
    ) -> None:
        self._database = database
        self._app = app
        self._serves = serves
        self._clock = clock

    def look(self) -> Look:
        """Reads the list since the last look and asks again for what the inbox lacks.

        Raises:
            Refused: `github_unavailable`; the next look begins where the last good one did.
        """
        now = self._clock.now()
        since = max(self._last_look() or now - KEPT, now - KEPT) - OVERLAP
        try:
            with self._app.as_app() as integration:
                listed = self._listed(integration, since)
                missed, given_up = self._missed(listed, now)
                for attempt in missed:
                    _ask_again(integration, attempt["id"])
        except GithubException as error:
            said = github_failures.message(error)
            raise _unavailable(f"GitHub answers {error.status}: {said}") from None
        except RequestException as error:
            raise _unavailable(f"GitHub doesn't answer ({type(error).__name__})") from None
        self._remember(now)
        asked = tuple(attempt["guid"] for attempt in missed)
        return Look(listed=len(listed), asked=asked, given_up=given_up)

    def _listed(self, integration: GithubIntegration, since: datetime) -> list[Mapping[str, Any]]:
        listed: list[Mapping[str, Any]] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            parameters: dict[str, Any] = {"per_page": PAGE}
            if cursor:
                parameters["cursor"] = cursor
            headers, page = integration.requester.requestJsonAndCheck(
                "GET", "/app/hook/deliveries", parameters=parameters
            )
            rows: Sequence[Mapping[str, Any]] = page
            listed += rows
            following = _NEXT.search(str(headers.get("link", "")))
            if not rows or following is None or _moment(rows[-1]["delivered_at"]) < since:
                break
            cursor = following[1]
        return [attempt for attempt in listed if _moment(attempt["delivered_at"]) >= since]

    def _missed(
        self, listed: Iterable[Mapping[str, Any]], now: datetime
    ) -> tuple[list[Mapping[str, Any]], tuple[str, ...]]:
        by_guid: dict[str, list[Mapping[str, Any]]] = {}
        for attempt in listed:
            if self._concerns(attempt):
                by_guid.setdefault(str(attempt["guid"]).lower(), []).append(attempt)
        stored = self._stored(by_guid)
        missed: list[Mapping[str, Any]] = []
        given_up: list[str] = []
        for guid, attempts in by_guid.items():
            newest = max(attempts, key=lambda attempt: int(attempt["id"]))
            if guid in stored or now - _moment(newest["delivered_at"]) < YOUNG:
                continue
            if sum(bool(attempt["redelivery"]) for attempt in attempts) >= MOST_ATTEMPTS:
                given_up.append(guid)
            else:
                missed.append(newest)
        missed.sort(key=lambda attempt: int(attempt["id"]))
        return missed[:MOST_ASKED], tuple(given_up)

    def _concerns(self, attempt: Mapping[str, Any]) -> bool:
        known = webhook_events.REPOSITORY_EVENTS | webhook_events.ACCOUNT_EVENTS
        return (
            attempt["event"] in known
            and attempt.get("installation_id") in (None, self._serves.installation_id)
            and attempt.get("repository_id") in (None, self._serves.repository_id)
        )

    def _stored(self, guids: Iterable[str]) -> set[str]:
        table = schema.inbox
        query = select(table.c.delivery_id).where(table.c.delivery_id.in_(bindparam("ids", expanding=True)))
        wanted = list(guids)
        found: set[str] = set()
        with self._database.reading() as connection:
            for start in range(0, len(wanted), 500):
                found.update(connection.scalars(query, {"ids": wanted[start : start + 500]}))
        return found

    def _last_look(self) -> datetime | None:
        with self._database.reading() as connection:
            last = memory.recall(connection, _LAST_LOOK)
        return last.changed_at if last else None

    def _remember(self, now: datetime) -> None:
        with self._database.transaction() as connection:
            memory.remember(connection, _LAST_LOOK, "", at=now)


def _ask_again(integration: GithubIntegration, delivery_id: int) -> None:
    path = f"/app/hook/deliveries/{int(delivery_id)}/attempts"
    integration.requester.requestJsonAndCheck("POST", path)


def _moment(text: str) -> datetime:
    # GitHub writes fractions of a second here (`2021-05-12T20:33:44.123Z`) and sometimes doesn't.
    return datetime.fromisoformat(text)


def _unavailable(why: str) -> Exception:
    return refuse(
        Code.GITHUB_UNAVAILABLE,
        f"the list of webhook deliveries: {why}",
        rule="The list has to be read to find what was lost.",
        remedy="Nothing is lost: the next look begins at the same place.",
    )
