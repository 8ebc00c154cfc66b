"""Processes killed with SIGKILL, a full disk, yesterday's database: nothing lost, nothing twice."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from demo import processes
from demo.people import wait_for
from demo.stage import BOT, RUNNER
from tests.scenarios.product import LONGEST_SECONDS, Product, call
from tests.scenarios.test_outages import assert_no_leases, begin, does_not_start


@contextmanager
def bot_killed(ownergate: Product) -> Iterator[None]:
    """The bot is killed now and started again after the block."""
    ownergate.running.children.kill(BOT)
    try:
        yield
    finally:
        ownergate.running.github.faults.clear()
        ownergate.running.start_bot()


def test_a_bot_that_is_killed_again_and_again_loses_and_repeats_nothing(ownergate: Product) -> None:
    module, alice = ownergate.module(), ownergate.people["alice"]
    body = call("lasting", {"module": module}, idempotency_key=f"killed-{module}")
    # First after GitHub has opened the pull request, before the bot hears of it.
    ownergate.running.github.faults.slow_answer(60, method="POST", path="*/pulls")
    with ownergate.rest(ownergate.running.stage.agent_token_file) as http:
        request_id = http.post("/api/v1/requests", json=body).raise_for_status().json()["id"]
    (number,) = wait_for(lambda: pulls_of(ownergate, request_id), "the pull request", seconds=90)
    with bot_killed(ownergate):
        # Nobody hears this approval; the bot finds it by itself.
        alice.approve(number, alice.pull_request(number)["head"]["sha"])
        answer = ownergate.agent.call("check_request", request_id=request_id)
        assert answer.data["refusal"]["code"] == "bot_unreachable"
    # Then while a runner carries it out.
    ownergate.agent.wait(request_id, "running")
    with bot_killed(ownergate):
        pass
    ownergate.agent.wait(request_id, "succeeded")
    with ownergate.rest(ownergate.running.stage.agent_token_file) as http:
        assert http.post("/api/v1/requests", json=body).raise_for_status().json()["id"] == request_id
    once(ownergate, request_id, number)


def pulls_of(ownergate: Product, request_id: str) -> list[int]:
    """The numbers of the pull requests that were opened for a request."""
    pulls = ownergate.github("alice").get(ownergate.path("/pulls?state=all&per_page=100")).json()
    return [pull["number"] for pull in pulls if pull["head"]["ref"] == f"ownergate/{request_id}"]


def once(ownergate: Product, request_id: str, number: int) -> None:
    """Everything about a request happened exactly once."""
    alice = ownergate.people["alice"]
    alice.wait_for_comment(number, "### Done", seconds=LONGEST_SECONDS)
    assert pulls_of(ownergate, request_id) == [number]
    assert len([body for body in alice.comments(number) if "ownergate:status" in body]) == 1
    assert len(alice.checks(alice.pull_request(number)["head"]["sha"])) == 1
    kinds = ownergate.kinds(request_id)
    for kind in ("tool.request", "grant.issued", "grant.claimed", "grant.spent", "tool.result"):
        assert kinds.count(kind) == 1, kind


def test_a_runner_killed_while_the_tool_runs_leaves_it_unknown_and_ends_the_lease(ownergate: Product) -> None:
    asked = ownergate.ask(tool="lasting")
    ownergate.people["alice"].approve(asked.number, asked.head)
    ownergate.agent.wait(asked.id, "running")
    ownergate.running.children.kill(RUNNER)
    ownergate.running.start_runner()
    unknown = ownergate.agent.wait(asked.id, "unknown")
    assert unknown.data["next_action"] == "ask_a_person"
    assert_no_leases(ownergate, "lasting")
    assert "Somebody must look" in ownergate.comment(asked, "### Outcome unknown")
    assert ownergate.kinds(asked.id).count("grant.spent") == 1
    body = call("terraform_apply", {"module": asked.module}, reason="and now?")
    with ownergate.rest(ownergate.running.stage.agent_token_file) as http:
        blocked = http.post("/api/v1/requests", json=body).raise_for_status().json()["id"]
    wait_for(
        lambda: "waits for another request" in ownergate.agent.check(blocked).text, "the lock", seconds=30
    )
    ownergate.unlock(asked)
    ownergate.agent.wait(blocked, "pending")


def test_an_apply_past_its_deadline_keeps_its_state(ownergate: Product) -> None:
    asked = ownergate.ask(tool="half_done")
    ownergate.people["alice"].approve(asked.number, asked.head)
    failed = ownergate.agent.wait(asked.id, "failed")
    assert "the state could not be stored" in failed.text
    rescued = ownergate.running.places.runner / "data" / "rescued"
    (kept,) = rescued.glob(f"{asked.id}.*.sealed")
    assert b"terraform_data" not in kept.read_bytes()
    assert "state.rescued" in ownergate.kinds(asked.id)
    assert_no_leases(ownergate, "half-done")
    ownergate.unlock(asked)


@contextmanager
def bot_stopped(ownergate: Product) -> Iterator[Path]:
    """The bot is stopped while something happens to its data folder, which the block gets."""
    ownergate.running.children.stop(BOT)
    try:
        yield ownergate.running.places.bot / "data"
    finally:
        ownergate.running.start_bot()


def bot_command(ownergate: Product, *more: str) -> tuple[str, ...]:
    return (processes.OWNERGATE, "bot", "run", "--config", str(ownergate.running.places.bot_config), *more)


def test_yesterday_s_database_is_refused_by_the_bot_and_then_by_the_runner(ownergate: Product) -> None:
    children, places = ownergate.running.children, ownergate.running.places
    files = [places.bot / "data" / name for name in ("bot.db", "bot.db-wal", "bot.db-shm")]
    yesterday = places.bot / "yesterday.db"
    with closing(sqlite3.connect(files[0])) as database, closing(sqlite3.connect(yesterday)) as copy:
        database.backup(copy)
    assert ownergate.agent.call("sandbox_report").data["state"] == "succeeded"
    children.stop(BOT)
    for file in files:
        file.unlink(missing_ok=True)
    yesterday.rename(files[0])
    said = does_not_start(*bot_command(ownergate))
    assert "audit chain" in said
    assert "--accept-restore" in said

    # Its operator accepts that; the runner, which has seen more, stops until its own operator does, too.
    ownergate.running.start_bot("--accept-restore")
    begin(ownergate, "sandbox_report")
    wait_for(lambda: children.process(RUNNER).poll() is not None, "the end of the runner", seconds=60)
    assert "audit chain" in children.log(RUNNER).read_text()
    children.stop(RUNNER)
    command = (processes.OWNERGATE, "runner", "--config", str(places.runner_config))
    assert "--accept-audit-restore" in does_not_start(*command)
    assert "Forgotten: event" in processes.run(*command, "--accept-audit-restore")
    ownergate.running.start_runner()
    assert ownergate.agent.call("sandbox_report").data["state"] == "succeeded"


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted, which only root can")


@contextmanager
def small_disk(folder: Path, *, megabytes: int) -> Iterator[None]:
    """A folder becomes a disk of that size, with what was in it; what is in it then stays afterwards."""
    before, after = folder.with_name("before"), folder.with_name("after")
    folder.rename(before)
    folder.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        before.rename(folder)
        pytest.skip("this machine lets nobody mount a disk")
    try:
        shutil.copytree(before, folder, dirs_exist_ok=True)
        yield
    finally:
        shutil.copytree(folder, after)
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()
        after.rename(folder)
        shutil.rmtree(before)


@needs_root
def test_a_full_disk_is_told_and_ends_by_itself_and_one_that_can_only_be_read_stops_the_start(
    ownergate: Product,
) -> None:
    with bot_stopped(ownergate) as data, small_disk(data, megabytes=64):
        ownergate.running.start_bot()
        try:
            fill(data / "filler")
            answer = ownergate.agent.call("sandbox_report")
            assert answer.data["refusal"]["code"] == "database_unavailable"
            assert "full" in answer.text
            with ownergate.rest(None) as http:
                assert not http.get("/healthz").json()["ok"]
            (data / "filler").unlink()
            after = wait_for(
                lambda: (now := ownergate.agent.call("sandbox_report")).data.get("state") and now,
                "a bot that works again",
                seconds=30,
            )
            assert after.data["state"] == "succeeded"
        finally:
            (data / "filler").unlink(missing_ok=True)
            ownergate.running.children.stop(BOT)
        subprocess.run(["mount", "-o", "remount,ro", str(data)], check=True)
        said = does_not_start(*bot_command(ownergate))
    assert "Read-only file system" in said
    assert str(data) in said


def fill(path: Path) -> None:
    """Fills a disk to the last byte."""
    with path.open("wb", buffering=0) as file:
        for size in (1024 * 1024, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
