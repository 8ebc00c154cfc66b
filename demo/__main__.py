"""`python -m demo`: builds the stage, tells the story, takes the stage down (or leaves it with --keep)."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from demo import by_hand, requirements, stage
from demo.agent import connected
from demo.people import Person
from demo.stage import Stage
from demo.story import break_ins, change, reading, trail
from demo.story.cast import Cast
from demo.telling import StepFailed, Teller

CHAPTERS = (
    reading.a_read_only_call,
    change.a_change_is_asked_for,
    change.the_pull_request,
    change.approvals_that_do_not_count,
    change.a_commit_slips_in,
    change.an_owner_approves,
    change.nothing_runs_twice,
    break_ins.a_bot_that_signs_what_nobody_approved,
    break_ins.a_runner_without_a_grant,
    break_ins.a_plan_that_swaps_its_bytes,
    trail.the_trail,
)
STAGE_SECONDS = 120.0
END_SECONDS = 30.0


def main() -> int:
    """Returns 0 only if every step held."""
    parser = argparse.ArgumentParser(
        prog="python -m demo",
        description="Tells the whole story of ownergate on this machine. Only GitHub is simulated.",
    )
    parser.add_argument("--data", type=Path, default=Path(".demo"), help="folder for everything it makes")
    parser.add_argument("--keep", action="store_true", help="leave it running and say how to try it by hand")
    parser.add_argument("--down", action="store_true", help="end what --keep left running")
    chosen = parser.parse_args()
    data: Path = chosen.data.resolve()
    if chosen.down:
        return _end(data)
    if requirements.main():
        return 1
    _end(data, quiet=True)
    ports = ["--github-port", "8300", "--bot-port", "8400"] if chosen.keep else []
    process = subprocess.Popen(
        [sys.executable, "-m", "demo.stage", "--data", str(data), *ports],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    kept = False
    try:
        built = _wait_for_stage(process, data)
        if built is None:
            return 1
        teller = Teller()
        if not asyncio.run(_tell(teller, built)):
            print(f"\nThis step did not hold; the logs are in {data / 'logs'}.", file=sys.stderr)
            return 1
        teller.end()
        if chosen.keep:
            kept = True
            print(by_hand.instructions(built))
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    finally:
        if not kept:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
    return 0


def _wait_for_stage(process: subprocess.Popen[str], data: Path) -> Stage | None:
    until = time.monotonic() + STAGE_SECONDS
    if process.stdout is None:
        return None
    for line in process.stdout:
        print(line, end="", flush=True)
        if (built := stage.load(data)) is not None:
            return built
        if time.monotonic() > until:
            break
    print(f"The stage did not come up; the logs are in {data / 'logs'}.", file=sys.stderr)
    return None


async def _tell(teller: Teller, built: Stage) -> bool:
    """Whether every chapter held. The failure ends here: it must not travel through the agent's streams."""
    people = {
        login: Person(built.github_url, login, token, built.repository)
        for login, token in built.tokens.items()
    }
    try:
        async with connected(built.bot_url, built.agent_token_file) as agent:
            cast = Cast(teller=teller, stage=built, agent=agent, people=people)
            for chapter in CHAPTERS:
                try:
                    await chapter(cast)
                except StepFailed:
                    return False
                except TimeoutError as error:
                    teller.fail(str(error))
                    return False
            return True
    finally:
        for person in people.values():
            person.close()


def _end(data: Path, *, quiet: bool = False) -> int:
    running = stage.load(data)
    if running is None:
        if not quiet:
            print("No demo is running.")
        return 0
    try:
        os.kill(running.pid, signal.SIGTERM)
    except ProcessLookupError:
        (data / stage.STAGE_FILE).unlink(missing_ok=True)
        return 0
    until = time.monotonic() + END_SECONDS
    while (data / stage.STAGE_FILE).exists() and time.monotonic() < until:
        time.sleep(0.1)
    if not quiet:
        print("The demo is down.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
