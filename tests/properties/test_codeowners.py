"""CODEOWNERS against git's own ignore rules, where both agree, and against any input."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policy import codeowners
from policy.codeowners import Owned, Rule, Uncertain, Unowned

NAMES = st.text(alphabet="ab.", min_size=1, max_size=3).filter(lambda name: name not in {".", ".."})
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PARTS = st.one_of(st.just("**"), st.just("*"), st.text(alphabet="ab.*?", min_size=1, max_size=4))
PATTERNS = st.builds(
    lambda start, parts, end: start + "/".join(parts) + end,
    st.sampled_from(["", "/"]),
    st.lists(PARTS, min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
)
LINES = st.builds(
    lambda pattern, owners: f"{pattern} {owners}",
    st.one_of(PATTERNS, st.text(alphabet="ab*?/[]!\\# \t", min_size=1, max_size=6)),
    st.sampled_from(["", "@g", "@a @b", "@o/t", "x@y.z", "oops", "# @c"]),
)


@functools.cache
def empty_repository() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="codeowners-"))
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    return folder


def ignored_by_git(pattern: str, paths: list[str]) -> set[str]:
    folder = empty_repository()
    (folder / ".git" / "info" / "exclude").write_text(pattern + "\n")
    answer = subprocess.run(
        ["git", "-C", folder, "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join(paths).encode(),
        capture_output=True,
        check=False,
    )
    assert answer.returncode in {0, 1}, answer.stderr
    return set(answer.stdout.decode().split("\0")) - {""}


@settings(max_examples=100, deadline=None)
@given(pattern=PATTERNS, paths=st.lists(PATHS, min_size=1, max_size=30, unique=True))
def test_a_pattern_matches_what_git_ignores(pattern: str, paths: list[str]) -> None:
    file = codeowners.parse(f"{pattern} @g".encode())
    assume(isinstance(file.lines[0], Rule))
    # GitHub's exception: a folder and a last `*` do not reach into folders.
    assume(not pattern.endswith("/*"))
    owned = {path for path in paths if isinstance(codeowners.match(file, path), Owned)}
    assert owned == ignored_by_git(pattern, paths)


@given(text=st.one_of(st.binary(max_size=200), st.lists(LINES).map(lambda lines: "\n".join(lines).encode())))
def test_any_file_can_be_read_and_asked(text: bytes) -> None:
    file = codeowners.parse(text)
    for path in ("a", "a/b", "a/b/", ""):
        assert isinstance(codeowners.match(file, path), Owned | Unowned | Uncertain)


@given(above=st.lists(LINES, max_size=5), below=st.lists(LINES, min_size=1, max_size=5), path=PATHS)
def test_lines_above_never_change_what_lines_below_decide(
    above: list[str], below: list[str], path: str
) -> None:
    alone = codeowners.match(codeowners.parse("\n".join(below).encode()), path)
    together = codeowners.match(codeowners.parse("\n".join([*above, *below]).encode()), path)
    if alone != Unowned(line=None):
        assert type(together) is type(alone)
        assert together.line == (alone.line or 0) + len(above)


@given(lines=st.lists(LINES, max_size=8), path=PATHS)
def test_an_owner_always_comes_from_a_valid_line_that_matches(lines: list[str], path: str) -> None:
    file = codeowners.parse("\n".join(lines).encode())
    match codeowners.match(file, path):
        case Owned() as owned:
            (rule,) = [rule for rule in file.rules if rule.line == owned.line]
            assert rule.owners == owned.owners != ()
            assert rule.matcher.matches(path)
            assert not any(later.matcher.matches(path) for later in file.rules if later.line > rule.line)
        case _:
            pass
