"""What a call says about its source."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from policy import source, source_request
from policy.canonical import Json
from policy.refusal import Code, Refusal, Refused
from policy.source_request import BaseTree, Branch, FilesInCall
from tests.unit.policy import tool_examples as examples

PLAN = examples.tool("plan")
DEMO: dict[str, Json] = {"module": "demo"}


def refusal(value: Any) -> Refusal:
    with pytest.raises(Refused) as caught:
        source_request.parse(value, PLAN, DEMO)
    return caught.value.refusal


def test_nothing_is_the_base_tree() -> None:
    assert source.parse_source_request(None, PLAN, DEMO) == BaseTree()


def test_a_branch_is_named() -> None:
    assert source_request.parse({"branch": "feature/x"}, PLAN, DEMO) == Branch(name="feature/x")


def test_files_are_written_and_removed() -> None:
    value: Json = {"files": {"terraform/demo/main.tf": "locals {}\n", "terraform/demo/old.tf": None}}
    assert source_request.parse(value, PLAN, DEMO) == FilesInCall(
        files={"terraform/demo/main.tf": b"locals {}\n", "terraform/demo/old.tf": None}
    )


@pytest.mark.parametrize(
    "value",
    [
        "main",
        [],
        {},
        {"branch": 1},
        {"branch": None},
        {"branch": "x", "files": {"terraform/demo/a": ""}},
        {"files": []},
        {"files": {}},
        {"ref": "x"},
        {"files": {"terraform/demo/a": 1}},
        {"files": {"terraform/demo/a": ["x"]}},
    ],
)
def test_any_other_form_is_refused(value: Any) -> None:
    assert refusal(value).code is Code.SOURCE_INVALID


def test_a_tool_without_source_takes_none() -> None:
    with pytest.raises(Refused, match="show takes no source"):
        source_request.parse({"branch": "x"}, examples.tool("show"), {"name": "a"})
    assert source_request.parse(None, examples.tool("show"), {"name": "a"}) == BaseTree()


@pytest.mark.parametrize(
    "name", ["", "refs/heads/x", "a..b", "-x", "a b", "a\x00", "ownergate/og-1", "x.lock"]
)
def test_other_branches_are_refused(name: str) -> None:
    assert refusal({"branch": name}).code is Code.SOURCE_INVALID


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("terraform/other/main.tf", "outside of terraform/demo/"),
        ("terraform/demo2/main.tf", "outside of terraform/demo/"),
        ("terraform/demo", "outside of terraform/demo/"),
        ("main.tf", "outside of terraform/demo/"),
        (".github/workflows/x.yml", "outside of"),
        ("terraform/demo/../other/main.tf", "'..'"),
        ("/terraform/demo/main.tf", "absolute"),
        ("terraform//demo/main.tf", "empty part"),
        ("terraform/demo/.ownergate/x.json", "the records of requests"),
        ("terraform/demo/.OWNERGATE/x.json", "the records of requests"),
        ("terraform/demo/CODEOWNERS", "decides who approves"),
        ("terraform/demo/docs/codeowners", "decides who approves"),
        ("terraform/demo/.gitattributes", "what Git and GitHub show"),
        ("terraform/demo/.gitmodules", "what Git and GitHub show"),
        ("terraform/demo/.git/config", ".git"),
        ("terraform/demo/a\u202eb", "can't be seen"),
        ("terraform/demo/a\nb", "can't be seen"),
        ("terraform/demo/" + unicodedata.normalize("NFD", "ü"), "NFC"),
        ("terraform\\demo\\main.tf", "backslash"),
    ],
)
def test_other_paths_are_refused(path: str, why: str) -> None:
    for content in ("x", None):
        found = refusal({"files": {path: content}})
        assert found.code is Code.SOURCE_INVALID
        assert why in found.what
        assert found.what.isprintable()


def test_a_tool_whose_source_is_dot_github_can_t_touch_workflows() -> None:
    text = examples.POLICY.replace("source: terraform/{module}", "source: .github/{module}")
    with pytest.raises(Refused, match="what runs in the repository"):
        source_request.parse({"files": {".github/demo/x.yml": ""}}, examples.tool("plan", text), DEMO)


@pytest.mark.parametrize(
    "text", ["a\x00b", "a\x1b[0m", "a\u202eb", "a\u200bb", "\ufeffx", "a\u2028b", "\ud800"]
)
def test_text_that_can_t_be_seen_is_refused(text: str) -> None:
    assert "can't be seen" in refusal({"files": {"terraform/demo/main.tf": text}}).what


def test_other_text_is_refused() -> None:
    decomposed = unicodedata.normalize("NFD", "ü")
    assert "NFC" in refusal({"files": {"terraform/demo/main.tf": decomposed}}).what
    source_request.parse({"files": {"terraform/demo/a": "tab\tand\r\nline\n"}}, PLAN, DEMO)


def test_a_secret_is_refused_and_never_repeated() -> None:
    secret = "AKIA" + "ABCDEFGHIJKLMNOP"
    found = refusal({"files": {"terraform/demo/main.tf": f'key = "{secret}"\n'}})
    assert found.code is Code.CREDENTIAL_LITERAL
    assert secret not in found.text()


@pytest.mark.parametrize(
    "files",
    [
        {f"terraform/demo/{n}": "" for n in range(201)},
        {"terraform/demo/a": "x" * (512 * 1024 + 1)},
        {f"terraform/demo/{n}": "x" * (500 * 1024) for n in range(5)},
    ],
)
def test_too_many_or_too_large_files_are_refused(files: dict[str, str]) -> None:
    assert refusal({"files": files}).code is Code.SOURCE_TOO_LARGE


def test_the_repr_of_a_request_shows_no_content() -> None:
    assert "hunter2" not in repr(source_request.parse({"files": {"terraform/demo/a": "hunter2"}}, PLAN, DEMO))
