"""Pools of runners: who asked for work lately, with which policy, and with what proof of isolation."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from bot import wording
from bot.parts import Parts
from bot.request_tables import runners
from policy.agent_protocol import RunnerView


def all_runners(parts: Parts, connection: Connection) -> tuple[RunnerView, ...]:
    """Every runner that was ever seen, as it last described itself."""
    rows = connection.execute(select(runners).order_by(runners.c.name))
    return tuple(
        RunnerView(
            name=row.name,
            pool=row.pool,
            last_seen_at=row.last_seen_at,
            sandbox=row.sandbox,
            kernel=row.kernel,
            proved_at=row.proved_at,
            policy_agrees=row.policy_sha256 == parts.policy.sha256,
        )
        for row in rows
    )


def trouble(parts: Parts, connection: Connection, pool: str) -> str | None:
    """Why nobody works for a pool, as a sentence; None when somebody does."""
    since = parts.clock.now() - timedelta(seconds=parts.limits.heartbeat_seconds)
    lately = [runner for runner in all_runners(parts, connection) if _serves(runner, pool, since)]
    if not lately:
        return wording.NO_RUNNER.format(pool=pool)
    if not any(runner.policy_agrees for runner in lately):
        return wording.NO_AGREEING_RUNNER.format(pool=pool)
    return None


def _serves(runner: RunnerView, pool: str, since: datetime) -> bool:
    return runner.pool == pool and runner.last_seen_at >= since
