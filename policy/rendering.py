"""The rendering: what people read before they approve.

Three texts come from one request. The *document* is committed beside the manifest and is what an
approval covers: a pure function of manifest and plan, whole, and different for different requests.
The *body* of the pull request is the overview that a tired person reads first, with who may approve.
The *title* is one line. All text that an agent, a provider or a plan can choose is inert
(`inert_text`).
"""

from __future__ import annotations

from dataclasses import dataclass

from policy import rendering_body, rendering_document
from policy.inert_text import visible_ascii
from policy.manifest import Manifest
from policy.plan import Plan
from policy.refusal import Code, Refused, refuse

ApproverView = rendering_body.ApproverView
PathOwners = rendering_body.PathOwners

BODY_LIMIT = 65_536
"""GitHub's limit for the body of an issue or pull request. It counts characters; bytes are counted
here, of which there are never fewer."""

TITLE_LIMIT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """The three texts of one request. `document` ends with a newline, as a committed file should."""

    title: str
    body: str
    document: str


def render(manifest: Manifest, plan: Plan | None, *, approvers: ApproverView) -> Rendering:
    """Renders one request.

    Args:
        plan: as `terraform_plan.read` gave it; None exactly when the manifest has no plan.
        approvers: who may approve, for the body alone.

    Raises:
        Refused: `cannot_be_shown_whole` when the body has no room for every deletion and replacement;
            `plan_invalid` when plan and manifest don't belong together.
    """
    return Rendering(
        title=title(manifest, plan),
        body=body(manifest, plan, approvers=approvers),
        document=document(manifest, plan),
    )


def document(manifest: Manifest, plan: Plan | None) -> str:
    """The committed document alone: the runner renders it again and compares bytes."""
    _check_match(manifest, plan)
    return rendering_document.write(manifest, plan)


def title(manifest: Manifest, plan: Plan | None) -> str:
    """One line of at most `TITLE_LIMIT` characters: tool, where, verdict.

    GitHub gives meaning to `@`, `#`, backticks and some words in titles; where comes from arguments,
    so of it only letters, digits and `/ . _ -` are shown as they are.
    """
    where = _plain(manifest.source.path if manifest.source else manifest.owned[0] if manifest.owned else "")
    verdict = rendering_document.verdict(plan)
    tool = _plain(manifest.tool)
    room = TITLE_LIMIT - len(tool) - len(verdict) - 3
    if len(where) > room:
        where = "…" + where[len(where) - max(room - 1, 0) :] if room > 1 else ""
    return f"{tool} {where}: {verdict}" if where else f"{tool}: {verdict}"


def body(manifest: Manifest, plan: Plan | None, *, approvers: ApproverView) -> str:
    """The body of the pull request or issue.

    With more changes than fit, deletions, replacements and what is forgotten are all listed, and the
    rest is counted; the document has them all.
    """
    _check_match(manifest, plan)
    for whole in (True, False):
        text = rendering_body.write(manifest, plan, approvers=approvers, whole=whole)
        if len(text.encode()) <= BODY_LIMIT:
            return text
    raise _too_large("the overview of this request, with every deletion and replacement,")


def in_issue(rendering: Rendering) -> str:
    """Body and document in one text, for the channel in which nothing is committed.

    Raises:
        Refused: `cannot_be_shown_whole` when an issue has no room for both.
    """
    text = f"{rendering.body}\n---\n\n{rendering.document}"
    if len(text.encode()) > BODY_LIMIT:
        raise _too_large("this request, shown whole,")
    return text


def _check_match(manifest: Manifest, plan: Plan | None) -> None:
    if (manifest.plan is None) != (plan is None) or (
        manifest.plan is not None
        and plan is not None
        and (manifest.plan.kind != plan.kind or dict(manifest.plan.summary) != plan.summary.as_json())
    ):
        raise refuse(
            Code.PLAN_INVALID,
            "the plan that was given to be shown: it is not the manifest's",
            rule="People are shown the plan that the manifest is bound to, and no other.",
            remedy="Plan again, and ask again.",
        )


def _plain(text: str) -> str:
    return "".join(
        character if character.isalnum() or character in "/._-⟦⟧+" else f"⟦U+{ord(character):04X}⟧"
        for character in visible_ascii(text)
    )


def _too_large(what: str) -> Refused:
    return refuse(
        Code.CANNOT_BE_SHOWN_WHOLE,
        f"{what} is larger than the {BODY_LIMIT} characters that GitHub shows",
        rule="What can't be shown whole can't be approved.",
        remedy="Split it: ask for fewer changes in one request.",
    )
