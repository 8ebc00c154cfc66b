"""What the bot counts, in Prometheus' form."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The process's counters and gauges, in a registry of their own. Safe for threads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._deliveries = Counter(
            "ownergate_webhook_deliveries",
            "Webhook deliveries, by what became of them or by the code of the refusal.",
            ["result"],
            registry=self.registry,
        )
        self._answers = Counter(
            "ownergate_http_answers", "Answers of the API, by status.", ["status"], registry=self.registry
        )
        self._inbox = Gauge(
            "ownergate_inbox_deliveries", "Deliveries in the inbox.", ["state"], registry=self.registry
        )
        self._inbox_age = Gauge(
            "ownergate_inbox_oldest_seconds", "Age of the oldest waiting delivery.", registry=self.registry
        )
        self._requests = Gauge("ownergate_requests", "Requests, by state.", ["state"], registry=self.registry)
        self._audit = Gauge(
            "ownergate_audit_sequence", "Sequence of the newest audit event.", registry=self.registry
        )
        self._contact = Gauge(
            "ownergate_github_contact_seconds",
            "Time since GitHub was last reached; -1 before the first time.",
            registry=self.registry,
        )
        self._paused = Gauge("ownergate_paused", "1 while claims are paused.", registry=self.registry)

    def delivery(self, result: str) -> None:
        """Counts one webhook by its result."""
        self._deliveries.labels(result).inc()

    def answer(self, status: int) -> None:
        """Counts one answer of the API."""
        self._answers.labels(str(status)).inc()

    def inbox(self, *, waiting: int, failing: int, oldest_seconds: float) -> None:
        """Sets what waits in the inbox."""
        self._inbox.labels("waiting").set(waiting)
        self._inbox.labels("failing").set(failing)
        self._inbox_age.set(oldest_seconds)

    def requests(self, by_state: dict[str, int]) -> None:
        """Sets how many requests are in each state."""
        for state, count in by_state.items():
            self._requests.labels(state).set(count)

    def standing(self, *, audit_sequence: int, contact_seconds: float, paused: bool) -> None:
        """Sets the rest."""
        self._audit.set(audit_sequence)
        self._contact.set(contact_seconds)
        self._paused.set(int(paused))

    def text(self) -> bytes:
        """All of it as `CONTENT_TYPE`."""
        return generate_latest(self.registry)
