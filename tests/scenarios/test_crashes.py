"""Processes killed with SIGKILL, a full disk, yesterday's database: nothing lost, nothing twice."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from demo import processes
from demo.people import wait_for
from demo.stage import BOT, RUNNER
from tests.scenarios.product import Asked, Product, call
from tests.scenarios.test_outages import assert_no_leases, does_not_start


@contextmanager
def bot_killed(ownergate: Product) -> Iterator[None]:
    """The bot is killed now and started again after the block."""
    ownergate.running.children.kill(BOT)
    try:
        yield
    finally:
        ownergate.running.start_bot()


def test_a_bot_that_is_killed_again_and_again_loses_and_repeats_nothing(ownergate: Product) -> None:
    module = ownergate.module()
    body = call("terraform_apply", {"module": module}, idempotency_key=f"killed-{module}")
    with ownergate.rest(ownergate.running.stage.agent_token_file) as http:
        request_id = http.post("/api/v1/requests", json=body).raise_for_status().json()["id"]
    with bot_killed(ownergate):
        pass
    with ownergate.rest(ownergate.running.stage.agent_token_file) as http:
        assert http.post("/api/v1/requests", json=body).raise_for_status().json()["id"] == request_id
    asked = ownergate.asked(module, ownergate.agent.wait(request_id, "pending"))
    with bot_killed(ownergate):
        # Nobody hears this approval; the bot finds it by itself.
        ownergate.people["alice"].approve(asked.number, asked.head)
        answer = ownergate.agent.call("check_request", request_id=request_id)
        assert answer.data["refusal"]["code"] == "bot_unreachable"
    ownergate.agent.wait(request_id, "granted", "claimed", "running", "succeeded")
    with bot_killed(ownergate):
        pass
    ownergate.agent.wait(request_id, "succeeded")
    once(ownergate, asked)


def once(ownergate: Product, asked: Asked) -> None:
    """Everything about a request happened exactly once."""
    ownergate.comment(asked, "### Done")
    alice = ownergate.people["alice"]
    pulls = ownergate.github("alice").get(ownergate.path("/pulls?state=all&per_page=100")).json()
    branch = f"ownergate/{asked.id}"
    assert [pull["number"] for pull in pulls if pull["head"]["ref"] == branch] == [asked.number]
    assert len([body for body in alice.comments(asked.number) if "ownergate:status" in body]) == 1
    assert len(alice.checks(asked.head)) == 1
    kinds = ownergate.kinds(asked.id)
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
    with ownergate.rest(ownergate.admin_token_file()) as admin:
        freed = admin.post(f"/api/v1/requests/{asked.id}/unlock").raise_for_status().json()
    assert freed["freed"], "an administrator has looked at the target"
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


@contextmanager
def other_data(ownergate: Product) -> Iterator[Path]:
    """The bot is stopped and its data folder may be changed; afterwards all is as it was, and it runs."""
    children, data = ownergate.running.children, ownergate.running.places.bot / "data"
    children.stop(BOT)
    shutil.copytree(data, data.with_name("kept"))
    try:
        yield data
    finally:
        shutil.rmtree(data, ignore_errors=True)
        data.with_name("kept").rename(data)
        ownergate.running.start_bot()


def bot_command(ownergate: Product, *more: str) -> tuple[str, ...]:
    return (processes.OWNERGATE, "bot", "run", "--config", str(ownergate.running.places.bot_config), *more)


def test_yesterday_s_database_is_refused(ownergate: Product) -> None:
    with other_data(ownergate) as data:
        with sqlite3.connect(data / "bot.db") as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (tip,) = database.execute("SELECT max(sequence) FROM audit_events").fetchone()
        database.close()
        yesterday = data / "yesterday.db"
        shutil.copy(data / "bot.db", yesterday)
        ownergate.running.start_bot()
        assert ownergate.agent.call("sandbox_report").data["state"] == "succeeded"
        ownergate.running.children.stop(BOT)
        for name in ("bot.db", "bot.db-wal", "bot.db-shm"):
            (data / name).unlink(missing_ok=True)
        yesterday.rename(data / "bot.db")
        said = does_not_start(*bot_command(ownergate))
        assert "older copy" in said or "audit chain" in said
        assert str(tip) in said
        assert "--accept-restore" in said


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted, which only root can")


@contextmanager
def small_disk(folder: Path, *, megabytes: int) -> Iterator[None]:
    """A folder becomes a disk of that size, with what was in it."""
    before = folder.with_name("before")
    folder.rename(before)
    folder.mkdir(mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        folder.rmdir()
        before.rename(folder)
        pytest.skip("this machine lets nobody mount a disk")
    try:
        shutil.copytree(before, folder, dirs_exist_ok=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()
        before.rename(folder)


@needs_root
def test_a_full_disk_is_told_and_ends_by_itself(ownergate: Product) -> None:
    children, data = ownergate.running.children, ownergate.running.places.bot / "data"
    with other_data(ownergate), small_disk(data, megabytes=64):
        ownergate.running.start_bot()
        try:
            fill(data / "filler")
            answer = ownergate.agent.call("sandbox_report")
            assert answer.data["refusal"]["code"] == "database_unavailable"
            assert "full" in answer.text
            with ownergate.rest(None) as http:
                health = http.get("/healthz").json()
            assert not health["ok"]
            (data / "filler").unlink()
            after = wait_for(
                lambda: (now := ownergate.agent.call("sandbox_report")).data.get("state") and now,
                "a bot that works again",
                seconds=30,
            )
            assert after.data["state"] == "succeeded"
        finally:
            children.stop(BOT)


def fill(path: Path) -> None:
    """Fills a disk to the last byte."""
    with path.open("wb", buffering=0) as file:
        for size in (1024 * 1024, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue


@needs_root
def test_a_database_that_can_only_be_read_stops_the_start(ownergate: Product) -> None:
    data = ownergate.running.places.bot / "data"
    with other_data(ownergate), small_disk(data, megabytes=64):
        subprocess.run(["mount", "-o", "remount,ro", str(data)], check=True)
        said = does_not_start(*bot_command(ownergate))
    assert "read" in said
    assert str(data) in said
