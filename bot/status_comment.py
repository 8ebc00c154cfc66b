"""The one status comment of a pull request: where it stands, why, what ran, and the audit trail. Pure.

It is written anew from the database every time and replaces the comment whole, so it says what the
database says. GitHub's limit is 65,536 characters; bytes are counted here, of which there are never
fewer. What people need comes first and is never cut; output and the oldest events are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from bot import audit_export, wording
from bot.audit_export import Trail
from bot.participants import Participant
from bot.request_store import Request
from policy import secret_shapes
from policy.audit import Event
from policy.canonical import Json
from policy.inert_text import code, fence, visible, visible_lines
from policy.receipt import AuditTip, Receipt
from policy.states import State
from policy.timestamps import format_timestamp

LIMIT = 65_536
"""GitHub's limit for a comment."""

MOST_OUTPUT = 8_000
"""Characters of output in the comment; the agent gets the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A request before or after this one, and its pull request's number if it has one."""

    id: str
    number: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Everything that the comment says."""

    request: Request
    asked_by: Sequence[Participant]
    predecessor: Related | None
    successor: Related | None
    receipt: Receipt | None
    events: Sequence[Event]
    tip: AuditTip
    waits_for: str | None = None


def marker(request_id: str) -> str:
    """The invisible first line by which the bot finds its comment again."""
    return f"<!-- ownergate:status:{request_id} -->"


def write(status: Status) -> str:
    """The whole comment, at most `LIMIT` bytes."""
    head = "\n\n".join(part for part in _head(status) if part)
    trail = Trail(
        request_id=status.request.id,
        events=tuple(status.events),
        tip=status.tip,
        receipt=status.request.receipt,
        omitted=0,
    )
    room = LIMIT - len(head.encode()) - 1_000
    # The table repeats the block for eyes: a third of the room is enough for it.
    table = _trail_table(status.events, room // 3)
    block = audit_export.fitting(trail, room - len(table.encode()))
    parts = [
        head,
        (
            f"<details><summary>Audit trail: {len(status.events)} events, chain tip {status.tip.sequence} "
            f"<code>{status.tip.hash[:16]}</code></summary>\n\n{table}\n\n</details>"
        ),
        "<details><summary>The same for programs</summary>\n\n"
        "`ownergate audit verify --pull-request-export FILE` checks it without a network.\n\n"
        + (wording.trail_cut(block.omitted, status.request.id) + "\n\n" if block.omitted else "")
        + audit_export.block(block)
        + "\n\n</details>",
    ]
    return "\n\n".join(parts) + "\n"


def _head(status: Status) -> list[str]:
    request = status.request
    return [
        marker(request.id),
        f"### {wording.HEADLINES[request.state].capitalize()}",
        _cause(status),
        *_links(status),
        *_decision(request),
        *_ran(status),
        (
            f"{code(request.id)} · digest {code(request.digest or 'none')} · {_until(request)}"
            f"{wording.EDITED_IN_PLACE}"
        ),
    ]


def _cause(status: Status) -> str:
    request = status.request
    lines = [request.cause]
    if status.waits_for:
        lines.append(status.waits_for)
    if request.state is State.UNKNOWN:
        lines.append(wording.SOMEBODY_MUST_LOOK)
    elif request.state in (State.VOID, State.DENIED, State.EXPIRED, State.STALE) and not status.successor:
        lines.append(wording.ONLY_A_REPLAN)
    elif request.final and not status.successor:
        lines.append(wording.NOTHING_RUNS_TWICE)
    if request.refusal is not None:
        lines += ["", _refusal(request.refusal)]
    return "\n".join(lines)


def _refusal(refusal: dict[str, Json]) -> str:
    words = [visible(str(refusal[name])) for name in ("what", "rule", "remedy")]
    return fence([f"refused  {words[0]}", f"rule     {words[1]}", f"remedy   {words[2]}"], info="text")


def _until(request: Request) -> str:
    if request.state in (State.PENDING, State.GRANTED) and request.expires_at is not None:
        return f"until {format_timestamp(request.expires_at)} · "
    return ""


def _links(status: Status) -> list[str]:
    lines = []
    joined = sorted({person.login for person in status.asked_by if not person.asked_first})
    if joined:
        lines.append(wording.joined_line(joined))
    if status.predecessor:
        lines.append(wording.predecessor_line(status.predecessor.id, status.predecessor.number))
    if status.successor:
        lines.append(wording.successor_line(status.successor.id, status.successor.number))
    return lines


def _decision(request: Request) -> list[str]:
    decision = request.decision
    if decision is None:
        return [_first_words(request)] if request.state is State.PENDING else []
    parts = []
    if request.state is State.PENDING:
        people = sorted(
            {
                str(login)
                for logins in cast("dict[str, list[str]]", decision["may_approve"]).values()
                for login in logins
            }
        )
        parts.append(wording.waiting_line(int(str(decision["still_needed"])), people))
    findings = cast("list[dict[str, Json]]", decision["findings"])
    if findings:
        rows = "\n".join(
            f"| {'✅' if finding['ok'] else '❌'} | {_cell(str(finding['subject']))} | "
            f"{_cell(str(finding['reason']))} |"
            for finding in findings
        )
        parts.append(f"| | what | counts? |\n|---|---|---|\n{rows}")
    return parts


def _first_words(request: Request) -> str:
    """Who may approve, as routed before the pull request was there."""
    rows = cast("list[dict[str, list[dict[str, Json]]]]", request.routing or [])
    people = sorted({str(person["login"]) for row in rows for person in row["people"]})
    return wording.waiting_line(request.required or 1, people)


_PLAIN = re.compile(r"[A-Za-z0-9 ,.;:'()/@\u2026-]*")
_NAME = re.compile(r"@[A-Za-z0-9][A-Za-z0-9/-]*")


def _cell(text: str) -> str:
    """A finding's sentence, which can hold the name of anybody's file, without its power."""
    if not _PLAIN.fullmatch(text) or "://" in text or "www." in text:
        return code(text)
    # A mention would call people to a comment that is rewritten all the time.
    return _NAME.sub(lambda name: code(name[0]), text)


def _ran(status: Status) -> list[str]:
    result, receipt = status.request.result, status.receipt
    if result is None:
        return []
    parts = []
    if receipt is not None:
        lines = [
            f"outcome   {receipt.outcome.value}, exit code {receipt.exit_code}",
            f"ran       {format_timestamp(receipt.started_at)} to {format_timestamp(receipt.ended_at)}",
            f"kernel    {visible(receipt.kernel)}",
            f"image     sha256 {receipt.image_sha256}",
            f"residue   {receipt.residue.value}",
            f"state     {'rescued and sealed by the runner' if receipt.state_rescued else 'stored'}",
        ]
        for lease in receipt.leases:
            lines += [
                f"lease     {visible(lease.lease_id)} ({visible(lease.scope)})",
                (
                    f"          revoked {format_timestamp(lease.revoked_at)}, "
                    f"powerless {lease.powerless_after_ms} ms later"
                ),
            ]
        lines.append(
            f"runner    {visible(receipt.runner)}, saw the audit chain at {receipt.audit_tip.sequence}"
        )
        parts.append("**Receipt**, signed by the runner\n\n" + fence(lines, info="text"))
    elif result.get("reason"):
        parts.append("**The runner's words**\n\n" + fence(visible_lines(str(result["reason"])), info="text"))
    parts.append(_output(str(result["output"]), status.request.id))
    return [part for part in parts if part]


def _output(output: str, request_id: str) -> str:
    if not output.strip():
        return ""
    shape = secret_shapes.find(output)
    if shape is not None:
        return wording.OUTPUT_HIDDEN.format(shape=shape)
    shown = output[:MOST_OUTPUT]
    text = "**Output**\n\n" + fence(visible_lines(shown.rstrip("\n")), info="text")
    if len(shown) < len(output):
        text += "\n\n" + wording.output_cut(len(output) - len(shown), request_id)
    return text


def _trail_table(events: Sequence[Event], room: int) -> str:
    header = "| # | time | event | what | hash |\n|---|---|---|---|---|"
    rows: list[str] = []
    used = len(header)
    for event in reversed(events):
        row = (
            f"| {event.sequence} | {format_timestamp(event.at)} | {event.kind.value} | {_what(event)} | "
            f"`{event.hash[:12]}` |"
        )
        used += len(row.encode()) + 1
        if used > room:
            break
        rows.append(row)
    return "\n".join([header, *reversed(rows)])


_TOLD = (
    "state",
    "outcome",
    "code",
    "decision",
    "digest",
    "number",
    "head_sha",
    "person",
    "reason",
    "lease_id",
    "scope",
    "expires_at",
    "fence",
    "runner",
    "kernel",
    "exit_code",
    "powerless_after_ms",
)
"""What the table shows of an event's data, in this order; the block has all of it."""


def _what(event: Event) -> str:
    told = [
        f"{name} {code(_short(name, event.data[name]))}"
        for name in _TOLD
        if event.data.get(name) not in (None, "")
    ]
    return ", ".join(told[:4])


def _short(name: str, value: object) -> str:
    text = str(value)
    if name in ("digest", "head_sha"):
        return text[:12]
    return text if len(text) <= 80 else text[:79] + "…"
