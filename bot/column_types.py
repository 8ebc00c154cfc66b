"""How JSON documents stand in the database: in their canonical form, the one that the wire has too."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from policy import canonical, record
from policy.canonical import Json


class Document(TypeDecorator[Json]):
    """A JSON document; records are written as `policy.record` writes them."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:
        """To the database."""
        return None if value is None else canonical.encode(record.to_json(value)).decode()

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Json:
        """From the database."""
        return None if value is None else canonical.parse(str(value), what="a stored document")
