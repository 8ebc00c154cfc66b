"""The log: JSON lines, and no secret in any of them, whoever logs."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from bot import logs

TOKEN = "og_agent_" + "x" * 43
GITHUB_TOKEN = "ghs_" + "a" * 36


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    logs.configure(stream=stream)
    read = Lines(stream)
    yield read
    root.handlers[:] = handlers
    root.setLevel(level)


class Lines(list[dict[str, Any]]):
    """What was logged, read when it is looked at."""

    def __init__(self, stream: io.StringIO) -> None:
        super().__init__()
        self.stream = stream

    def __getitem__(self, index: Any) -> Any:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()][index]


def test_a_line_is_json_with_time_level_and_source(lines: list[dict[str, Any]]) -> None:
    with structlog.contextvars.bound_contextvars(http_request="abc"):
        logging.getLogger("bot.inbox").warning("delivery %s is put off", "0b98")
    line = lines[-1]
    assert (line["event"], line["level"], line["logger"]) == (
        "delivery 0b98 is put off",
        "warning",
        "bot.inbox",
    )
    assert line["http_request"] == "abc"
    assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize("secret", [TOKEN, GITHUB_TOKEN, "-----BEGIN PRIVATE KEY-----"])
def test_secrets_are_removed_from_texts(lines: list[dict[str, Any]], secret: str) -> None:
    logging.getLogger("a.library").error("a call with %s failed", secret)
    assert secret not in json.dumps(lines[-1])
    assert "[removed]" in lines[-1]["event"]


def test_secrets_are_removed_from_exceptions(lines: list[dict[str, Any]]) -> None:
    try:
        raise ValueError(f"a token: {TOKEN}")
    except ValueError:
        logging.getLogger("bot").exception("it failed")
    assert TOKEN not in json.dumps(lines[-1])
    assert "[removed]" in lines[-1]["exception"]


def test_values_under_telling_names_are_removed_at_every_depth() -> None:
    line = {
        "event": "x",
        "authorization": "Basic abc",
        "lease": {"id": "pki/1", "token": "t", "more": [{"password": "p"}]},
    }
    assert logs.redact(None, "info", line) == {
        "event": "x",
        "authorization": "[removed]",
        "lease": {"id": "pki/1", "token": "[removed]", "more": [{"password": "[removed]"}]},
    }


def test_a_line_break_in_what_is_logged_makes_no_second_line(lines: list[dict[str, Any]]) -> None:
    logging.getLogger("bot").warning('x\n{"event": "forged"}')
    assert lines[-1]["event"] == 'x\n{"event": "forged"}'


def test_libraries_are_quiet(lines: list[dict[str, Any]]) -> None:
    logging.getLogger("urllib3.connectionpool").info("Starting new HTTPS connection")
    logging.getLogger("bot").info("last")
    assert [line["event"] for line in lines[:]] == ["last"]
