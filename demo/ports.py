"""Free ports of this machine for servers that are started a little later.

They are taken from below the range that the kernel gives to outgoing connections (ip(7),
`ip_local_port_range`), so that no connection made meanwhile takes one away again.
"""

from __future__ import annotations

import random
import socket

_LOWEST, _HIGHEST = 15_000, 30_000


def free(count: int = 1) -> int:
    """The first of `count` ports in a row that nobody listens on.

    Raises:
        RuntimeError: when there are none after many tries.
    """
    # Chance keeps processes that look at the same moment apart; it guards nothing.
    for _ in range(200):
        first = random.randrange(_LOWEST, _HIGHEST)  # noqa: S311
        if all(_is_free(port) for port in range(first, first + count)):
            return first
    raise RuntimeError(f"there are no {count} free ports between {_LOWEST} and {_HIGHEST}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
