"""What every test stands on: imports from the clone, and no network but loopback."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent

LOOPBACK = {"127.0.0.1", "::1", "localhost"}

# The simulator, the demo and the benchmarks are run from the clone and are not part of the wheel. The
# clone goes to the end of the path, so that what the wheel installed is what is tested.
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))


@pytest.fixture(autouse=True)
def _only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that reach beyond this machine fail at once instead of hanging or passing by luck."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and address[0] not in {
            "127.0.0.1",
            "::1",
            "localhost",
        }:
            raise OSError(f"tests reach only this machine, not {address[0]}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
