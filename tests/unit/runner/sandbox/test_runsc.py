"""The one-machine sandbox through its own door, with the real runsc."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path

import pytest

from policy.refusal import Code, Refused
from runner.sandbox import runsc as runsc_home
from runner.sandbox import runsc_program
from runner.sandbox.interface import Ended, NotIsolated, StateMount, TakeOut
from runner.sandbox.runsc import RunscSandbox
from runner.secret_bytes import SecretBytes
from tests.sandboxes import call, limits, run, scratch_folder, shell, step, text


def test_argv_reaches_the_program_as_it_is(sandbox: RunscSandbox) -> None:
    hostile = '$(id) `id` "; id \n*'
    outcome = run(sandbox, call(step("printf", "[%s]", hostile, "")))
    assert text(outcome) == f"[{hostile}][]"
    assert outcome.succeeded


def test_kernel_is_reported_once_and_before_the_tool_starts(sandbox: RunscSandbox) -> None:
    kernels: list[str] = []
    outcome = sandbox.run(
        call(step("cat", "/proc/version"), step("cat", "/proc/version")),
        started=kernels.append,
        cancelled=threading.Event(),
    )
    assert kernels == [outcome.kernel]
    assert outcome.kernel.startswith("Linux version 4.4.0")
    assert outcome.kernel != Path("/proc/version").read_text(encoding="utf-8").strip()
    assert text(outcome) == f"{outcome.kernel}\n" * 2
    assert outcome.image_sha256 == sandbox.image_sha256("tools")


def test_a_tool_cannot_forge_the_kernel_report(sandbox: RunscSandbox) -> None:
    outcome = run(sandbox, call(shell(r"printf '\036ownergate kernel Linux version 6.6.6 evil\n'")))
    assert "evil" not in outcome.kernel
    assert "evil" in text(outcome)


def test_when_started_raises_the_tool_never_runs(sandbox: RunscSandbox, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    def refuse(kernel: str) -> None:
        raise RuntimeError("the audit trail can't be written")

    state = StateMount(folder=tmp_path, writable=True)
    with pytest.raises(RuntimeError, match="audit trail"):
        sandbox.run(
            call(shell("echo ran >/state/ran"), state=state), started=refuse, cancelled=threading.Event()
        )
    assert not (tmp_path / "ran").exists()
    assert sandbox.alive() == frozenset()


def test_output_is_merged_in_the_order_written(sandbox: RunscSandbox) -> None:
    outcome = run(sandbox, call(shell("for i in 1 2 3; do echo out$i; echo err$i >&2; done")))
    assert text(outcome) == "out1\nerr1\nout2\nerr2\nout3\nerr3\n"


def test_environment_is_what_was_said_and_nothing_else(sandbox: RunscSandbox) -> None:
    outcome = run(sandbox, call(step("env", DECLARED="yes")))
    names = {line.partition("=")[0] for line in text(outcome).splitlines()}
    expected = {"DECLARED", "PATH", "HOME", "TMPDIR", "LANG"}
    expected |= {"CHECKPOINT_DISABLE", "TF_CLI_CONFIG_FILE", "TF_IN_AUTOMATION", "TF_INPUT"}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == expected


def test_the_tool_is_nobody_and_the_root_is_read_only(sandbox: RunscSandbox) -> None:
    outcome = run(sandbox, call(shell("id -u; (: >/x) 2>&1; (: >/usr/bin/x) 2>&1; mkdir /y 2>&1; exit 0")))
    lines = text(outcome).splitlines()
    assert lines[0] == ("65534" if os.geteuid() == 0 else "0")
    assert len(lines) == 4
    assert all("denied" in line or "Read-only" in line for line in lines[1:])


def test_steps_share_the_work_folder_and_the_first_failure_ends_the_call(sandbox: RunscSandbox) -> None:
    outcome = run(
        sandbox,
        call(shell("echo one >note"), shell("cat note; exit 7"), shell("echo never"), files={"a/b": b"c"}),
    )
    assert outcome.ended is Ended.EXITED
    assert [s.exit_code for s in outcome.steps] == [0, 7]
    assert text(outcome) == "one\n"
    assert not outcome.succeeded


def test_a_missing_program_is_the_tools_failure(sandbox: RunscSandbox) -> None:
    outcome = run(sandbox, call(step("no-such-program")))
    assert outcome.ended is Ended.EXITED
    assert outcome.steps[0].exit_code == 127
    assert "no-such-program" in text(outcome)


def test_the_working_folder_is_where_the_step_starts(sandbox: RunscSandbox) -> None:
    outcome = run(sandbox, call(step("cat", "data", cwd="/work/in"), files={"in/data": b"here"}))
    assert text(outcome) == "here"


def test_files_go_in_and_out(sandbox: RunscSandbox) -> None:
    content = bytes(range(256))
    outcome = run(
        sandbox,
        call(
            step("cp", "in/data", "out"),
            files={"in/data": content},
            take_out=(TakeOut(path="out", max_bytes=256), TakeOut(path="in/data", max_bytes=255)),
        ),
    )
    assert outcome.taken_out == {"out": content}


def test_what_is_not_a_plain_file_is_not_taken_out(sandbox: RunscSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("host", encoding="utf-8")
    script = f"ln -s {secret} link; ln -s {tmp_path} folder; echo x >real; ln real hard; mkdir directory"
    names = ("link", "folder/secret", "hard", "directory", "missing")
    outcome = run(sandbox, call(shell(script), take_out=tuple(TakeOut(path=n, max_bytes=99) for n in names)))
    assert outcome.steps[0].exit_code == 0, text(outcome)
    assert outcome.taken_out == {}


@pytest.mark.parametrize("writable", [True, False])
def test_state_is_writable_only_when_asked(sandbox: RunscSandbox, tmp_path: Path, writable: bool) -> None:
    (tmp_path / "old").write_text("old", encoding="utf-8")
    outcome = run(
        sandbox,
        call(
            shell("cat /state/old; echo new >/state/new"),
            state=StateMount(folder=tmp_path, writable=writable),
        ),
    )
    assert text(outcome).startswith("old")
    assert (tmp_path / "new").exists() is writable
    assert outcome.succeeded is writable


def test_the_credential_is_only_in_the_steps_that_ask(sandbox: RunscSandbox) -> None:
    look = "cat /run/credential/key 2>/dev/null || echo none"
    outcome = run(
        sandbox,
        call(
            shell(look),
            shell(f"{look}; (echo x >/run/credential/key) 2>/dev/null || echo refused", credential=True),
            shell(look),
            credential={"key": SecretBytes(b"s3cret\n")},
        ),
    )
    assert [s.output for s in outcome.steps] == [b"none\n", b"s3cret\nrefused\n", b"none\n"]


def test_the_credential_is_a_private_file_in_memory_and_gone_afterwards(images: Path) -> None:
    with scratch_folder() as scratch:
        sandbox = RunscSandbox(images=images, scratch=scratch, runsc=runsc_program.find())
        seen: list[tuple[str, int]] = []
        others: list[bytes] = []

        def look(kernel: str) -> None:
            for path in scratch.rglob("*"):
                if path.is_file() and not path.is_socket():
                    content = path.read_bytes()
                    if b"s3cret" in content:
                        seen.append((path.name, stat.S_IMODE(path.stat().st_mode)))
                    others.append(content)

        what = call(step("id", credential=True), credential={"key": SecretBytes(b"s3cret")})
        sandbox.run(what, started=look, cancelled=threading.Event())
        assert seen == [("key", 0o400)]
        assert others
        assert [path.name for path in scratch.iterdir()] == [".runsc"]


def test_a_flood_of_output_is_cut_and_counted(sandbox: RunscSandbox) -> None:
    total = 100_000_000
    outcome = run(
        sandbox,
        call(shell(f"echo begin; head -c {total} /dev/zero; echo end"), bounds=limits(output_bytes=4096)),
    )
    (only,) = outcome.steps
    assert outcome.succeeded
    assert len(only.output) == 4096
    assert only.cut_bytes == total + len("begin\nend\n") - 4096
    assert only.output.startswith(b"begin\n")
    assert only.output.endswith(b"\0end\n")
    assert only.cut_at == 3072


def test_output_of_all_steps_together_is_capped(sandbox: RunscSandbox) -> None:
    fill = shell("head -c 3000 /dev/zero")
    outcome = run(sandbox, call(fill, fill, bounds=limits(output_bytes=4096)))
    assert [len(s.output) for s in outcome.steps] == [3000, 1096]
    assert outcome.steps[1].cut_bytes == 3000 - 1096


def test_deadline_kills_what_ignores_sigterm(sandbox: RunscSandbox) -> None:
    began = time.monotonic()
    outcome = run(
        sandbox,
        call(
            shell("trap '' TERM; sleep 99 & echo up; while :; do sleep 1; done"),
            shell("echo never"),
            bounds=limits(timeout_seconds=1, grace_seconds=1),
        ),
    )
    assert outcome.ended is Ended.DEADLINE
    assert [s.exit_code for s in outcome.steps] == [None]
    assert text(outcome) == "up\n"
    assert 2.0 <= time.monotonic() - began < 8
    assert sandbox.alive() == frozenset()


def test_deadline_lets_a_tool_clean_up_in_its_grace(sandbox: RunscSandbox) -> None:
    outcome = run(
        sandbox,
        call(
            shell("trap 'echo saved >state; exit 3' TERM; echo up; while :; do sleep 0.1; done"),
            take_out=(TakeOut(path="state", max_bytes=10),),
            bounds=limits(timeout_seconds=1, grace_seconds=10),
        ),
    )
    assert outcome.ended is Ended.DEADLINE
    assert outcome.steps[0].exit_code == 3
    assert outcome.taken_out == {"state": b"saved\n"}


def test_cancelling_ends_a_running_tool(sandbox: RunscSandbox) -> None:
    cancelled = threading.Event()
    outcome = sandbox.run(
        call(step("sleep", "60"), step("id")), started=lambda kernel: cancelled.set(), cancelled=cancelled
    )
    assert outcome.ended is Ended.CANCELLED
    assert len(outcome.steps) == 1


def test_a_fork_bomb_stops_at_the_limit(sandbox: RunscSandbox) -> None:
    bomb = step("sh", "-c", "while :; do sleep 9 & echo more; done")
    outcome = run(sandbox, call(bomb, bounds=limits(processes=20)))
    assert 0 < text(outcome).count("more") < 20
    assert sandbox.alive() == frozenset()


def test_too_much_memory_ends_the_sandbox(sandbox: RunscSandbox) -> None:
    hog = shell("head -c 900000000 /dev/zero >/tmp/hog; echo survived")
    outcome = run(sandbox, call(hog, bounds=limits(memory_bytes=96 << 20, work_bytes=1 << 30)))
    assert outcome.ended is Ended.SANDBOX_FAILED
    assert "memory" in outcome.reason
    assert "survived" not in text(outcome)


def test_the_work_folder_cannot_outgrow_its_size(sandbox: RunscSandbox) -> None:
    outcome = run(sandbox, call(shell("head -c 64000000 /dev/zero >big; sleep 1; echo survived; exit 1")))
    assert "No space left" in text(outcome) or outcome.ended is Ended.SANDBOX_FAILED


def test_a_sandbox_that_dies_is_a_failure_and_leaves_nothing(sandbox: RunscSandbox) -> None:
    def kill(kernel: str) -> None:
        (container,) = sandbox.runsc.containers()
        os.kill(container.pid, 9)

    outcome = sandbox.run(call(step("sleep", "30")), started=kill, cancelled=threading.Event())
    assert not outcome.succeeded
    assert sandbox.alive() == frozenset()


def test_calls_that_are_not_exact_are_refused(sandbox: RunscSandbox) -> None:
    bad = [
        call(),
        call(step()),
        call(step("-p")),
        call(step("id", "a\0b")),
        call(step("id", cwd="work")),
        call(step("id", cwd="/work/../etc")),
        call(step("id", LD_PRELOAD="/work/evil.so")),
        call(step("id", PATH="/work")),
        call(step("id", credential=True)),
        call(step("id"), files={"../x": b""}),
        call(step("id"), files={"/x": b""}),
        call(step("id"), take_out=(TakeOut(path="a/../b", max_bytes=1),)),
        call(step("id"), files={"x": bytes(33 << 20)}),
        call(step("id"), call_id="../evil"),
        call(step("id"), credential={"a/b": SecretBytes(b"")}),
    ]
    for what in bad:
        with pytest.raises(Refused) as refused:
            run(sandbox, what)
        assert refused.value.refusal.code is Code.SANDBOX_CALL_INVALID
    assert sandbox.alive() == frozenset()


def test_an_image_that_is_not_there_is_refused(sandbox: RunscSandbox) -> None:
    with pytest.raises(Refused) as refused:
        sandbox.image_sha256("nothing")
    assert refused.value.refusal.code is Code.IMAGE_INVALID
    with pytest.raises(Refused):
        sandbox.image_sha256("../tools")


def test_two_calls_with_one_id_do_not_meet(sandbox: RunscSandbox) -> None:
    problems: list[Refused] = []

    def again(kernel: str) -> None:
        try:
            run(sandbox, call(step("id"), call_id="same"))
        except Refused as refused:
            problems.append(refused)

    sandbox.run(call(step("id"), call_id="same"), started=again, cancelled=threading.Event())
    assert [p.refusal.code for p in problems] == [Code.SANDBOX_CALL_INVALID]


def test_several_calls_at_once(sandbox: RunscSandbox) -> None:
    seen: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: seen.append(text(run(sandbox, call(step("printf", str(n)))))))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == ["0", "1", "2", "3"]


def test_scratch_must_be_private_and_in_memory(images: Path, tmp_path: Path) -> None:
    with pytest.raises(NotIsolated, match="on a disk"):
        RunscSandbox(images=images, scratch=tmp_path / "scratch", runsc=runsc_program.find())
    with scratch_folder() as scratch:
        scratch.chmod(0o755)
        with pytest.raises(NotIsolated, match="chmod 0700"):
            RunscSandbox(images=images, scratch=scratch, runsc=runsc_program.find())


def test_runsc_missing_names_the_command(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scratch_folder() as scratch, pytest.raises(Refused) as refused:
        RunscSandbox(images=images, scratch=scratch, runsc=tmp_path / "runsc")
    assert refused.value.refusal.code is Code.PROGRAM_MISSING
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused) as refused:
        runsc_program.find()
    assert "apt-get install -y runsc" in refused.value.refusal.remedy


_IMPOSTOR = """#!/bin/bash
# Says that it is runsc and runs the program on this host's own kernel.
case "$*" in
  --version) echo "runsc version 99"; exit 0 ;;
  *" list "*) echo null; exit 0 ;;
  *" run "*) ;;
  *) exit 0 ;;
esac
for word in "$@"; do case "$word" in --bundle=*) bundle="${word#--bundle=}" ;; esac; done
exec python3 -c 'import json,os,sys
argv=json.load(open(sys.argv[1]+"/config.json"))["process"]["args"]
os.execv("/bin/sh",["/bin/sh",*argv[1:]])' "$bundle"
"""


def test_a_kernel_that_is_not_gvisors_never_runs_the_tool(images: Path, tmp_path: Path) -> None:
    impostor = tmp_path / "runsc"
    impostor.write_text(_IMPOSTOR, encoding="utf-8")
    impostor.chmod(0o755)
    with scratch_folder() as scratch:
        sandbox = RunscSandbox(images=images, scratch=scratch, runsc=impostor)
        outcome = run(sandbox, call(step("touch", str(tmp_path / "ran"))))
        assert outcome.ended is Ended.SANDBOX_FAILED
        assert "not gVisor's" in outcome.reason
        assert outcome.kernel == ""
        assert not (tmp_path / "ran").exists()
        with pytest.raises(NotIsolated) as refused:
            sandbox.check()
        assert refused.value.refusal.code is Code.SANDBOX_NOT_ISOLATED
        assert sandbox.alive() == frozenset()


class TestWithoutPrivileges:
    """The same limits where neither control groups nor mounts may be made: watched by the runner."""

    @pytest.fixture
    def watched(self, images: Path, monkeypatch: pytest.MonkeyPatch) -> RunscSandbox:
        monkeypatch.setattr(runsc_home.sized_folder, "may_mount", lambda folder: False)
        with scratch_folder() as scratch:
            yield RunscSandbox(
                images=images, scratch=scratch, runsc=runsc_program.find(), control_groups_allowed=False
            )

    def test_enforcement_is_named(self, watched: RunscSandbox) -> None:
        assert watched.enforcement()["memory"] == "watched by the runner"
        assert watched.enforcement()["work"] == "watched by the runner"
        assert watched.enforcement()["cpu"].startswith("not limited")

    def test_memory(self, watched: RunscSandbox) -> None:
        hog = shell("head -c 3000000000 /dev/zero >/tmp/hog; echo survived")
        outcome = run(watched, call(hog, bounds=limits(memory_bytes=128 << 20, work_bytes=4 << 30)))
        assert outcome.ended is Ended.SANDBOX_FAILED
        assert "memory" in outcome.reason
        assert watched.alive() == frozenset()

    def test_work(self, watched: RunscSandbox) -> None:
        outcome = run(watched, call(shell("head -c 300000000 /dev/zero >big; sleep 5; echo survived")))
        assert outcome.ended is Ended.SANDBOX_FAILED
        assert "work folder" in outcome.reason
