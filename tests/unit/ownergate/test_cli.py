"""The command line: help, near names, errors as sentences, and that nothing is imported too early."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import click
import pytest

from ownergate import cli

OWNERGATE = str(Path(sys.executable).with_name("ownergate"))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([OWNERGATE, *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_help_names_every_command_with_its_line() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    for name, (_, line) in cli.COMMANDS.items():
        assert f"  {name} " in shown.stdout
        assert line in shown.stdout


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_an_example_or_subcommands(name: str) -> None:
    module, _, attribute = cli.COMMANDS[name][0].partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert isinstance(command, click.Command)
    assert command.help
    assert "Example" in (command.epilog or "")


def test_help_imports_none_of_the_deployables() -> None:
    program = (
        "import sys\nfrom ownergate import cli\n"
        "try:\n    cli.ownergate(['--help'], standalone_mode=False)\nexcept BaseException: pass\n"
        "heavy = {'bot', 'runner', 'mcp_server', 'evidence', 'policy', 'mcp', 'fastapi', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_a_misspelt_command_gets_the_nearest_one() -> None:
    done = run("polcy", "check")
    assert done.returncode == 2
    assert "Did you mean 'policy'?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("bot", "run", "--config", "/nothing/bot.yaml"), "/nothing/bot.yaml"),
        (("runner", "--config", "/nothing/runner.yaml"), "/nothing/runner.yaml"),
        (("mcp", "--bot-url", "http://127.0.0.1:9", "--token-file", "/nothing/token"), "/nothing/token"),
        (("mcp", "--bot-url", "http://127.0.0.1:9"), "--token-file"),
        (("mcp", "--bot-url", "http://127.0.0.1:9", "--http", "8500"), "HOST:PORT"),
        (("policy", "check", "--policy", "/nothing/policy.yaml"), "/nothing/policy.yaml"),
        (("policy", "explain", "terraform_aply"), "Did you mean terraform_apply?"),
        (("audit", "verify"), "--export"),
        (("audit", "show", "--export", "/nothing"), "/nothing"),
        (("requests", "list", "--bot-url", "http://127.0.0.1:9", "--token-file", "/nothing"), "/nothing"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_what_is_missing_is_named_in_a_sentence_without_a_traceback(
    arguments: tuple[str, ...], says: str
) -> None:
    done = run(*arguments)
    assert done.returncode != 0
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_without_words_is_still_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(cli.ownergate, "main", broken)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "KeyError" in capsys.readouterr().err
