"""Control groups: found in both versions' layouts, tried before they are believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.sandbox.limits import control_groups
from tests.sandboxes import LIMITS

V1_OWN = "9:pids:/\n4:memory:/service/a\n2:cpu,cpuacct:/x\n0::/\n"


def test_version_1_places_its_groups_below_the_runners_own(tmp_path: Path) -> None:
    mounts = "\n".join(
        f"cgroup {tmp_path}/{name} cgroup rw,relatime,{options} 0 0"
        for name, options in (("memory", "memory"), ("cpu", "cpu,cpuacct"), ("pids", "pids"))
    )
    mounted = control_groups._mounted(mounts)
    found = control_groups._version_1(mounted, V1_OWN)
    assert found is not None
    assert found.parents == {
        "memory": tmp_path / "memory/service/a/ownergate",
        "cpu": tmp_path / "cpu/x/ownergate",
        "pids": tmp_path / "pids/ownergate",
    }


def test_version_2_places_its_group_beside_the_runners_own(tmp_path: Path) -> None:
    mounted = control_groups._mounted(f"cgroup2 {tmp_path} cgroup2 rw,nsdelegate 0 0")
    found = control_groups._version_2(mounted, "0::/user.slice/app.slice/runner.service\n")
    assert found is not None
    assert set(found.parents.values()) == {tmp_path / "user.slice/app.slice/ownergate"}
    at_root = control_groups._version_2(mounted, "0::/\n")
    assert at_root is not None
    assert set(at_root.parents.values()) == {tmp_path / "ownergate"}


def test_version_2_writes_its_own_files(tmp_path: Path) -> None:
    parents = dict.fromkeys(("memory", "cpu", "pids"), tmp_path)
    hold = control_groups.ControlGroups(control_groups.V2, parents).hold("call.0", LIMITS)
    hold.tool_starts()
    (tmp_path / "call.0/memory.events").write_text("low 0\noom 1\noom_kill 0\n", encoding="ascii")
    written = {path.name: path.read_text(encoding="ascii") for path in (tmp_path / "call.0").iterdir()}
    assert written["memory.max"] == str(LIMITS.memory_bytes)
    assert written["memory.swap.max"] == "0"
    assert written["cpu.max"] == "200000 100000"
    assert int(written["pids.max"]) > LIMITS.processes
    assert hold.entry() == (tmp_path / "call.0/cgroup.procs",)
    assert hold.exceeded(0) is None
    (tmp_path / "call.0/memory.events").write_text("oom 1\noom_kill 2\n", encoding="ascii")
    assert "memory" in str(hold.exceeded(0))


def test_a_place_where_groups_do_not_work_is_not_believed(tmp_path: Path) -> None:
    # Plain folders take the values but are no control groups: nobody can join them.
    mounts = f"cgroup2 {tmp_path} cgroup2 rw 0 0\n"
    (tmp_path / "cgroup.subtree_control").touch()
    assert control_groups.usable(mounts, "0::/\n") is None
    assert control_groups.usable("", "") is None


def test_what_is_found_here_really_limits() -> None:
    groups = control_groups.usable()
    if groups is None:
        pytest.skip("no control group may be made on this machine")
    hold = groups.hold("test.0", LIMITS)
    try:
        assert hold.remaining() == frozenset()
        assert all(path.exists() for path in hold.entry())
        assert groups.processes("test.") == frozenset()
    finally:
        hold.release()
    assert not any(path.parent.exists() for path in hold.entry())
