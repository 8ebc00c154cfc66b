"""The web server's door: an address for itself, or a clear word."""

from __future__ import annotations

import socket

import pytest

from bot import web_server
from policy.refusal import Code, Refused


def test_an_address_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"the address 127.0.0.1:{port}: ") as caught:
            web_server.door(("127.0.0.1", port))
    assert caught.value.refusal.code is Code.SETTINGS_INVALID


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(Refused, match=r"192\.0\.2\.1:8400"):
        web_server.door(("192.0.2.1", 8400))


def test_a_door_is_open_before_anybody_answers() -> None:
    with web_server.door(("127.0.0.1", 0)) as door:
        socket.create_connection(door.getsockname()).close()


def test_ipv6() -> None:
    with web_server.door(("::1", 0)) as door:
        assert door.family is socket.AF_INET6
