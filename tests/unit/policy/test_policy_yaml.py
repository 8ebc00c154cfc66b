"""The strict part of YAML that a policy is read from."""

from __future__ import annotations

import time

import pytest

from policy import policy_yaml
from policy.canonical import Json
from policy.policy_errors import PolicyErrors


def plain(text: str | bytes) -> Json:
    return policy_yaml.plain(policy_yaml.read(text, name="p.yaml"))


def mistakes(text: str | bytes) -> list[str]:
    with pytest.raises(PolicyErrors) as caught:
        policy_yaml.read(text, name="p.yaml")
    return [error.text() for error in caught.value.errors]


def test_text_true_false_integers_and_null_are_told_apart() -> None:
    text = 'a: yes it is\nb: true\nc: 12\nd: "12"\ne: "yes"\nf: 24h\ng: -3\nh: ~\ni: |\n  x\n  y\n'
    assert plain(text) == {
        "a": "yes it is",
        "b": True,
        "c": 12,
        "d": "12",
        "e": "yes",
        "f": "24h",
        "g": -3,
        "h": None,
        "i": "x\ny\n",
    }


@pytest.mark.parametrize(
    ("value", "taken_for"),
    [
        ("yes", "a boolean"),
        ("On", "a boolean"),
        ("TRUE", "a boolean"),
        ("off", "a boolean"),
        ("012", "a number"),
        ("0x1f", "a number"),
        ("0o17", "a number"),
        ("1_000", "a number"),
        ("+1", "a number"),
        ("1.0", "a number"),
        ("1e3", "a number"),
        (".5", "a number"),
        (".inf", "a number"),
        (".nan", "a number"),
        ("12:30", "a number"),
        ("2026-01-31", "a date"),
        ("2026-01-31T00:00:00Z", "a date"),
        ("=", "something else than text"),
    ],
)
def test_what_readers_disagree_about_must_be_quoted(value: str, taken_for: str) -> None:
    quoted = f'true, false, an integer, or "{value}" in quotes'
    told = f"p.yaml:1:4: a: some readers take {value} for {taken_for}. Allowed: {quoted}."
    assert mistakes(f"a: {value}") == [told]
    assert plain(f'a: "{value}"') == {"a": value}


def test_a_number_that_is_too_large_is_refused() -> None:
    assert "too large" in mistakes("a: 9007199254740992")[0]
    assert "too large" in mistakes("a: " + "9" * 5000)[0]
    assert plain("a: 9007199254740991") == {"a": 2**53 - 1}


def test_a_key_that_stands_twice_is_refused() -> None:
    assert mistakes("a: 1\nb:\n  c: 1\n  c: 2\n") == [
        "p.yaml:4:3: b.c: the key stands twice, first in line 3. Allowed: each key once."
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: &x 1", "an anchor stands here"),
        ("a: *x", "an alias stands here"),
        ("a: {<<: {b: 1}}", "some readers take << for a merge key"),
        (
            "a: !!python/object/apply:os.system [id]",
            "the tag tag:yaml.org,2002:python/object/apply:os.system",
        ),
        ("a: !x y", "the tag !x stands here"),
        ("!!str a: 1", "the tag tag:yaml.org,2002:str"),
    ],
)
def test_anchors_aliases_merges_and_tags_are_refused(text: str, what: str) -> None:
    assert what in mistakes(text)[0]


def test_a_billion_laughs_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    began = time.process_time()
    assert "an anchor stands here" in mistakes("\n".join(lines))[0]
    assert time.process_time() - began < 1


@pytest.mark.parametrize("text", ["[" * 5000, "- " * 200 + "a", "{a: " * 200 + "1" + "}" * 200])
def test_deep_nesting_is_refused(text: str) -> None:
    assert "nested too deeply" in mistakes(text)[0]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the file is empty"),
        ("# only a comment\n", "the file is empty"),
        ("---\n", "the file is empty"),
        ("~", "the file is empty"),
        ("a: 1\n---\nb: 2\n", "a second document begins"),
        ("a: [", "expected the node content"),
        ("a: b: c", "mapping values are not allowed"),
        ("? [a]\n: 1", "a key is not text"),
        ("1: a", "a key is not text"),
        ("a: 'x\u202ey'", "can't be seen"),
        ("a: e\u0301", "not in Unicode's NFC form"),
    ],
)
def test_other_faults_of_form_are_refused(text: str, what: str) -> None:
    assert what in mistakes(text)[0]


def test_bytes_must_be_utf_8_and_few() -> None:
    assert mistakes(b"a: b\nc: \xff\n") == ["p.yaml:2:4: a byte is not UTF-8. Allowed: UTF-8 text."]
    assert "bytes" in mistakes(b"#" * (policy_yaml.LARGEST_FILE + 1))[0]
    assert "is not printable" in mistakes("a: \x00")[0]


def test_every_mistake_is_found_in_one_go() -> None:
    assert len(mistakes("a: yes\nb: &x 1\nc: 1.5\nc: 2\n")) == 4
