"""A canary: something outside that notices whatever gets out of a sandbox.

"Nothing arrived" proves a closed door only when the same knock by the runner itself did arrive.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Canary:
    """Listens on every address of this host and counts what arrives, by TCP and by UDP."""

    def __init__(self, tcp: socket.socket, udp: socket.socket) -> None:
        self.port: int = tcp.getsockname()[1]
        self.own_address = _own_address()
        self._arrived = 0
        self._sockets = (tcp, udp)
        for listener in self._sockets:
            threading.Thread(target=self._count, args=(listener,), daemon=True).start()

    def reach(self, address: str) -> None:
        """The positive control: the runner itself does what the sandbox will try."""
        with socket.create_connection((address, self.port), timeout=2):
            pass

    def settled(self, expected: int) -> int:
        """How many arrivals there were, after giving late ones a moment."""
        until = time.monotonic() + 1
        while self._arrived < expected and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(0.02)
        return self._arrived

    def _count(self, listener: socket.socket) -> None:
        while True:
            try:
                if listener.type == socket.SOCK_STREAM:
                    listener.accept()[0].close()
                else:
                    listener.recvfrom(64)
            except OSError:
                return
            self._arrived += 1


@contextmanager
def listening() -> Iterator[Canary]:
    """A canary that listens inside the `with` block."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        # All addresses, because a sandbox that could reach any of them must be noticed.
        tcp.bind(("0.0.0.0", 0))  # noqa: S104
        tcp.listen()
        udp.bind(("0.0.0.0", tcp.getsockname()[1]))  # noqa: S104
        try:
            yield Canary(tcp, udp)
        finally:
            for listener in (tcp, udp):
                # Wakes the thread that waits in it; closing alone would leave it there.
                _shut(listener)


def _shut(listener: socket.socket) -> None:
    try:
        listener.shutdown(socket.SHUT_RDWR)
    except OSError:
        os.close(listener.detach())


def _own_address() -> str:
    """This host's address on the way out; the loopback when there is no way out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket only picks a route; nothing is sent.
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
