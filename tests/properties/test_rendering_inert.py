"""Text of agents, providers and plans is powerless in Markdown, and different requests look different."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from policy import manifest as manifests
from policy import rendering
from policy.plan import (
    Absent,
    Action,
    AttributeChange,
    CheckResult,
    Masked,
    Number,
    OutputChange,
    PartlyMasked,
    Plan,
    ResourceChange,
    Summary,
    Unknown,
    Variable,
)
from policy.rendering import PathOwners
from tests.unit.policy import plan_examples

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

HOSTILE = [
    "`", "``", "```", "````", "~~~", "|", "\\|", "\\", "\n", "\r", "\u2028", "\x0b", "\t",
    "    ", "# ", "- ", "> ",
    "@octocat", "#1", "acme/infra#2", "GH-3", "[x](https://example.com)", "![x](https://example.com/x.png)",
    "https://example.com", "www.example.com", "<img src=x onerror=alert(1)>", "<!--", "-->",
    "</code>", "</pre>",
    "<details>", "&lt;", "&#64;", "$`x`$", "/approve", "\u202e", "\u200b", "\x1b[2K", "\0",
    "---", "===", "| - |",
    "[^1]", "⟦", "⟧", "⟦U+202E⟧", "⟦↩⟧ ", "(none)", '"', "''", ":tada:", "<br>", "**", "_",
    "\n```\n", "\n`````\n# x\n", "\n~~~\n",
]  # fmt: skip
text = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=4)), max_size=6).map(
    lambda parts: unicodedata.normalize("NFC", "".join(parts))
)
name = text.map(lambda value: value or "x")
value = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 9),
    text,
    st.just([]),
    st.just({}),
    text.map(lambda written: Number(text=written)),
    st.integers(1, 3).map(lambda ordinal: Masked(ordinal=ordinal)),
    st.tuples(name, name).map(lambda around: PartlyMasked(parts=(around[0], Masked(ordinal=1), around[1]))),
    st.just(Unknown()),
    st.just(Absent()),
)
changes = st.builds(
    AttributeChange,
    path=name,
    before=value,
    after=value,
    forces_replacement=st.booleans(),
    sensitive=st.just(False),
)
resources = st.builds(
    ResourceChange,
    address=name,
    previous_address=st.none() | name,
    deposed=st.none() | name,
    type=name,
    provider=name,
    action=st.sampled_from([action for action in Action if action is not Action.NO_OP]),
    reason=st.none() | name,
    imported=st.none() | text,
    attributes=st.lists(changes, max_size=2).map(tuple),
    create_before_destroy=st.booleans(),
)
plans = st.builds(
    Plan,
    kind=st.just("terraform"),
    summary=st.just(Summary(updates=1)),
    resources=st.lists(resources, min_size=1, max_size=2).map(tuple),
    drift=st.lists(resources, max_size=1).map(tuple),
    outputs=st.lists(
        st.builds(
            OutputChange,
            name=name,
            action=st.just(Action.UPDATE),
            attributes=st.lists(changes, max_size=1).map(tuple),
            sensitive=st.just(False),
        ),
        max_size=1,
    ).map(tuple),
    variables=st.lists(
        st.builds(Variable, name=name, leaves=st.tuples(st.tuples(name, value))), max_size=1
    ).map(tuple),
    checks=st.lists(
        st.builds(CheckResult, address=name, status=name, problems=st.tuples(text)), max_size=1
    ).map(tuple),
    engine_version=name,
    planned_at=text,
    masked=st.integers(0, 2),
)


def request(reason: str, agent: str, path: str, argument: str) -> dict[str, Any]:
    base = plan_examples.manifest_for(None)
    step = dataclasses.replace(
        base.execution.steps[0], argv=("run", argument), cwd=path, environment={agent: reason}
    )
    return {
        "reason": reason,
        "requester": dataclasses.replace(base.requester, agent=agent, login=agent),
        "arguments": {"x": argument},
        "owned": (path,),
        "execution": dataclasses.replace(base.execution, steps=(step,)),
        "target": dataclasses.replace(base.target, name=agent),
        "base": dataclasses.replace(base.base, ref=path),
    }


def _leaves(tokens: list[Token]) -> list[Token]:
    return [leaf for token in tokens for leaf in (token, *_leaves(token.children or []))]


def assert_inert(markdown: str) -> None:
    """Only our own structure: no link, image, HTML but `<br>`, and nothing of theirs outside code."""
    tokens = _leaves(MARKDOWN.parse(markdown))
    kinds = {token.type for token in tokens}
    assert not kinds & {"link_open", "image", "html_block", "autolink", "s_open"}
    assert all(token.content == "<br>" for token in tokens if token.type == "html_inline")
    outside = " ".join(token.content for token in tokens if token.type == "text")
    assert not re.search(r"[@#<>`$]|https?:|www\.|GH-|/approve|:tada:", outside)
    for table in re.split(r"(?m)^(?=\| (?:What|Path) \|)", markdown)[1:]:
        rows = table.split("\n\n")[0].split("\n")
        assert len({row.count("|") for row in rows}) == 1


def _shape(markdown: str) -> list[tuple[str, str]]:
    return [
        (token.type, token.tag) for token in _leaves(MARKDOWN.parse(markdown)) if token.type != "softbreak"
    ]


@settings(max_examples=80, deadline=None)
@given(plans, text, name, name, text)
def test_nothing_of_theirs_acts(plan: Plan, reason: str, agent: str, path: str, argument: str) -> None:
    manifest = plan_examples.manifest_for(plan, **request(reason, agent, path, argument))
    view = plan_examples.approvers(
        paths=(PathOwners(path=path, owners=(agent,), people=(agent,)),), barred=(agent,), document_path=path
    )
    shown = rendering.render(manifest, plan, approvers=view)
    assert_inert(shown.body)
    assert_inert(shown.document)
    assert all(character == "\n" or character.isprintable() for character in shown.body + shown.document)
    assert "\n" not in shown.title
    assert len(shown.title) <= rendering.TITLE_LIMIT


@settings(max_examples=30, deadline=None)
@given(text, name, name, text)
def test_nothing_acts_without_a_preview_either(reason: str, agent: str, path: str, argument: str) -> None:
    manifest = plan_examples.manifest_for(None, **request(reason, agent, path, argument))
    shown = rendering.render(manifest, None, approvers=plan_examples.approvers())
    assert_inert(shown.body)
    assert_inert(shown.document)


def manifest_of(document: str) -> bytes:
    """The manifest, read back out of a document: its last fence, long lines joined again."""
    fence = [token for token in MARKDOWN.parse(document) if token.type == "fence"][-1]
    assert fence.info == "json"
    return fence.content.replace("\n⟦↩⟧ ", "").encode()


@settings(max_examples=50, deadline=None)
@given(plans, text, name, name, text)
def test_the_manifest_can_be_read_back(plan: Plan, reason: str, agent: str, path: str, argument: str) -> None:
    manifest = plan_examples.manifest_for(plan, **request(reason, agent, path, argument))
    assert manifests.parse(manifest_of(rendering.document(manifest, plan))) == manifest


@settings(max_examples=80, deadline=None)
@given(plans, plans)
def test_different_plans_have_different_documents(one: Plan, other: Plan) -> None:
    manifest = plan_examples.manifest_for(one)
    assert (rendering.document(manifest, one) == rendering.document(manifest, other)) == (one == other)


@settings(max_examples=120, deadline=None)
@given(plans, st.data())
def test_a_small_difference_shows(plan: Plan, data: st.DataObject) -> None:
    first = plan.resources[0]
    field = data.draw(
        st.sampled_from(["address", "previous_address", "deposed", "type", "provider", "reason"])
    )
    drawn: dict[str, Any] = {field: data.draw(name)}
    changed = dataclasses.replace(first, **drawn)
    if len(first.attributes) > 0 and data.draw(st.booleans()):
        side = data.draw(st.sampled_from(["before", "after", "path"]))
        drawn = {side: data.draw(name) if side == "path" else data.draw(value)}
        attribute = dataclasses.replace(first.attributes[0], **drawn)
        changed = dataclasses.replace(first, attributes=(attribute, *first.attributes[1:]))
    other = dataclasses.replace(plan, resources=(changed, *plan.resources[1:]))
    manifest = plan_examples.manifest_for(plan)
    same = rendering.document(manifest, plan) == rendering.document(manifest, other)
    assert same == _equal(plan, other)


def _equal(one: object, other: object) -> bool:
    return repr(one) == repr(other)
