"""``python -m github_simulator``: a simulated GitHub in a process of its own."""

import argparse
import signal
import sys
import tempfile
import threading
from pathlib import Path

EXAMPLES = """\
examples:
  python -m github_simulator --world demo/world.yaml --port 4010
      serve what the file declares on http://127.0.0.1:4010 until interrupted
  curl http://127.0.0.1:4010/_simulator/personas
      who there is, with the token of each
  git clone http://alice:TOKEN@127.0.0.1:4010/acme/infra.git
  curl -X POST http://127.0.0.1:4010/_simulator/faults/fail -d '{"status": 502, "when": "after", "times": 1}'
      the next call is carried out and then answered 502
  curl -X POST http://127.0.0.1:4010/_simulator/clock -d '{"advance": 3600}'
      an hour passes
"""


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m github_simulator",
        description="A simulator of GitHub for tests and demos, on loopback, without an account.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument(
        "--data", type=Path, help="folder for the git repositories (default: a temporary one)"
    )
    parser.add_argument("--world", type=Path, help="YAML file that declares users, repositories and Apps")
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="answer requests that do not fit GitHub's description as GitHub would",
    )
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; the first line printed is the URL."""
    asked = arguments(given)
    # Imported here so that --help answers at once.
    from github_simulator import simulator
    from github_simulator.declared_world import WorldError, seed

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="github-simulator-") as scratch:
        data = asked.data or Path(scratch)
        try:
            with simulator.running(data=data, port=asked.port, strict=not asked.lenient) as github:
                if asked.world is not None:
                    seed(github.world, asked.world)
                sys.stdout.write(f"{github.url}\n")
                sys.stdout.flush()
                stop.wait()
        except (OSError, WorldError) as error:
            sys.stderr.write(f"github_simulator: {error}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
