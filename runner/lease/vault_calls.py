"""Calls to OpenBao or Vault through hvac, with every failure turned into one of three refusals.

Down, sealed and refused are told apart because a person does something different about each. Nothing
of a request's body stands in an error: only the path and what the engine answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import hvac
import hvac.exceptions
import requests

from policy.canonical import Json
from policy.refusal import Code, Refused, refuse
from runner.secret_bytes import SecretBytes

TIMEOUT_SECONDS = 10
"""For one call; OpenBao answers in milliseconds, or something is wrong."""


class VaultCalls:
    """Where the engine is and how it is called. A client is made for each login and never shared."""

    def __init__(self, address: str, *, ca_file: Path | None = None) -> None:
        self.address = address
        self._ca_file = ca_file

    def client(self, token: SecretBytes | None = None) -> Any:
        """An hvac client; nothing is taken from this process's environment or the user's home."""
        session = requests.Session()
        # Proxies, certificate bundles and .netrc of the environment must not redirect a credential.
        session.trust_env = False
        return hvac.Client(
            url=self.address,
            token="" if token is None else token.reveal().decode("ascii"),
            verify=True if self._ca_file is None else str(self._ca_file),
            timeout=TIMEOUT_SECONDS,
            session=session,
        )

    def write(self, client: Any, path: str, body: Mapping[str, Json]) -> Mapping[str, Any]:
        """Writes to a path below `/v1/` and returns the answer; empty when there is none.

        Raises:
            Refused: `vault_unreachable`, `vault_sealed`, `vault_refused`.
        """
        with self.failures(path):
            answer = client.write_data(path, data=dict(body))
        return cast("Mapping[str, Any]", answer) if isinstance(answer, dict) else {}

    def read(self, client: Any, path: str) -> Mapping[str, Any] | None:
        """Reads a path; None when there is nothing. Raises as `write`."""
        with self.failures(path):
            answer = client.read(path)
        return cast("Mapping[str, Any]", answer) if isinstance(answer, dict) else None

    def post_bytes(self, path: str, body: bytes, *, content_type: str) -> bytes:
        """Posts bytes without a token and returns the answer's bytes. Raises as `write`."""
        with self.failures(path), self.client().session as session:
            answer = session.post(
                f"{self.address}/v1/{path}",
                data=body,
                headers={"Content-Type": content_type},
                timeout=TIMEOUT_SECONDS,
                verify=True if self._ca_file is None else str(self._ca_file),
            )
            content = cast("bytes", answer.content)
            if answer.status_code == requests.codes.service_unavailable:
                raise hvac.exceptions.VaultDown("it is sealed or on standby")
        return content

    @contextmanager
    def failures(self, path: str) -> Iterator[None]:
        """Turns what hvac and its transport raise into refusals."""
        try:
            yield
        except hvac.exceptions.VaultDown:
            raise self._sealed() from None
        except hvac.exceptions.VaultNotInitialized:
            raise self._sealed() from None
        except hvac.exceptions.VaultError as error:
            raise self._refused(path, error) from None
        except requests.RequestException as error:
            raise self._unreachable(type(error).__name__) from None

    def _sealed(self) -> Refused:
        return refuse(
            Code.VAULT_SEALED,
            f"a call to OpenBao at {self.address}: it is sealed",
            rule="Without OpenBao there is no credential, and without its word none is dead.",
            remedy="Unseal it: bao operator unseal.",
        )

    def _unreachable(self, how: str) -> Refused:
        return refuse(
            Code.VAULT_UNREACHABLE,
            f"a call to OpenBao at {self.address}: it can't be reached ({how})",
            rule="Without OpenBao there is no credential, and without its word none is dead.",
            remedy="Start it, or correct the address in the runner's settings.",
        )

    def _refused(self, path: str, error: hvac.exceptions.VaultError) -> Refused:
        said = "; ".join(str(line) for line in error.errors or ()) if error.errors else type(error).__name__
        return refuse(
            Code.VAULT_REFUSED,
            f"OpenBao said no to {path}: {' '.join(said.split())[:300]}",
            rule="A lease is given only to a login that its role in OpenBao allows.",
            remedy="Compare OpenBao with the policy: ownergate vault plan.",
        )
