"""Webhooks as hints: which request to look at again. No event is believed, with one exception.

The exception is the commit that a `submitted` review names. GitHub may later name another one, so the
first word about it is kept as a witness; it can only keep an approval from counting.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from bot import request_store
from bot.approvals import UNDECIDED, Approvals, Look
from bot.base_tips import BaseTips
from bot.delivery import Delivery
from bot.parts import Parts
from bot.request_store import Request
from bot.unit_of_work import step
from evidence import Unavailable
from policy.refusal import Code, Refused, refuse

ABOUT_PULL_REQUESTS = frozenset(
    {"pull_request", "pull_request_review", "pull_request_review_comment", "issue_comment"}
)

ABOUT_PEOPLE = frozenset({"membership", "team", "team_add", "member", "organization", "repository"})
"""Events after which every open request has to be read again: who may approve may have changed."""

LATE_SECONDS = 120
"""How long a review that an event tells of may take to appear in GitHub's lists."""


class Hints:
    """Handles deliveries from the inbox, one at a time."""

    def __init__(self, parts: Parts, approvals: Approvals, tips: BaseTips) -> None:
        self._parts = parts
        self._approvals = approvals
        self._tips = tips

    def handle(self, delivery: Delivery) -> None:
        """Acts on one delivery.

        Raises:
            Refused: `github_unavailable`, to be tried again later.
        """
        payload = delivery.payload
        if delivery.event in ABOUT_PULL_REQUESTS:
            self._about_pull_request(delivery, payload)
        elif delivery.event == "push":
            self._pushed(payload)
        elif delivery.event in ABOUT_PEOPLE:
            self.look_at_all_again()

    def look_at_all_again(self) -> None:
        """Has the reconciler read every undecided request in its next round."""
        with step(self._parts) as unit:
            for request in request_store.in_states(unit.connection, UNDECIDED):
                request_store.note(unit.connection, request.id, looked_at=None)

    def _about_pull_request(self, delivery: Delivery, payload: Mapping[str, Any]) -> None:
        request = self._request(payload)
        if request is None:
            return
        review = payload.get("review")
        if delivery.event == "pull_request_review" and isinstance(review, Mapping):
            self._review(delivery, request, payload, review)
            return
        if not self._own(payload):
            self._look(request)

    def _own(self, payload: Mapping[str, Any]) -> bool:
        """Whether the App itself did what the event tells; what it did it knows."""
        sender = payload.get("sender")
        return isinstance(sender, Mapping) and sender.get("id") == self._parts.identity.app_user_id

    def _review(
        self,
        delivery: Delivery,
        request: Request,
        payload: Mapping[str, Any],
        review: Mapping[str, Any],
    ) -> None:
        review_id, commit = review.get("id"), review.get("commit_id")
        if payload.get("action") == "submitted" and isinstance(review_id, int) and isinstance(commit, str):
            self._approvals.witness(request.id, review_id, commit)
        look = self._look(request)
        if look is None or payload.get("action") != "submitted":
            return
        seen = any(fact.id == review_id for fact in look.facts.reviews)
        waited = self._parts.clock.now() - delivery.received_at
        if not seen and waited < timedelta(seconds=LATE_SECONDS):
            # GitHub's events are sometimes faster than its lists.
            raise _later(f"review {review_id} is not in GitHub's list yet")

    def _request(self, payload: Mapping[str, Any]) -> Request | None:
        about = payload.get("pull_request") or payload.get("issue")
        number = about.get("number") if isinstance(about, Mapping) else None
        if not isinstance(number, int):
            return None
        with self._parts.database.reading() as connection:
            return request_store.of_pull_request(connection, number)

    def _pushed(self, payload: Mapping[str, Any]) -> None:
        ref = str(payload.get("ref", ""))
        branch = ref.removeprefix("refs/heads/")
        if branch in {target.base for target in self._parts.policy.targets.values()}:
            self._tips.forget(branch)
            self.look_at_all_again()
        elif branch.startswith("ownergate/") and not self._own(payload):
            with self._parts.database.reading() as connection:
                request = request_store.get(connection, branch.removeprefix("ownergate/"))
            if request is not None:
                self._look(request)

    def _look(self, request: Request) -> Look | None:
        try:
            return self._approvals.look(request.id)
        except Unavailable as error:
            raise _later(str(error)) from None


def _later(why: str) -> Refused:
    return refuse(
        Code.GITHUB_UNAVAILABLE,
        f"a webhook: {why}",
        rule="Nothing is decided on a part of the facts.",
        remedy="It is tried again by itself.",
    )
