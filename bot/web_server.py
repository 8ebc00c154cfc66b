"""The web server: uvicorn with one worker, ready for bursts, silent about itself, ending in time."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from policy.refusal import Code, refuse

BACKLOG = 4096
"""Connections that may wait to be accepted: a burst of webhooks opens many at once."""

END_SECONDS = 2
"""How long answers that are under way may take when the process ends."""

LAST_SECONDS = 4.5
"""After that the process ends whatever is under way, such as a call that waits for GitHub."""

KEEP_ALIVE_SECONDS = 75
"""Idle connections are kept for longer than any client keeps them (runners: 30 seconds). Otherwise a
claim could meet a connection that is just being closed, and nobody would know whether it was taken."""

logger = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """Ends on a signal: well if it can, in any case soon. What was acknowledged is on the disk."""

    last_resort: threading.Timer | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called for SIGTERM and SIGINT."""
        if self.last_resort is None:
            self.last_resort = threading.Timer(LAST_SECONDS, _end_now)
            self.last_resort.daemon = True
            self.last_resort.start()
        super().handle_exit(sig, frame)

    def ended(self) -> None:
        """Everything has ended well; there is no need for the last resort."""
        if self.last_resort is not None:
            self.last_resort.cancel()


def make(application: ASGIApp) -> Server:
    """The one worker that answers; it says nothing about itself in its headers."""
    return Server(
        uvicorn.Config(
            application,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=END_SECONDS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
    )


def door(address: tuple[str, int]) -> socket.socket:
    """Opens the socket that is listened on; callers wait in it until the server takes them.

    Raises:
        Refused: `settings_invalid` when the address can't be had.
    """
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        raise refuse(
            Code.SETTINGS_INVALID,
            f"the address {host}:{port}: {error.strerror or error}",
            rule="The bot has its address for itself.",
            remedy="Stop what else listens there, or set `listen` to another address.",
        ) from None


@contextmanager
def signals_end_well() -> Iterator[None]:
    """While the block lasts, SIGTERM and SIGINT end the server and then nothing else.

    uvicorn sends itself the signal once more when it has ended, to whoever handled it before. Ending on
    request is not a failure, so nothing more is to happen then.
    """
    earlier = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _end_now() -> None:
    logger.warning("the bot ends although something is still under way; it is taken up at the next start")
    logging.shutdown()
    os._exit(0)
