"""Steps that would run something else than they seem to."""

from __future__ import annotations

import pytest

from tests.unit.policy import tool_examples as examples


@pytest.mark.parametrize(
    ("before", "after", "path", "what"),
    [
        ('"{name}"', '"{nam}"', "tools.show.run.argv[2]", "the placeholder {nam} is unknown"),
        ('"{name}"', '"{name"', "tools.show.run.argv[2]", "a single { stands for nothing"),
        ('"{name}"', '"{}"', "tools.show.run.argv[2]", "{} is no placeholder"),
        ('"{name}"', '"a\\nb"', "tools.show.run.argv[2]", "control character"),
        ('"--lines={lines}"', '"--{name}=1"', "tools.show.run.argv[1]", "would choose the option"),
        ('"--lines={lines}"', '"-n{lines}"', "tools.show.run.argv[1]", "would choose the option"),
        ("[head,", '["{name}",', "tools.show.run.argv[0]", "holds a placeholder"),
        (", credential: true", "", "tools.apply.credential", "no step has the credential"),
        ("    credential: {role: apply, ttl: 15m}\n", "", "tools.apply.run", "a credential that the tool"),
        (
            "tier: read",
            "tier: read\n    environment: {LD_PRELOAD: x}",
            "tools.show.environment.LD_PRELOAD",
            "would",
        ),
        (
            "tier: read",
            "tier: read\n    environment: {TF_CLI_ARGS: x}",
            "tools.show.environment.TF_CLI_ARGS",
            "would",
        ),
        (
            "tier: read",
            "tier: read\n    environment: {PATH: /x}",
            "tools.show.environment.PATH",
            "would change",
        ),
        (
            "tier: read",
            'tier: read\n    environment: {A: "x\\n"}',
            "tools.show.environment.A",
            "control character",
        ),
        ("tier: read", "tier: read\n    environment: {a: x}", "tools.show.environment.a", "is not allowed"),
    ],
)
def test_what_would_mislead_is_refused(before: str, after: str, path: str, what: str) -> None:
    found = examples.mistakes((before, after))
    assert any(error.path == path and what in error.what for error in found), [e.text() for e in found]


def test_an_unknown_placeholder_is_shown_with_the_nearest() -> None:
    error = examples.only_mistake(('"{name}"', '"{nmae}"'))
    assert error.nearest == "name"
    assert error.allowed == "{name}, {lines}, {follow}"


def test_an_argument_that_no_template_uses_is_no_mistake() -> None:
    assert "follow" in str(examples.tool("show").arguments)


def test_harmless_variables_are_kept() -> None:
    text = examples.changed(
        ("tier: read", "tier: read\n    environment: {TF_IN_AUTOMATION: '1', LANG: C.UTF-8}")
    )
    assert examples.tool("show", text).environment == {"TF_IN_AUTOMATION": "1", "LANG": "C.UTF-8"}


def test_a_placeholder_after_the_equals_sign_of_an_option_is_right() -> None:
    assert examples.tool("show").steps[0].argv[1] == "--lines={lines}"
    text = examples.changed(('"--lines={lines}"', '"-var=a={{x}}={name}"'))
    assert examples.tool("show", text).steps[0].argv[1] == "-var=a={{x}}={name}"
