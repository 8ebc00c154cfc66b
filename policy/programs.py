"""Programs that a tool must not run, because their arguments are programs in turn.

An argv says what happens only if the first element is what happens. A shell, or a program that starts
another one, would make a list of arguments into code again.
"""

from __future__ import annotations

import re
from typing import Final

from policy.policy_errors import Mistake

SHELLS: Final = frozenset(
    {"ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "nu", "pwsh", "rbash", "sh"}
    | {"tcsh", "toybox", "yash", "zsh"}
)
"""Shells, and the multi-call programs that hold one."""

STARTERS: Final = frozenset(
    {"chroot", "command", "doas", "env", "eval", "exec", "expect", "fakeroot", "flock", "gdb", "ionice"}
    | {"ltrace", "nice", "nohup", "nsenter", "parallel", "proot", "runuser", "script", "setarch", "setpriv"}
    | {"setsid", "ssh", "start-stop-daemon", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset"}
    | {"time", "timeout", "unshare", "watch", "xargs"}
)
"""Programs that start the program named in their arguments."""

_INTERPRETER: Final = re.compile(r"(?:awk|gawk|mawk|lua|node|nodejs|perl|php|python|ruby|tclsh)[0-9.]*")
_INLINE_CODE: Final = re.compile(r"-[A-Za-z]*[ceEp]|--eval(?:=.*)?|--print(?:=.*)?|--exec(?:=.*)?", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")

_PROGRAM: Final = "a name such as terraform, or a path under /usr, /bin or /opt"
_RULE: Final = "a program that does the work itself; an argv is never a shell line"


def problem(argv: tuple[str, ...]) -> Mistake | None:
    """What is wrong with the program of an argv of templates, at the element's index; None for nothing."""
    program = argv[0]
    name = program.rsplit("/", 1)[-1]
    if "{" in program or "}" in program:
        return Mistake((0,), "the program's name holds a placeholder", "a fixed program")
    if _NAME.fullmatch(name) is None:
        return Mistake(
            (0,), f"{program!a} is no program's name", "a name, or a path under /usr, /bin or /opt"
        )
    if "/" in program and not _is_system_path(program):
        what = f"{program!a} may be a file of the call"
        return Mistake((0,), what, _PROGRAM)
    base = re.sub(r"[0-9.]+$", "", name) or name
    if name in SHELLS or base in SHELLS:
        return Mistake((0,), f"{name} is a shell", _RULE)
    if name in STARTERS or base in STARTERS:
        return Mistake((0,), f"{name} starts other programs", _RULE)
    if name == "find":
        return _first(argv, re.compile(r"-(?:exec|execdir|ok|okdir)"), "find starts other programs with it")
    if _INTERPRETER.fullmatch(name):
        return _inline_code(argv, name)
    return None


def _is_system_path(path: str) -> bool:
    folders = ("/usr/", "/bin/", "/sbin/", "/opt/")
    return path.startswith(folders) and "//" not in path and not {".", ".."} & set(path.split("/"))


def _inline_code(argv: tuple[str, ...], name: str) -> Mistake | None:
    if name.rstrip("0123456789.") in ("awk", "gawk", "mawk"):
        return Mistake((0,), f"{name} takes a program as its argument", _RULE)
    return _first(argv, _INLINE_CODE, f"{name} takes a program in this argument")


def _first(argv: tuple[str, ...], form: re.Pattern[str], what: str) -> Mistake | None:
    for index, element in enumerate(argv[1:], start=1):
        if form.fullmatch(element):
            return Mistake((index,), what, _RULE)
    return None
