"""The README promises nothing that isn't there: its commands exist and its links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from ownergate.cli import ownergate

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "github_simulator").rglob("*.md")]
)
MAKEFILE = (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    local = [link for link in links if "://" not in link and not link.startswith("mailto:")]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_that_are_named_exist(page: Path) -> None:
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE))
    assert {target for target in named if f"\n{target}:" not in MAKEFILE} == set()


def test_ci_runs_what_the_readme_says() -> None:
    steps = (ROOT / ".ci" / "run").read_text()
    for target in ("test", "check", "demo", "audit", "demo-keep", "down", "bench"):
        assert re.search(rf"(^|\s)make {target}\b", steps, re.MULTILINE), target


def test_the_command_that_the_readme_shows_does_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(
        r"^ownergate (policy explain .*)$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    done = CliRunner().invoke(ownergate, shlex.split(command))
    assert done.exit_code == 0, done.output
    assert "2 owners" in done.output


def test_make_help_lists_every_target() -> None:
    targets = set(re.findall(r"^\.PHONY: ([a-z-]+)$", MAKEFILE, re.MULTILINE))
    described = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
    assert targets == described
