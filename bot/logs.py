"""The bot's log: JSON lines on standard error, without secrets.

Whatever any library logs goes through here, and through the redaction, before it is written.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

from bot import tokens
from policy import audit, secret_shapes

QUIET = ("urllib3", "github", "httpx2", "httpcore2", "asyncio", "uvicorn.access")
"""Libraries whose chatter says nothing about the bot; their warnings are kept."""


def redact(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Removes tokens, texts of a secret's shape and values under telling names, at every depth."""
    return {name: _redacted(value, name) for name, value in line.items()}


def configure(*, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Sends everything that is logged to `stream`, standard error without one."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            redact,
            structlog.processors.JSONRenderer(ensure_ascii=True, default=str),
        ],
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _redacted(value: Any, name: str) -> Any:
    match value:
        case dict():
            return {key: _redacted(item, str(key)) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_redacted(item, name) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            text = tokens.FORM.sub(audit.REMOVED, str(value))
            return audit.scrub(text, name) if not secret_shapes.find(text) else audit.REMOVED
