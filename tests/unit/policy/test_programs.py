"""Programs that would make arguments into code."""

from __future__ import annotations

import pytest

from policy import programs


@pytest.mark.parametrize(
    "argv",
    [
        ("terraform", "apply"),
        ("kubectl", "get", "pods"),
        ("/usr/bin/cat", "/proc/version"),
        ("python3", "/opt/tool.py", "{x}"),
        ("find", "/work", "-name", "{x}"),
        ("sha256sum", "-c"),
        ("g++-12",),
    ],
)
def test_programs_that_do_the_work_themselves_pass(argv: tuple[str, ...]) -> None:
    assert programs.problem(argv) is None


@pytest.mark.parametrize(
    ("argv", "index", "what"),
    [
        (("sh", "-c", "x"), 0, "sh is a shell"),
        (("/bin/sh", "-c", "x"), 0, "sh is a shell"),
        (("bash5.2",), 0, "is a shell"),
        (("busybox", "sh"), 0, "busybox is a shell"),
        (("toybox", "nc"), 0, "toybox is a shell"),
        (("env", "sh"), 0, "env starts other programs"),
        (("/usr/bin/env", "A=b", "terraform"), 0, "env starts other programs"),
        (("xargs", "rm"), 0, "xargs starts other programs"),
        (("timeout", "5", "terraform"), 0, "timeout starts other programs"),
        (("sudo", "terraform"), 0, "sudo starts other programs"),
        (("find", "/", "-exec", "rm"), 2, "starts other programs with it"),
        (("find", "/", "-okdir", "rm"), 2, "starts other programs with it"),
        (("python3", "-c", "print()"), 1, "takes a program in this argument"),
        (("python3.11", "-Bc", "print()"), 1, "takes a program in this argument"),
        (("perl", "-we", "1"), 1, "takes a program in this argument"),
        (("node", "--eval=1"), 1, "takes a program in this argument"),
        (("awk", "{x}"), 0, "awk takes a program as its argument"),
        (("{program}", "x"), 0, "holds a placeholder"),
        (("terra{x}",), 0, "holds a placeholder"),
        (("./run.sh",), 0, "may be a file of the call"),
        (("scripts/run",), 0, "may be a file of the call"),
        (("/work/terraform",), 0, "may be a file of the call"),
        (("/usr/../work/x",), 0, "may be a file of the call"),
        (("",), 0, "is no program's name"),
        (("-x",), 0, "is no program's name"),
        (("terraform apply",), 0, "is no program's name"),
        (("/usr/bin/",), 0, "is no program's name"),
        (("tér",), 0, "is no program's name"),
    ],
)
def test_any_other_program_is_refused_at_its_element(argv: tuple[str, ...], index: int, what: str) -> None:
    wrong = programs.problem(argv)
    assert wrong is not None
    assert wrong.where == (index,)
    assert what in wrong.what
