"""The signature of a webhook: an HMAC over the raw bytes, compared in constant time.

Source: docs.github.com, "Validating webhook deliveries": `X-Hub-Signature-256: sha256=<64 hexadecimal
digits>`, HMAC-SHA-256 of the body with the webhook's secret.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence

SHORTEST_SECRET = 16
"""Bytes; a shorter secret could be guessed from one recorded delivery."""

_FORM = re.compile(rb"sha256=[0-9a-f]{64}")


class Signatures:
    """Checks signatures against the secrets that are accepted now, several during a rotation."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        """Raises: ValueError: without a secret or with a short one; the settings say it in better words."""
        if not secrets or any(len(secret) < SHORTEST_SECRET for secret in secrets):
            raise ValueError(f"webhook secrets: at least one, each of at least {SHORTEST_SECRET} bytes")
        self._secrets = tuple(secrets)

    def well_formed(self, headers: Sequence[bytes]) -> bool:
        """Whether exactly one signature header is there, of the only form that counts."""
        return len(headers) == 1 and _FORM.fullmatch(headers[0]) is not None

    def valid(self, headers: Sequence[bytes], body: bytes) -> bool:
        """Whether the one signature is of this body, by one of the secrets.

        Args:
            headers: all values of `X-Hub-Signature-256`.
            body: the raw bytes; nothing may have parsed them yet.
        """
        if not self.well_formed(headers):
            return False
        given = headers[0]
        valid = False
        for secret in self._secrets:
            expected = b"sha256=" + hmac.digest(secret, body, "sha256").hex().encode()
            # Every secret is tried, so that time doesn't tell which one it was.
            valid |= hmac.compare_digest(given, expected)
        return valid

    def __repr__(self) -> str:
        return f"Signatures({len(self._secrets)} secrets)"
