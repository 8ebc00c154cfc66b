"""Running the simulator: the door for tests and for the command line.

::

    with simulator.running(data=tmp_path) as github:
        alice = github.world.add_user("alice")
        client = github.as_user("alice")
        client.get("/user").raise_for_status()
"""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import uvicorn

from github_simulator.application import create_application
from github_simulator.clock import Clock, Moving
from github_simulator.conformity import conformity
from github_simulator.faults import Faults
from github_simulator.world import World

START_SECONDS = 15.0
NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody: the simulator speaks plain HTTP, and loading the usual authorities takes long."""


class Simulator:
    """A running simulator."""

    def __init__(self, world: World, port: int) -> None:
        self.world = world
        self.port = port
        self._clients: dict[str | None, httpx2.Client] = {}

    @property
    def url(self) -> str:
        """The root of REST, git and pages, without a slash at the end."""
        return self.world.url

    @property
    def clock(self) -> Clock:
        return self.world.clock

    @property
    def faults(self) -> Faults:
        return self.world.faults

    @property
    def violations(self) -> list[str]:
        """What did not fit GitHub's description: the client's requests, or the simulator's own answers."""
        return self.world.violations

    @contextlib.contextmanager
    def lenient(self) -> Iterator[None]:
        """Answer requests that do not fit the description as GitHub would, instead of failing the test."""
        with self.world.lock:
            self.world.lenient += 1
        try:
            yield
        finally:
            with self.world.lock:
                self.world.lenient -= 1

    def as_user(self, login: str) -> httpx2.Client:
        """The HTTP client with a person's token; it is closed with the simulator."""
        return self.with_token(self.world.token(login))

    def with_token(self, token: str | None) -> httpx2.Client:
        """The HTTP client with any token, or without one."""
        headers = {"user-agent": "simulator-client", "accept": "application/vnd.github+json"}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        if token not in self._clients:
            self._clients[token] = httpx2.Client(
                base_url=self.url, headers=headers, trust_env=False, timeout=30, verify=NO_AUTHORITIES
            )
        return self._clients[token]

    def wait_for_deliveries(self, timeout: float = 15.0) -> None:
        """Wait until all webhooks are delivered. Raises TimeoutError."""
        self.world.deliveries.wait(timeout)

    def close(self) -> None:
        """Close the clients that were handed out."""
        for client in self._clients.values():
            client.close()


@contextlib.contextmanager
def running(
    *,
    data: Path,
    strict: bool = True,
    clock: Clock | None = None,
    port: int = 0,
    host: str = "127.0.0.1",
) -> Iterator[Simulator]:
    """Serve a new, empty GitHub from a thread until the block ends.

    ``data`` is a folder for its git repositories; ``port`` 0 takes a free one. Raises OSError when the
    port is taken.
    """
    conformity()
    world = World(data, clock or Moving(), strict=strict)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    taken = listener.getsockname()[1]
    world.url = f"http://{host}:{taken}"
    configuration = uvicorn.Config(
        create_application(world),
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(configuration)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, name="github-simulator", daemon=True
    )
    thread.start()
    world.deliveries.start()
    simulator = Simulator(world, taken)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not server.started:
            if time.monotonic() > deadline or not thread.is_alive():
                raise RuntimeError("the simulator of GitHub did not start")
            time.sleep(0.005)
        yield simulator
    finally:
        simulator.close()
        server.should_exit = True
        thread.join(timeout=10)
        world.close()
        listener.close()
