"""The runner's side of Terraform modules and states: names, backend records, hostile state files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy import source
from policy.manifest import TerraformState
from policy.refusal import Code, Refused
from runner import calls, terraform_module, terraform_state
from tests.unit.runner import examples
from tests.unit.runner.examples import APPLY, FILES, POLICY, SOURCE

GOOD = {"version": 4, "serial": 3, "lineage": "abc", "resources": []}
BUILTIN = 'provider["terraform.io/builtin/terraform"]'


def state_of(folder: Path, content: object) -> terraform_state.StateSeen:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "terraform.tfstate").write_text(text)
    return terraform_state.see(folder)


def test_no_state_and_an_empty_file_are_no_state(tmp_path: Path) -> None:
    nothing = terraform_state.StateSeen(made_on=None, providers=frozenset())
    assert terraform_state.see(tmp_path) == nothing
    assert state_of(tmp_path, "") == nothing


def test_lineage_serial_and_providers_are_read(tmp_path: Path) -> None:
    names = [BUILTIN, f"module.a.{BUILTIN}", 'module.a["k"].provider["x.io/y/z"].alias']
    seen = state_of(tmp_path, {**GOOD, "resources": [{"provider": name} for name in names]})
    assert seen.made_on == TerraformState(lineage="abc", serial=3)
    assert seen.providers == {"terraform.io/builtin/terraform", "x.io/y/z"}
    with pytest.raises(Refused) as raised:
        terraform_state.check_providers(seen, ["terraform.io/builtin/terraform"])
    assert raised.value.refusal.code is Code.PLAN_PROVIDER
    assert "x.io/y/z" in raised.value.refusal.what


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "null",
        "[" * 100_000,
        {**GOOD, "version": 3},
        {**GOOD, "serial": "3"},
        {**GOOD, "serial": True},
        {**GOOD, "serial": -1},
        {**GOOD, "lineage": ""},
        {**GOOD, "lineage": 7},
        {key: value for key, value in GOOD.items() if key != "resources"},
        {**GOOD, "resources": [{}]},
        {**GOOD, "resources": [{"provider": "terraform"}]},
        {**GOOD, "resources": [{"provider": ["a"]}]},
        {**GOOD, "resources": 5},
    ],
)
def test_a_state_that_is_none_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(Refused) as raised:
        state_of(tmp_path, content)
    assert raised.value.refusal.code is Code.STATE_INVALID


def test_a_link_in_the_states_place_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(json.dumps(GOOD))
    (tmp_path / "terraform.tfstate").symlink_to(tmp_path / "secret")
    with pytest.raises(Refused) as raised:
        terraform_state.see(tmp_path)
    assert raised.value.refusal.code is Code.STATE_INVALID


def test_a_folder_in_the_states_place(tmp_path: Path) -> None:
    (tmp_path / "terraform.tfstate").mkdir()
    with pytest.raises(Refused):
        terraform_state.see(tmp_path)


def test_no_modules_state_stands_inside_anothers(tmp_path: Path) -> None:
    folders = terraform_state.StateFolders(tmp_path / "states")
    outer, inner = folders.folder("demo", "terraform/a"), folders.folder("demo", "terraform/a/b")
    assert outer.parent == inner.parent
    assert outer != inner != folders.folder("other", "terraform/a/b")


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    folders = terraform_state.StateFolders(tmp_path / "states")
    folder = folders.folder("demo", "terraform/a")
    with folders.writing(folder):
        with pytest.raises(Refused) as raised, folders.writing(folder):
            pass
        assert raised.value.refusal.code is Code.STATE_BUSY
        with folders.writing(folders.folder("demo", "terraform/b")):
            pass
    with folders.writing(folder):
        pass


RECORD = {"backend": {"type": "local", "config": {"path": "/state/terraform.tfstate", "workspace_dir": None}}}


def test_the_backend_that_init_recorded() -> None:
    terraform_module.check_backend(json.dumps(RECORD).encode())


@pytest.mark.parametrize(
    "recorded",
    [
        None,
        b"",
        b"{",
        b"{}",
        b"[]",
        b'{"backend": null}',
        b"[" * 100_000,
        json.dumps({"backend": {**RECORD["backend"], "type": "http"}}).encode(),
        json.dumps({"backend": {"type": "local", "config": {"path": "/work/x"}}}).encode(),
        json.dumps({"backend": {"type": "local", "config": None}}).encode(),
        json.dumps(
            {
                "backend": {
                    "type": "local",
                    "config": {"path": "/state/terraform.tfstate", "workspace_dir": "w"},
                }
            }
        ).encode(),
    ],
)
def test_another_backend(recorded: bytes | None) -> None:
    with pytest.raises(Refused) as raised:
        terraform_module.check_backend(recorded)
    assert raised.value.refusal.code is Code.BACKEND_DIFFERS


@pytest.mark.parametrize(
    "name", ["ownergate_override.tf.json", "errored.tfstate", ".terraform/terraform.tfstate", ".terraform/x"]
)
def test_a_source_with_a_name_that_is_not_its_own(name: str) -> None:
    bad = source.archive("terraform/web", {**FILES, f"terraform/web/{name}": b"{}"})
    with pytest.raises(Refused) as raised:
        calls.work_files(APPLY, bad, {})
    assert raised.value.refusal.code is Code.SOURCE_INVALID


def test_the_work_folder_of_an_apply() -> None:
    files = calls.work_files(APPLY, SOURCE, {"plan.bin": b"plan"})
    assert set(files) == {
        "src/terraform/web/.terraform.lock.hcl",
        "src/terraform/web/main.tf",
        "src/terraform/web/ownergate_override.tf.json",
        "src/terraform/web/plan.bin",
    }
    assert json.loads(files["src/terraform/web/ownergate_override.tf.json"]) == {
        "terraform": {"backend": {"local": {"path": "/state/terraform.tfstate"}}}
    }


def test_a_saved_plan_is_the_runners_not_the_sources() -> None:
    bad = source.archive("terraform/web", {**FILES, "terraform/web/plan.bin": b"mine"})
    files = calls.work_files(APPLY, bad, {"plan.bin": b"approved"})
    assert files["src/terraform/web/plan.bin"] == b"approved"


def test_what_an_apply_runs_is_whole() -> None:
    execution = examples.EXECUTION
    assert [step.argv[1] for step in execution.steps] == ["init", "apply"]
    assert [step.lease for step in execution.steps] == [False, True]
    for step in execution.steps:
        assert step.cwd == "/work/src/terraform/web"
        assert step.environment == {
            "CHECKPOINT_DISABLE": "1",
            "TF_IN_AUTOMATION": "1",
            "TF_INPUT": "0",
            "TF_VAR_REGION": "north",
        }
    assert execution.providers_lock is not None
    assert execution.timeout_seconds == 60


def test_a_tool_without_source_starts_in_the_work_folder() -> None:
    tool: Any = POLICY.tool("report")
    execution = calls.execution(tool, {}, source=None, image_sha256="2" * 64)
    assert execution.steps[0].cwd == "/work"
    assert execution.steps[0].environment == {}
    assert execution.providers_lock is None
