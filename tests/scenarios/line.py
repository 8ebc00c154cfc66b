"""A line from one part to another that a test can cut: every connection is passed on, or dropped."""

from __future__ import annotations

import contextlib
import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

_CHUNK = 65_536
_LOOK_SECONDS = 0.05


class Line:
    """One line. Thread-safe."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._cut = threading.Event()

    @property
    def is_cut(self) -> bool:
        """Whether nothing passes now."""
        return self._cut.is_set()

    @contextmanager
    def cut(self) -> Iterator[None]:
        """While the block lasts, what is open is dropped and nothing new gets through."""
        self._cut.set()
        try:
            yield
        finally:
            self._cut.clear()


@contextmanager
def line(target: str) -> Iterator[Line]:
    """A line to the address of an HTTP server on this machine."""
    parts = urlsplit(target)
    address = (parts.hostname, parts.port)

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if made.is_cut:
                return
            with contextlib.suppress(OSError), socket.create_connection(address, timeout=10) as beyond:
                self._pass_on(beyond)

        def _pass_on(self, beyond: socket.socket) -> None:
            across = {self.request: beyond, beyond: self.request}
            while not made.is_cut and not over.is_set():
                for ready in select.select(list(across), [], [], _LOOK_SECONDS)[0]:
                    data = ready.recv(_CHUNK)
                    if not data:
                        return
                    across[ready].sendall(data)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = True
        request_queue_size = 64

    over = threading.Event()
    with Server(("127.0.0.1", 0), Connection) as server:
        made = Line(int(server.server_address[1]))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            over.set()
            server.shutdown()
            thread.join()
