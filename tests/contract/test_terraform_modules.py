"""The modules under terraform/, by the real Terraform."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from policy import source

ROOT = Path(__file__).resolve().parents[2]
MODULES = ROOT / "terraform"
BUILTIN = ("demo", "platform", "settings")

pytestmark = pytest.mark.skipif(shutil.which("terraform") is None, reason="terraform is not on the PATH")


def terraform(folder: Path, *arguments: str, home: Path) -> str:
    """Runs Terraform with nothing of this machine's own settings."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CHECKPOINT_DISABLE": "1", "TF_INPUT": "0"}
    done = subprocess.run(
        ["terraform", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"terraform {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


@pytest.fixture(name="copy")
def _copy(tmp_path: Path) -> Path:
    shutil.copytree(MODULES, tmp_path / "terraform")
    return tmp_path / "terraform"


def plan(folder: Path, home: Path) -> dict[str, Any]:
    terraform(folder, "plan", "-input=false", "-lock=false", "-no-color", "-out=plan.bin", home=home)
    document: dict[str, Any] = json.loads(terraform(folder, "show", "-json", "plan.bin", home=home))
    return document


def actions(document: dict[str, Any]) -> dict[str, list[str]]:
    return {change["address"]: change["change"]["actions"] for change in document["resource_changes"]}


def applied(copy: Path, name: str, home: Path) -> Path:
    folder = copy / name
    terraform(folder, "init", "-input=false", "-lockfile=readonly", "-no-color", home=home)
    terraform(folder, "validate", "-no-color", home=home)
    plan(folder, home)
    terraform(folder, "apply", "-input=false", "-no-color", "plan.bin", home=home)
    return folder


def test_the_modules_are_formatted(tmp_path: Path) -> None:
    terraform(MODULES, "fmt", "-check", "-recursive", "-diff", home=tmp_path)


def test_one_line_of_a_label_replaces_the_service_and_nothing_else(copy: Path, tmp_path: Path) -> None:
    folder = applied(copy, "demo", tmp_path)
    main = folder / "main.tf"
    before = main.read_text("utf-8")
    after = before.replace('team = "payments"', 'team = "checkout"')
    assert [a != b for a, b in zip(before.splitlines(), after.splitlines(), strict=True)].count(True) == 1
    main.write_text(after, "utf-8")
    document = plan(folder, tmp_path)
    assert actions(document) == {
        "terraform_data.service": ["delete", "create"],
        "terraform_data.route": ["update"],
    }
    (service,) = (c for c in document["resource_changes"] if c["address"] == "terraform_data.service")
    assert service["change"]["replace_paths"] == [["triggers_replace"]]
    terraform(folder, "apply", "-input=false", "-no-color", "plan.bin", home=tmp_path)
    assert set(map(tuple, actions(plan(folder, tmp_path)).values())) == {("no-op",)}


def test_an_edit_of_the_settings_only_updates(copy: Path, tmp_path: Path) -> None:
    folder = applied(copy, "settings", tmp_path)
    main = folder / "main.tf"
    main.write_text(main.read_text("utf-8").replace("Welcome", "Hello"), "utf-8")
    assert actions(plan(folder, tmp_path)) == {"terraform_data.settings": ["update"]}


def test_the_platform_uses_a_module_of_the_repository(copy: Path, tmp_path: Path) -> None:
    folder = applied(copy, "platform", tmp_path)
    assert actions(plan(folder, tmp_path)) == {
        'terraform_data.queue["mail"]': ["no-op"],
        'terraform_data.queue["reports"]': ["no-op"],
    }


@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("demo", set()),
        ("settings", set()),
        ("platform", {"terraform/modules/labels"}),
        ("demo-kubernetes", set()),
    ],
)
def test_the_first_look_takes_each_of_them(name: str, modules: set[str]) -> None:
    files = {str(path.relative_to(ROOT)): path.read_bytes() for path in MODULES.rglob("*.tf")}
    assert source.local_modules(f"terraform/{name}", files) == modules


def test_only_the_kubernetes_module_needs_a_provider() -> None:
    for name in BUILTIN:
        assert "required_providers" not in (MODULES / name / "versions.tf").read_text("utf-8")
    versions = (MODULES / "demo-kubernetes/versions.tf").read_text("utf-8")
    assert '"hashicorp/kubernetes"' in versions
    assert '"~> 1.13"' in versions
