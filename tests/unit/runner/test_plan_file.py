"""What a saved plan says about its backend and its configuration, on plans that Terraform really made."""

from __future__ import annotations

import io
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from policy.refusal import Code, Refused
from runner import plan_file, terraform_module

MAIN = b'resource "terraform_data" "a" { input = 1 }\n'


def planned(folder: Path, override: bytes) -> bytes:
    """A plan of `MAIN` with a backend override, made by the Terraform of this machine."""
    program = shutil.which("terraform")
    if program is None:
        pytest.skip("terraform is not on this machine")
    (folder / "main.tf").write_bytes(MAIN)
    (folder / terraform_module.OVERRIDE_FILE).write_bytes(override)
    environment = {"CHECKPOINT_DISABLE": "1", "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    for arguments in (["init"], ["plan", "-lock=false", "-out=plan.bin"]):
        command = [program, *arguments, "-input=false", "-no-color"]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return (folder / "plan.bin").read_bytes()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return planned(tmp_path_factory.mktemp("good"), terraform_module.override())


KNOWN = (MAIN, terraform_module.override())


def test_a_plan_on_the_policys_state_passes(good: bytes) -> None:
    plan_file.check(good, configuration=KNOWN)


@pytest.mark.parametrize(
    "override",
    [
        b'{"terraform": {"backend": {"local": {"path": "/work/other.tfstate"}}}}',
        b'{"terraform": {"backend": {"local": {"path": "/state/terraform.tfstate", "workspace_dir": "w"}}}}',
        b"{}",
    ],
)
def test_a_plan_on_another_state(tmp_path: Path, override: bytes) -> None:
    with pytest.raises(Refused) as raised:
        plan_file.check(planned(tmp_path, override), configuration=(*KNOWN, override))
    assert raised.value.refusal.code is Code.BACKEND_DIFFERS


def test_a_plan_of_another_configuration(good: bytes) -> None:
    with pytest.raises(Refused) as raised:
        plan_file.check(good, configuration=(terraform_module.override(),))
    assert raised.value.refusal.code is Code.SOURCE_DIFFERS
    assert "tfconfig/m-/main.tf" in raised.value.refusal.what


def repacked(plan: bytes, change: Callable[[str, bytes], bytes | None], *, twice: str | None = None) -> bytes:
    """The archive anew, each part changed (None leaves it out)."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plan)) as source, zipfile.ZipFile(target, "w") as fresh:
        for entry in source.infolist():
            content = change(entry.filename, source.read(entry))
            if content is not None:
                fresh.writestr(entry.filename, content)
            if entry.filename == twice:
                with pytest.warns(UserWarning, match="Duplicate name"):
                    fresh.writestr(entry.filename, b"")
    return target.getvalue()


def only_plan(change: Callable[[bytes], bytes | None]) -> Callable[[str, bytes], bytes | None]:
    return lambda name, content: change(content) if name == "tfplan" else content


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda plan: b"",
    "no archive": lambda plan: b"PK" + bytes(100),
    "cut": lambda plan: plan[: len(plan) // 2],
    "without the plan": lambda plan: repacked(plan, only_plan(lambda content: None)),
    "the plan cut": lambda plan: repacked(plan, only_plan(lambda content: content[:-1])),
    "a field of an unknown kind": lambda plan: repacked(plan, only_plan(lambda content: content + b"\x07")),
    "an endless number": lambda plan: repacked(plan, only_plan(lambda content: content + b"\xff" * 12)),
    "a part twice": lambda plan: repacked(plan, lambda name, content: content, twice="tfplan"),
    "too large": lambda plan: repacked(plan, only_plan(lambda content: bytes(plan_file.LARGEST_UNPACKED))),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cant_be_read_is_refused(good: bytes, name: str) -> None:
    with pytest.raises(Refused) as raised:
        plan_file.check(BROKEN[name](good), configuration=KNOWN)
    assert raised.value.refusal.code is Code.PLAN_INVALID


def test_a_second_backend_is_refused(good: bytes) -> None:
    """A reader of protocol buffers takes the last of two fields; here both are seen."""
    other = b"\x6a\x07\x0a\x05local"
    for change in (lambda content: content + other, lambda content: other + content):
        with pytest.raises(Refused) as raised:
            plan_file.check(repacked(good, only_plan(change)), configuration=KNOWN)
        assert raised.value.refusal.code is Code.BACKEND_DIFFERS
