"""The body of the pull request or issue: the overview, for a tired person on a phone.

The verdict first, then the table, worst first, then what one needs to decide: who asks and why, who
may approve, what approving does, what ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policy import manifest as manifests
from policy import plan_table
from policy.inert_text import code, fence, visible_lines
from policy.manifest import Manifest
from policy.plan import Plan, ResourceChange
from policy.rendering_document import NO_PREVIEW, execution_lines, verdict
from policy.timestamps import format_timestamp
from policy.tools import Via


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOwners:
    """Who may approve for one path: the owners as CODEOWNERS names them, and the people they are."""

    path: str
    owners: tuple[str, ...]
    people: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproverView:
    """Who may approve, as it was when the request was made; it is read again before anything runs.

    Attributes:
        required: how many different people must approve.
        because: why more than the tool's usual number, as sentences; may be empty.
        paths: the owners of every path that decides.
        barred: logins of those who asked or joined, and so may not approve.
        allow_self_approval: the tool lets the person behind the agent approve.
        document_path: where the whole rendering is committed; None in the issue channel.
        channel: where people approve.
    """

    required: int
    because: tuple[str, ...]
    paths: tuple[PathOwners, ...]
    barred: tuple[str, ...]
    allow_self_approval: bool
    document_path: str | None
    channel: Via


def write(manifest: Manifest, plan: Plan | None, *, approvers: ApproverView, whole: bool) -> str:
    """The body.

    Args:
        whole: list every change and value; otherwise only what destroys, and count the rest.
    """
    parts = [
        f"## {verdict(plan)}",
        _where(manifest),
        *(_changes(plan, approvers, whole=whole) if plan is not None else _command(manifest)),
        "### Before you approve",
        _approving(manifest, approvers),
        "### Who asks",
        _asked(manifest),
        fence(visible_lines(manifest.reason), info="text"),
        "### Who may approve",
        _approvers(approvers),
        "### What is approved",
        _bound(manifest, plan, approvers),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _where(manifest: Manifest) -> str:
    facts = [f"Target {code(manifest.target.name)}", f"tool {code(manifest.tool)}"]
    if manifest.source is not None:
        facts.insert(1, f"module {code(manifest.source.path)}")
    return " · ".join(facts)


def _changes(plan: Plan, approvers: ApproverView, *, whole: bool) -> list[str]:
    shown = [item for item in plan.resources if whole or item.action in plan_table.DESTROYING]
    parts = ["\n".join(plan_table.table(shown))] if shown else []
    left_out = len(plan.resources) - len(shown)
    if left_out:
        parts.append(
            f"**The plan has {left_out} more changes than fit here**, none of which deletes, replaces or "
            f"forgets. Read all of them in {_document(approvers)} before you approve."
        )
    if plan.outputs:
        parts.append(f"Outputs that change: {_names([output.name for output in plan.outputs], whole=whole)}.")
    if plan.drift:
        parts.append(_drift(plan.drift, whole=whole))
    if plan.checks:
        failed = _names([check.address for check in plan.checks], whole=whole)
        parts.append(f"**Checks of the module that did not pass:** {failed}.")
    if plan.masked:
        values = "1 sensitive value is" if plan.masked == 1 else f"{plan.masked} sensitive values are"
        parts.append(f"{values} hidden.")
    return parts


def _drift(drift: Sequence[ResourceChange], *, whole: bool) -> str:
    return (
        f"**Changed outside since the last apply:** {_names([item.address for item in drift], whole=whole)}."
    )


def _names(names: Sequence[str], *, whole: bool) -> str:
    limit = len(names) if whole else 10
    told = ", ".join(code(name) for name in names[:limit])
    return told if len(names) <= limit else f"{told} and {len(names) - limit} more"


def _command(manifest: Manifest) -> list[str]:
    return [
        (
            f"**{NO_PREVIEW}.** This tool can't say beforehand what it will change. "
            "This is exactly what runs, without a shell:"
        ),
        fence(execution_lines(manifest), info="text"),
    ]


def _approving(manifest: Manifest, approvers: ApproverView) -> str:
    voids = (
        "any other commit on this branch, an edit of this text, closing, drafting or retargeting the pull "
        "request"
        if approvers.channel is Via.PULL_REQUEST
        else "an edit of this text, closing or moving the issue"
    )
    return "\n".join(
        [
            "- **Approving runs it, once.** There is no other step. It can't be run a second time.",
            "- **Request changes to stop it.**"
            if approvers.channel is Via.PULL_REQUEST
            else "- **Close the issue to stop it.**",
            f"- It ends unapproved at {code(format_timestamp(manifest.expires_at))}.",
            (
                f"- It becomes void by {voids}; and when the module, CODEOWNERS or the tool's declaration "
                f"changes on {code(manifest.base.ref)}."
            ),
        ]
    )


def _asked(manifest: Manifest) -> str:
    return (
        f"{code(manifest.requester.login)}, through the agent {code(manifest.requester.agent)}. "
        "The agent's own words, which nobody has checked:"
    )


def _approvers(approvers: ApproverView) -> str:
    count = (
        "One approval is needed, by an owner"
        if approvers.required == 1
        else f"**{approvers.required} approvals by different owners are needed**"
    )
    because = "".join(f" {sentence}" for sentence in approvers.because)
    lines = [f"{count}; every path below needs an owner of its own.{because}", ""]
    lines += ["| Path | Owners | People |", "| --- | --- | --- |"]
    for path in approvers.paths:
        owners = ", ".join(map(code, path.owners)) or "nobody"
        lines.append(f"| {code(path.path)} | {owners} | {', '.join(map(code, path.people)) or 'nobody'} |")
    barred = ", ".join(map(code, approvers.barred))
    if approvers.allow_self_approval:
        lines += ["", "**This tool lets the person who asked approve it too.**"]
    elif barred:
        lines += ["", f"Not {barred}: whoever asked can't approve."]
    return "\n".join(lines)


def _bound(manifest: Manifest, plan: Plan | None, approvers: ApproverView) -> str:
    lines = [f"- Digest {code(manifests.digest(manifest))}", f"- Request {code(manifest.id)}"]
    if plan is not None:
        when = f" at {code(plan.planned_at)}" if plan.planned_at else ""
        lines.append(f"- Planned{when} on commit {code(manifest.base.sha[:12])} of {code(manifest.base.ref)}")
    else:
        lines.append(f"- On commit {code(manifest.base.sha[:12])} of {code(manifest.base.ref)}")
    lines.append(f"- Every value, the exact commands and the whole request: {_document(approvers)}")
    return "\n".join(lines)


def _document(approvers: ApproverView) -> str:
    if approvers.document_path is None:
        return "the text below"
    return f"the file {code(approvers.document_path)} under *Files changed*"
