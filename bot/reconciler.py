"""The reconciler: what must happen although nobody said so. It is also all of polling.

Each round: clocks, changed tools, lost jobs; then GitHub: base branches, received calls, and every
pull request that may have changed. One call lists all open pull requests with the time of their last
change, so a round costs few calls however many requests are open; whatever was not read for some
minutes is read regardless.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from github import GithubException
from requests.exceptions import RequestException

from bot import github_failures, request_store, sweeping
from bot.admission import Admission
from bot.approvals import UNDECIDED, Approvals
from bot.base_tips import BaseTips
from bot.github_failures import Later
from bot.hints import Hints
from bot.parts import Parts
from bot.request_store import Request
from bot.unit_of_work import step
from evidence import Unavailable
from policy.refusal import Code, refuse
from policy.states import State
from policy.timestamps import parse_timestamp

SETTLED_SECONDS = 3
"""GitHub's times have whole seconds: a change this recent may hide another one of the same second."""

logger = logging.getLogger(__name__)


class Reconciler:
    """Does one round after another. One thread uses it."""

    def __init__(
        self, parts: Parts, admission: Admission, approvals: Approvals, hints: Hints, tips: BaseTips
    ) -> None:
        self._parts = parts
        self._admission = admission
        self._approvals = approvals
        self._hints = hints
        self._tips = tips
        self._seen: dict[int, str] = {}
        self._not_before: datetime | None = None

    def round(self) -> None:
        """One round.

        Raises:
            Refused: `github_unavailable`, when the half that needs GitHub could not be done; the other
                half was, and the next round tries again.
        """
        with step(self._parts) as unit:
            sweeping.sweep(self._parts, unit)
        now = self._parts.clock.now()
        if self._not_before is not None and now < self._not_before:
            return
        try:
            self._read_github(now)
        except Unavailable as error:
            self._wait(error.retry_after_seconds)
            raise _silent(str(error)) from None
        except (GithubException, RequestException) as error:
            meaning = github_failures.meaning(error, attempt=1, now=now)
            self._wait(meaning.seconds if isinstance(meaning, Later) and meaning.everything else None)
            raise _silent(meaning.trouble) from None

    def _wait(self, seconds: int | None) -> None:
        if seconds is not None:
            self._not_before = self._parts.clock.now() + timedelta(seconds=seconds)

    def _read_github(self, now: datetime) -> None:
        self._read_tips()
        with self._parts.database.reading() as connection:
            received = request_store.in_states(connection, {State.RECEIVED})
            undecided = request_store.in_states(connection, UNDECIDED)
        for request in received:
            self._admission.admit(request.id)
        if undecided:
            self._look_at_changed(undecided, now)

    def _read_tips(self) -> None:
        for branch in sorted({target.base for target in self._parts.policy.targets.values()}):
            before = self._tips.known(branch)
            after = self._tips.read(self._parts.reader(), branch)
            if before is not None and before != after:
                self._hints.look_at_all_again()

    def _look_at_changed(self, undecided: list[Request], now: datetime) -> None:
        open_now = {int(row["number"]): row for row in self._parts.writer().open_pull_requests()}
        settled = now - timedelta(seconds=SETTLED_SECONDS)
        for request in undecided:
            number = request.pull_request or 0
            changed = str(open_now[number]["updated_at"]) if number in open_now else "closed"
            if self._seen.get(number) == changed and not self._is_old(request, now):
                continue
            self._approvals.look(request.id)
            if changed != "closed" and parse_timestamp(changed) < settled:
                self._seen[number] = changed
        numbers = {request.pull_request for request in undecided}
        self._seen = {number: at for number, at in self._seen.items() if number in numbers}

    def _is_old(self, request: Request, now: datetime) -> bool:
        if request.looked_at is None:
            return True
        return now - request.looked_at > timedelta(seconds=self._parts.limits.reread_seconds)


def _silent(why: str) -> Exception:
    return refuse(
        Code.GITHUB_UNAVAILABLE,
        f"a round of the reconciler: {why}",
        rule="Nothing is decided on a part of the facts.",
        remedy="It is tried again by itself.",
    )
