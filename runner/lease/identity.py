"""The runner's own identity at OpenBao: a short token that it signs itself, one for each login.

It is what a projected service-account token is on Kubernetes: subject, audience, a minute of life.
"""

from __future__ import annotations

import secrets
import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy import signing, vault_roles
from runner.secret_bytes import SecretBytes

TYPE = "ownergate-runner+jwt"
LIFE_SECONDS = 60
_CLOCK_TOLERANCE_SECONDS = 30


class RunnerIdentity:
    """Signs login tokens for one runner pool."""

    def __init__(self, key: Ed25519PrivateKey, *, issuer: str, pool: str) -> None:
        self._key = key
        self._issuer = issuer
        self.pool = pool

    def token(self) -> SecretBytes:
        """A login token of the pool's runner."""
        return self._sign(self.pool)

    def sweeper_token(self) -> SecretBytes:
        """A login token of the pool's sweeper, which can revoke and do nothing else."""
        return self._sign(vault_roles.sweeper_subject(self.pool))

    def _sign(self, subject: str) -> SecretBytes:
        now = int(time.time())
        token = signing.sign(
            {
                "iss": self._issuer,
                "sub": subject,
                "aud": vault_roles.AUDIENCE,
                "iat": now,
                "nbf": now - _CLOCK_TOLERANCE_SECONDS,
                "exp": now + LIFE_SECONDS,
                "jti": secrets.token_hex(16),
            },
            self._key,
            typ=TYPE,
        )
        return SecretBytes(token.encode("ascii"))
