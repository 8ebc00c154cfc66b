"""`ownergate audit`: shows, verifies and exports the audit trail; verifying needs no network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ownergate.commands import bot_api

if TYPE_CHECKING:
    from policy.audit import Event, Fault

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

_SHOWN = ("lease_id", "digest", "grant_id", "head_sha", "kernel", "outcome", "reason", "code", "verdict")
"""The keys of an event's data that its line shows, where they are there."""


@click.group(
    epilog="""
\b
Examples:
  ownergate audit show --export trail.jsonl og-0123456789abcdefghjkmnpqrs
  ownergate audit verify --export trail.jsonl
  ownergate audit verify --pull-request comment.md --receipt-keys receipt-keys.pem
  ownergate audit export --bot-url https://bot.example --token-file auditor-token > trail.jsonl
"""
)
def audit() -> None:
    """Show, verify and export the audit trail.

    The trail is a hash chain over every step of every request. It can be verified offline: the whole
    chain from an export, one request's part from its pull request alone.
    """


@audit.command()
@click.option("--export", "export_file", type=FILE, required=True, help="A file that `audit export` wrote.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of a table.")
@click.argument("request_id", required=False)
def show(export_file: Path, request_id: str | None, *, as_json: bool) -> None:
    """Show the events of an export, all of them or one request's."""
    from policy import record

    shown = 0
    for event in _read(export_file):
        if request_id is None or event.request_id == request_id:
            shown += 1
            click.echo(record.encode(event).decode() if as_json else _line(event))
    if request_id and not shown:
        raise click.ClickException(f"There is no event of request {request_id} in {export_file}.")


@audit.command()
@click.option("--export", "export_file", type=FILE, help="A file that `audit export` wrote.")
@click.option(
    "--pull-request", "comment", type=FILE, help="A pull request's status comment, saved as it stands."
)
@click.option("--receipt-keys", type=FILE, help="Runners' public keys (PEM): check receipts too.")
@click.option("--json", "as_json", is_flag=True, help="The verdict as JSON.")
def verify(
    export_file: Path | None, comment: Path | None, receipt_keys: Path | None, *, as_json: bool
) -> None:
    """Verify a trail offline: exit code 0 when it holds, 1 when it doesn't.

    With both --export and --pull-request, the chain must also hold the tip that the pull request
    shows, and the receipt's: then it was neither cut nor rewritten since.
    """
    if export_file is None and comment is None:
        raise click.UsageError("Name what to verify: --export, --pull-request or both.")
    faults: list[str] = []
    facts: dict[str, Any] = {}
    events = list(_read(export_file)) if export_file else []
    if export_file:
        faults += _chain(events, facts)
    if comment:
        faults += _pull_request(comment, receipt_keys, events if export_file else None, facts)
    if as_json:
        click.echo(json.dumps({"holds": not faults, "faults": faults, **facts}))
    else:
        for key, value in facts.items():
            click.echo(f"{key.replace('_', ' ')}: {value}")
        for fault in faults:
            click.echo(f"BROKEN: {fault}", err=True)
        click.echo("The audit trail holds." if not faults else "The audit trail does NOT hold.")
    sys.exit(1 if faults else 0)


@audit.command()
@bot_api.options
@click.option("--request", "request_id", help="One request's events only.")
def export(bot_url: str, token_file: Path, request_id: str | None) -> None:
    """Write the trail as JSON lines to standard output (needs an auditor's token)."""
    query = {"request_id": request_id} if request_id else None
    response = bot_api.call(bot_url, token_file, "GET", "/api/v1/audit/export", query=query)
    click.echo(response.text, nl=not response.text.endswith("\n"))


def _chain(events: list[Event], facts: dict[str, Any]) -> list[str]:
    from policy import audit as chain

    facts["events"] = len(events)
    if not events:
        return ["there is no event at all"]
    facts["tip"] = f"{events[-1].sequence} {events[-1].hash}"
    return [_fault(fault) for fault in chain.verify(events, tip=None)]


def _pull_request(
    comment: Path, receipt_keys: Path | None, whole: list[Event] | None, facts: dict[str, Any]
) -> list[str]:
    from bot import audit_export, secret_files
    from policy import audit as chain
    from policy import receipt as receipts

    trail = audit_export.read(comment.read_text("utf-8"))
    facts["request"] = trail.request_id
    facts["events_in_pull_request"] = len(trail.events)
    faults: list[str] = []
    if trail.omitted:
        facts["events_left_out_there"] = trail.omitted
    else:
        faults += [_fault(f) for f in chain.verify_request(trail.events, request_id=trail.request_id)]
    if whole is not None:
        faults += [_fault(fault) for fault in chain.verify(whole, tip=trail.tip)]
    if trail.receipt and receipt_keys:
        receipt = receipts.verify(trail.receipt, secret_files.receipt_keys(receipt_keys))
        facts["receipt"] = f"{receipt.outcome} on {receipt.runner}, signed"
        if receipt.request_id != trail.request_id:
            faults.append("the receipt is another request's")
        if whole is not None:
            faults += [_fault(fault) for fault in chain.verify(whole, tip=receipt.audit_tip)]
    elif trail.receipt:
        facts["receipt"] = "there, not checked (name --receipt-keys)"
    return list(dict.fromkeys(faults))


def _read(path: Path) -> Iterator[Event]:
    from policy import audit as chain

    with path.open("rb") as file:
        for line in file:
            if line.strip():
                yield chain.parse(line)


def _line(event: Event) -> str:
    from policy.timestamps import format_timestamp

    details = "  ".join(f"{key}={event.data[key]}" for key in _SHOWN if event.data.get(key) is not None)
    request = event.request_id or "the bot itself"
    head = f"{event.sequence:>5}  {format_timestamp(event.at)}  {request:<29}  {event.kind:<21}"
    return f"{head}  {event.hash[:12]}  {_printable(details)}".rstrip()


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)


def _fault(fault: Fault) -> str:
    return f"event {fault.sequence}: {fault.reason}"
