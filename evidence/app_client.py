"""Clients that act as a GitHub App's installation.

PyGithub is not safe for threads, so each job takes a client of its own. By default it sends a write
twice when the answer to the first was lost, and sleeps in the calling thread for up to an hour when a
rate limit is met; here it retries GET alone, a few times within seconds, and gives everything else back.

Sources: "Authenticating as a GitHub App installation" (a token lives for an hour), "REST API versions".
"""

from __future__ import annotations

import threading
import time

import github
from github import Auth
from urllib3.util.retry import Retry

API_VERSION = "2022-11-28"
TIMEOUT_SECONDS = 15
"""Seconds for a connection, and for each pause within an answer."""

TOKEN_SECONDS = 600
"""How long a token is used. GitHub's lives for an hour; a revoked one is replaced after this time."""

READS = ("contents", "members", "metadata", "pull_requests")
"""Permissions that a reader asks for, as far as the installation has them, for reading only."""


class AppClients:
    """Makes clients that share one short-lived token. Safe for threads; the clients are not."""

    def __init__(
        self,
        *,
        base_url: str,
        app_id: int,
        private_key: str,
        installation_id: int,
        read_only: bool,
        verify: bool | str = True,
    ) -> None:
        """
        Args:
            base_url: the REST API: `https://api.github.com`, or `https://host/api/v3` for GHES.
            app_id: the App's number.
            private_key: the App's key, PEM.
            installation_id: the installation to act as.
            read_only: whether the token may only read, whatever the installation may do.
            verify: False, or a file of CA certificates, for a GHES with its own CA.
        """
        self._base_url = base_url
        self._app = Auth.AppAuth(app_id, private_key)
        self._installation_id = installation_id
        self._read_only = read_only
        self._verify = verify
        self._lock = threading.Lock()
        self._token: str | None = None
        self._minted_at = 0.0

    def __repr__(self) -> str:
        return f"AppClients(app_id={self._app.app_id}, installation_id={self._installation_id})"

    def client(self) -> github.Github:
        """A client for one job in one thread. Nothing is sent before its first use."""
        return github.Github(
            auth=_SharedToken(self),
            base_url=self._base_url,
            timeout=TIMEOUT_SECONDS,
            per_page=100,
            verify=self._verify,
            retry=_retry(),
            seconds_between_requests=None,
            seconds_between_writes=None,
            lazy=True,
            api_version=API_VERSION,
        )

    def token(self) -> str:
        """The installation's present token; a new one when there is none or it is old.

        Raises:
            GithubException: when GitHub gives none.
            ValueError: when its answer about the installation can't be used.
        """
        with self._lock:
            if self._token is None or time.monotonic() - self._minted_at > TOKEN_SECONDS:
                self._token = self._mint()
                self._minted_at = time.monotonic()
            return self._token

    def _mint(self) -> str:
        integration = github.GithubIntegration(
            auth=self._app,
            base_url=self._base_url,
            timeout=TIMEOUT_SECONDS,
            verify=self._verify,
            retry=_retry(),
            seconds_between_requests=None,
            seconds_between_writes=None,
            api_version=API_VERSION,
        )
        permissions = None
        if self._read_only:
            granted = integration.get_app_installation(self._installation_id).raw_data.get("permissions")
            if not isinstance(granted, dict):
                raise ValueError("GitHub's answer about the installation has no permissions")
            permissions = {name: "read" for name in READS if name in granted}
        token: str = integration.get_access_token(self._installation_id, permissions=permissions).token
        return token


class _SharedToken(Auth.Auth):
    """The token of `AppClients`, asked for at each request so that a client may outlive it."""

    def __init__(self, clients: AppClients) -> None:
        self._clients = clients

    @property
    def token_type(self) -> str:
        return "token"

    @property
    def token(self) -> str:
        return self._clients.token()


def app_client(
    *,
    base_url: str,
    app_id: int,
    private_key: str,
    installation_id: int,
    read_only: bool,
    verify: bool | str = True,
) -> github.Github:
    """One client, with a token of its own; see `AppClients`, which spares a token for each job."""
    return AppClients(
        base_url=base_url,
        app_id=app_id,
        private_key=private_key,
        installation_id=installation_id,
        read_only=read_only,
        verify=verify,
    ).client()


def _retry() -> Retry:
    """GET is tried three times more within about two seconds; waiting for rate limits is the caller's."""
    return Retry(
        total=3,
        allowed_methods={"GET"},
        status_forcelist={500, 502, 503, 504},
        backoff_factor=0.3,
        respect_retry_after_header=False,
        raise_on_status=False,
    )
