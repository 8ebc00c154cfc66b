"""Everything that goes wrong with GitHub, on demand.

A fault is armed for calls that match a method and a path pattern (``*`` matches anything) and works so
many times. Nothing goes wrong by itself.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, Literal


@dataclass(slots=True, kw_only=True)
class Rule:
    """One armed fault for calls."""

    kind: Literal["fail_before", "fail_after", "primary", "secondary", "slow_body", "slow_answer", "revoke"]
    method: str
    path: str
    times: int
    skip: int = 0
    status: int = 0
    seconds: float = 0.0
    retry_after: int | None = None
    token: str | None = None

    def matches(self, method: str, path: str, token: str | None) -> bool:
        if (
            self.times <= 0
            or not fnmatchcase(method, self.method.upper())
            or not fnmatchcase(path, self.path)
        ):
            return False
        return self.token is None or self.token == token


@dataclass(slots=True, kw_only=True)
class WebhookRule:
    """One armed fault for deliveries."""

    kind: Literal["delay", "drop", "duplicate", "reorder"]
    event: str
    times: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What happens to one delivery."""

    drop: bool = False
    duplicate: bool = False
    hold: bool = False
    delay_seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class Lag:
    """How long reads show the state before a write."""

    milliseconds: float
    requests: int


class Faults:
    """The switches. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._webhooks: list[WebhookRule] = []
        self.lag: Lag | None = None
        self.repoint_on_base_merge = False
        """After a base branch is merged into a pull request, its reviews' commit_id names the new head."""

    def clear(self) -> None:
        """Everything works again."""
        with self._lock:
            self._rules.clear()
            self._webhooks.clear()
            self.lag = None
            self.repoint_on_base_merge = False

    def armed(self) -> list[str]:
        """What is armed, in words."""
        with self._lock:
            found = [f"{r.kind} {r.method} {r.path} x{r.times}" for r in self._rules if r.times > 0]
            found += [f"webhook {w.kind} {w.event} x{w.times}" for w in self._webhooks if w.times > 0]
            if self.lag is not None:
                found.append(f"api_lag {self.lag.milliseconds} ms, {self.lag.requests} requests")
            if self.repoint_on_base_merge:
                found.append("repoint_on_base_merge")
            return found

    # What tests arm

    def api_lag(self, *, milliseconds: float = 0, requests: int = 0) -> None:
        """After each write, reads show the state before it: for so long, or for so many reads."""
        self.lag = Lag(milliseconds=milliseconds, requests=requests) if milliseconds or requests else None

    def fail(
        self,
        status: int = 502,
        *,
        when: Literal["before", "after"] = "before",
        method: str = "*",
        path: str = "*",
        times: int = 1,
        skip: int = 0,
    ) -> None:
        """Answer with a server error before or after the call is carried out. ``skip`` calls pass first."""
        kind: Literal["fail_before", "fail_after"] = "fail_before" if when == "before" else "fail_after"
        self._arm(Rule(kind=kind, status=status, method=method, path=path, times=times, skip=skip))

    def primary_limit(
        self, *, method: str = "*", path: str = "*", times: int = 1, reset_in: float = 60
    ) -> None:
        """403 with ``x-ratelimit-remaining: 0`` and a reset after so many seconds."""
        self._arm(Rule(kind="primary", method=method, path=path, times=times, seconds=reset_in))

    def secondary_limit(
        self,
        *,
        status: int = 403,
        retry_after: int | None = None,
        method: str = "*",
        path: str = "*",
        times: int = 1,
        skip: int = 0,
    ) -> None:
        """403 or 429 of the secondary limits, with or without ``retry-after`` (seconds)."""
        self._arm(
            Rule(
                kind="secondary",
                status=status,
                retry_after=retry_after,
                method=method,
                path=path,
                times=times,
                skip=skip,
            )
        )

    def slow_body(self, seconds: float, *, method: str = "*", path: str = "*", times: int = 1) -> None:
        """The headers and half of the body come at once, the rest after so many seconds."""
        self._arm(Rule(kind="slow_body", seconds=seconds, method=method, path=path, times=times))

    def slow_answer(self, seconds: float, *, method: str = "*", path: str = "*", times: int = 1) -> None:
        """The call is carried out at once and answered after so many seconds."""
        self._arm(Rule(kind="slow_answer", seconds=seconds, method=method, path=path, times=times))

    def revoke_token(self, token: str | None = None, *, after_requests: int = 0) -> None:
        """From now on, or after so many more calls, a token (or every one used) is no longer valid."""
        self._arm(Rule(kind="revoke", token=token, method="*", path="*", times=10**9, skip=after_requests))

    def webhooks(
        self,
        *,
        delay: float = 0,
        drop: int = 0,
        duplicate: int = 0,
        reorder: int = 0,
        event: str = "*",
        times: int = 10**9,
    ) -> None:
        """Delay deliveries by seconds, or drop, duplicate or reorder the next so many.

        ``event`` is a pattern over ``event`` or ``event.action``, such as ``pull_request_review.*``.
        """
        with self._lock:
            if delay:
                self._webhooks.append(WebhookRule(kind="delay", event=event, times=times, seconds=delay))
            if drop:
                self._webhooks.append(WebhookRule(kind="drop", event=event, times=drop))
            if duplicate:
                self._webhooks.append(WebhookRule(kind="duplicate", event=event, times=duplicate))
            if reorder:
                self._webhooks.append(WebhookRule(kind="reorder", event=event, times=reorder))

    # What the simulator asks

    def take(self, kind: str, method: str, path: str, token: str | None) -> Rule | None:
        """The armed rule of a kind that this call meets, used up by one."""
        with self._lock:
            for rule in self._rules:
                if rule.kind == kind and rule.matches(method, path, token):
                    if rule.skip > 0:
                        rule.skip -= 1
                        continue
                    rule.times -= 1
                    return rule
        return None

    def take_webhook(self, event: str, action: str | None) -> Fate:
        """What becomes of one delivery."""
        name = f"{event}.{action}" if action else event
        drop = duplicate = hold = False
        delay = 0.0
        with self._lock:
            for rule in self._webhooks:
                if rule.times > 0 and (fnmatchcase(name, rule.event) or fnmatchcase(event, rule.event)):
                    rule.times -= 1
                    drop = drop or rule.kind == "drop"
                    duplicate = duplicate or rule.kind == "duplicate"
                    hold = hold or rule.kind == "reorder"
                    delay += rule.seconds if rule.kind == "delay" else 0.0
        return Fate(drop=drop, duplicate=duplicate, hold=hold, delay_seconds=delay)

    def _arm(self, rule: Rule) -> None:
        with self._lock:
            self._rules.append(rule)


class Snapshots:
    """The state that lagging reads see: the one before the last write, until its time is over."""

    def __init__(self) -> None:
        self._state: Any = None
        self._until: datetime | None = None
        self._reads = 0

    def keep(self, copy: Callable[[], Any], lag: Lag, now: datetime) -> None:
        """Remember the state before a write, unless an older one is still shown."""
        if not self._shown(now):
            self._state = copy()
        self._until = now + timedelta(milliseconds=lag.milliseconds)
        self._reads = lag.requests

    def current(self, now: datetime) -> Any:
        """The old state, if reads must still see it; each answer uses up one of the counted reads."""
        if not self._shown(now):
            self._state = None
        elif self._reads > 0:
            self._reads -= 1
        return self._state

    def _shown(self, now: datetime) -> bool:
        if self._state is None or self._until is None:
            return False
        return now < self._until or self._reads > 0
