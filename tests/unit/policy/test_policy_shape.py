"""Mistakes of shape, in plain words."""

from __future__ import annotations

import pytest

from tests.unit.policy import tool_examples as examples

GITHUB_TOKEN = "ghp_" + "aB3" * 12


@pytest.mark.parametrize(
    ("before", "after", "path", "what", "allowed"),
    [
        ("version: 1", "version: 2", "version", "2 stands here", "1"),
        ("version: 1", 'version: "1"', "version", "'1' stands here", "1"),
        ("tier: read", "tier: yellow", "tools.show.tier", "'yellow' stands here", "read, destructive"),
        ("tier: read", "tier:", "tools.show.tier", "nothing stands here", "text"),
        ("tier: read", "tier: [read]", "tools.show.tier", "a list stands here", "text"),
        ("required: 1", "required: true", "tools.apply.approval.required", "true stands here", "an integer"),
        (
            "required: 1",
            "required: -1",
            "tools.apply.approval.required",
            "-1 stands here",
            "an integer from 1",
        ),
        ("required: 1", "required: 101", "tools.apply.approval.required", "101 stands here", "up to 100"),
        ("  show:", "  Show:", "tools.Show", "the name 'Show' is not allowed", "a small letter, then"),
        (
            "  demo: {",
            "  De_mo: {",
            "targets.De_mo",
            "the name 'De_mo' is not allowed",
            "a small letter, then",
        ),
        (
            "{image: tools, argv",
            "{image: '', argv",
            "tools.show.run.image",
            "is empty",
            "at least 1 character",
        ),
        ("argv: [head,", "argv: [1,", "tools.show.run.argv[0]", "1 stands here", "text"),
        ('[rm, "{module}"]', "[]", "tools.forget.run.argv", "it is empty", "at least 1 entry"),
        ("ttl: 5m", "ttl: 5", "tools.show.credential.ttl", "5 stands here", "text"),
        ("ttl: 5m", "ttl: 5 minutes", "tools.show.credential.ttl", "stands here", "a duration such as"),
        (
            "timeout: 10m",
            "memory: 1MB",
            "tools.apply.run.sandbox.memory",
            "'1MB' stands here",
            "a size such as",
        ),
        ("timeout: 10m", "cpu: 0", "tools.apply.run.sandbox.cpu", "0 stands here", "an integer from 1"),
        ("timeout: 10m", "cpu: half", "tools.apply.run.sandbox.cpu", "stands here", "thousandths of one"),
        ("state: folder", "state: s3", "targets.demo.state", "'s3' stands here", "folder"),
        ("state: folder", "cluster: x", "targets.demo.cluster", "'x' stands here", "a uid such as"),
        ("[terraform.io/builtin/terraform]", "[null]", "targets.demo.providers[0]", "nothing", "text"),
        (
            "[terraform.io/builtin/terraform]",
            "[aws]",
            "targets.demo.providers[0]",
            "'aws'",
            "host/namespace/type",
        ),
        (
            "{type: integer,",
            "{type: number,",
            "tools.show.arguments.lines.type",
            "'number'",
            "string, integer",
        ),
        ("type: boolean", "type: object", "tools.show.arguments.follow.type", "'object'", "string, integer"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    before: str, after: str, path: str, what: str, allowed: str
) -> None:
    found = [error for error in examples.mistakes((before, after)) if error.path == path]
    assert found, [error.text() for error in examples.mistakes((before, after))]
    assert what in found[0].what
    assert allowed in found[0].allowed


@pytest.mark.parametrize(
    ("before", "after", "path", "nearest"),
    [
        ("targets:", "targetz:", "targetz", "targets"),
        ("tier: read", "tire: read", "tools.show.tire", "tier"),
        ("steps:", "step:", "tools.apply.run.step", "steps"),
        ("credential: true", "credentials: true", "tools.apply.run.steps[1].credentials", "credential"),
        ("maxLength: 20", "maxlength: 20", "tools.show.arguments.name.maxlength", "maxLength"),
        ("runner: demo", "runer: demo", "targets.demo.runer", "runner"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest(before: str, after: str, path: str, nearest: str) -> None:
    found = [error for error in examples.mistakes((before, after)) if error.path == path]
    assert found[0].what == f"the key {path.rsplit('.', 1)[-1]!r} is unknown"
    assert found[0].nearest == nearest
    assert f"Did you mean {nearest}?" in found[0].text()


@pytest.mark.parametrize("key", ["const", "format", "$ref", "anyOf", "items", "title"])
def test_keywords_outside_the_closed_part_of_json_schema_are_unknown(key: str) -> None:
    error = examples.only_mistake(("type: boolean", f'type: boolean, "{key}": x'))
    assert error.what == f"the key {key!r} is unknown"


def test_argv_and_steps_exclude_each_other() -> None:
    both = examples.only_mistake(
        ("run: {image: tools, argv: [rm", "run: {image: tools, steps: [{argv: [rm]}], argv: [rm")
    )
    assert both.what == "argv and steps stand side by side"
    none = examples.only_mistake(('run: {image: tools, argv: [rm, "{module}"]}', "run: {image: tools}"))
    assert none.what == "argv or steps is missing"


def test_egress_to_named_hosts_comes_later() -> None:
    error = examples.only_mistake(("state: folder", "state: folder, egress: [api.example.com]"))
    assert (error.path, error.line) == ("targets.demo.egress[0]", 3)
    assert "named hosts come later" in error.allowed


@pytest.mark.parametrize(
    "credential",
    [
        "{aws: x, role: show, ttl: 5m}",
        "{sts: x, role: show, ttl: 5m}",
        '{role: "arn:aws:iam::1:role/x", ttl: 5m}',
    ],
)
def test_credentials_of_aws_sts_are_refused_with_the_reason(credential: str) -> None:
    error = examples.only_mistake(("{role: show, ttl: 5m}", credential))
    assert "it can't be revoked" in error.allowed


def test_a_secret_anywhere_is_refused_and_never_shown() -> None:
    for before, after in (
        ("[terraform, init]", f"[terraform, init, {GITHUB_TOKEN}]"),
        ("tier: read", f"tier: {GITHUB_TOKEN}"),
        ("tier: read", f"tier: read\n    {GITHUB_TOKEN}: x"),
        ("{type: boolean, default: false}", f"{{type: string, default: {GITHUB_TOKEN}}}"),
    ):
        found = examples.mistakes((before, after))
        assert any("it looks like a GitHub token" in error.what for error in found)
        assert not any(GITHUB_TOKEN in error.text() for error in found)
