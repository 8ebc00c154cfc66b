"""Ids of sandbox calls: unique on this host without asking anyone."""

from __future__ import annotations

import secrets


def new() -> str:
    """A new id: `call-` and 96 random bits."""
    return f"call-{secrets.token_hex(12)}"
