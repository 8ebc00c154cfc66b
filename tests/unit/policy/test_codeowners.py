"""CODEOWNERS by GitHub's rules: a table of files, paths and owners."""

from __future__ import annotations

import time

import pytest

from policy import codeowners
from policy.codeowners import InvalidLine, Owned, Rule, Uncertain, Unowned

NOBODY: tuple[str, ...] = ()
DOUBT = "uncertain"

# Each row: the file, a path, and its owners; `DOUBT` where an invalid line might have been meant.
TABLE: list[tuple[str, str, tuple[str, ...] | str]] = [
    # The examples of GitHub's own page.
    ("* @global-owner1 @global-owner2", "a/b.c", ("@global-owner1", "@global-owner2")),
    ("* @g\n*.js @js", "a.js", ("@js",)),
    ("* @g\n*.js @js", "x/y/a.js", ("@js",)),
    ("* @g\n*.js @js", "a.py", ("@g",)),
    ("*.js @js #This is an inline comment.", "a.js", ("@js",)),
    ("*.go docs@example.com", "a/b.go", ("docs@example.com",)),
    ("*.txt @octo-org/octocats", "a.txt", ("@octo-org/octocats",)),
    ("/build/logs/ @d", "build/logs/a/b", ("@d",)),
    ("/build/logs/ @d", "x/build/logs/a", NOBODY),
    ("docs/* @d", "docs/getting-started.md", ("@d",)),
    ("docs/* @d", "docs/build-app/troubleshooting.md", NOBODY),
    ("docs/* @d", "x/docs/a", NOBODY),
    ("apps/ @o", "apps/a", ("@o",)),
    ("apps/ @o", "x/apps/a/b", ("@o",)),
    ("apps/ @o", "apps", NOBODY),
    ("/docs/ @d", "docs/a/b", ("@d",)),
    ("/scripts/ @d @o", "scripts/x", ("@d", "@o")),
    ("**/logs @o", "build/logs/x", ("@o",)),
    ("**/logs @o", "logs/x", ("@o",)),
    ("**/logs @o", "deeply/nested/logs", ("@o",)),
    ("**/logs @o", "logsx", NOBODY),
    ("/apps/ @o\n/apps/github", "apps/main", ("@o",)),
    ("/apps/ @o\n/apps/github", "apps/github", NOBODY),
    ("/apps/ @o\n/apps/github", "apps/github/x", NOBODY),
    ("/apps/ @o\n/apps/github @d", "apps/github/x", ("@d",)),
    # Which line wins.
    ("/a.txt @A\n/a.txt @B", "a.txt", ("@B",)),
    ("/a/** @d\n/a/b/* @e", "a/b/c", ("@e",)),
    ("/a/** @d\n/a/b/* @e", "a/b/c/d", ("@d",)),
    ("*.tf @t\n* @g", "a.tf", ("@g",)),
    # Stars and question marks.
    ("/docs/**/x.md @d", "docs/x.md", ("@d",)),
    ("/docs/**/x.md @d", "docs/a/b/x.md", ("@d",)),
    ("/docs/** @d", "docs/a/b", ("@d",)),
    ("/docs/** @d", "docs", NOBODY),
    ("docs/**/ @d", "docs/a", NOBODY),
    ("docs/**/ @d", "docs/a/b", ("@d",)),
    ("/docs/**/* @d", "docs/a/b/c", ("@d",)),
    ("foo/**bar @d", "foo/xbar", ("@d",)),
    ("foo/**bar @d", "foo/a/xbar", NOBODY),
    ("/foo/*/bar @d", "foo/a/bar", ("@d",)),
    ("/foo/*/bar @d", "foo/a/b/bar", NOBODY),
    ("/foo/*/ @d", "foo/a", NOBODY),
    ("/foo/*/ @d", "foo/a/b/c", ("@d",)),
    ("/foo/b* @d", "foo/bar/x", ("@d",)),
    ("/* @d", "a", ("@d",)),
    ("/* @d", "a/b", NOBODY),
    ("/** @d", "a/b", ("@d",)),
    ("** @d", "a/b", ("@d",)),
    ("**/ @d", "a", NOBODY),
    ("**/ @d", "a/b", ("@d",)),
    ("*/ @d", "a/b/c", ("@d",)),
    ("**/* @d", "a", ("@d",)),
    ("a/**/**/b @d", "a/b", ("@d",)),
    ("file? @q", "file1", ("@q",)),
    ("file? @q", "file12", NOBODY),
    ("a?b @q", "a/b", NOBODY),
    ("*a*b*c @q", "x/_a_b_b_c", ("@q",)),
    ("*a*b*c @q", "x/_a_c_b", NOBODY),
    # Anchors, folders, case.
    ("/dir @d", "dir/x", ("@d",)),
    ("/dir @d", "dir", ("@d",)),
    ("/dir @d", "dirx", NOBODY),
    ("/dir @d", "x/dir", NOBODY),
    ("dir @d", "x/dir/y", ("@d",)),
    ("a/b @d", "x/a/b", NOBODY),
    ("a/b/ @d", "a/b", NOBODY),
    ("/Docs/ @d", "docs/a", NOBODY),
    ("/Docs/ @d", "Docs/a", ("@d",)),
    ("/ @d", "a", NOBODY),
    ("/ @d", "a/b/c", NOBODY),
    (".hidden @d", "a/.hidden", ("@d",)),
    ("* @d", ".hidden", ("@d",)),
    # Blanks, escapes, comments, line ends, byte order mark.
    (r"/path\ with\ space/ @s", "path with space/a", ("@s",)),
    (r"my\ file.txt @s", "my file.txt", ("@s",)),
    (r"my\ file.txt @s", "a/my file.txt", ("@s",)),
    ("my file.txt", "my", DOUBT),
    (r"a\*b @s", "a*b", ("@s",)),
    (r"a\*b @s", "axb", NOBODY),
    (r"a\?b @s", "a?b", ("@s",)),
    (r"a\\b @s", "a\\b", ("@s",)),
    (r"a\\ @s", "a\\", ("@s",)),
    ("*.js @js # ask @boss or x@y.z", "a.js", ("@js",)),
    ("*.js @js #@boss", "a.js", ("@js",)),
    ("* @g\n*.js #@boss", "a.js", NOBODY),
    ("a#b @s", "a#b", ("@s",)),
    ("#* @g", "a", NOBODY),
    ("  # note\n* @g", "a", ("@g",)),
    ("*.md @d\r\n* @g\r\n", "a.md", ("@g",)),
    ("*\t@g\t\t@h", "x", ("@g", "@h")),
    (" \t* @g \t", "a", ("@g",)),
    ("\ufeff* @g", "x", ("@g",)),
    ("\n\n* @g\n\n", "x", ("@g",)),
    ("/é/ @g", "é/x", ("@g",)),
    ("/é/ @g", "e\u0301/x", NOBODY),
    ("a\u2028b @g", "a\u2028b", ("@g",)),
    # Names of owners.
    ("* @a-b_c", "x", ("@a-b_c",)),
    ("* @Org/Team.name_1-x", "x", ("@Org/Team.name_1-x",)),
    ("* a.b+c@mail.example.com", "x", ("a.b+c@mail.example.com",)),
    ("* @@x", "a", DOUBT),
    ("* @", "a", DOUBT),
    ("* @-x", "a", DOUBT),
    ("* @a/b/c", "a", DOUBT),
    ("* @a/", "a", DOUBT),
    ("* @dependabot[bot]", "a", DOUBT),
    ("* name", "a", DOUBT),
    ("* a@", "a", DOUBT),
    ("* a@b@c", "a", DOUBT),
    ("* @js,@ts", "a", DOUBT),
    ("* @js#comment", "a", DOUBT),
    # What GitHub skips: no certain owner where the line may have been meant, untouched elsewhere.
    ("* @g\n*.py not-an-owner", "a.py", DOUBT),
    ("* @g\n*.py not-an-owner", "a.js", ("@g",)),
    ("* @g\n*.py @ok not-an-owner", "a.py", DOUBT),
    ("*.py not-an-owner\n* @g", "a.py", ("@g",)),
    ("* @g\n[abc].txt @c", "a.txt", DOUBT),
    ("* @g\n[abc].txt @c", "[abc].txt", DOUBT),
    ("* @g\n[abc].txt @c", "ab.txt", ("@g",)),
    ("* @g\n" + r"\[abc\].txt @c", "[abc].txt", DOUBT),
    ("/x[ @d\n* @g", "a", ("@g",)),
    ("* @g\n/x[ @d", "a", DOUBT),
    ("* @g\nx] @d", "a", DOUBT),
    ("* @g\n[] @d", "a", DOUBT),
    ("* @g\n!secret.txt @n", "secret.txt", DOUBT),
    ("* @g\n!secret.txt @n", "!secret.txt", DOUBT),
    ("* @g\n!secret.txt @n", "other.txt", ("@g",)),
    ("* @g\n! @n", "a", DOUBT),
    ("* @g\n!x\\y @n", "a", DOUBT),
    ("* @g\n\\#x @n", "#x", DOUBT),
    ("* @g\n\\#x @n", "x", ("@g",)),
    ("* @g\n\\!x @n", "!x", DOUBT),
    ("* @g\n\\!x @n", "x", ("@g",)),
    ("* @g\nsrc\\app @n", "a", DOUBT),
    ("* @g\n" + "x\\", "a", DOUBT),
    ("* @g\na//b @n", "a", DOUBT),
    ("* @g\na*** @n", "a", DOUBT),
    ("* @g\na\x01b @n", "a", DOUBT),
    ("* @g\na\x7fb @n", "a", DOUBT),
    ("* @g\n*.js @js\r*.py @py", "a.js", DOUBT),
    ("* @g\n[Section]\n*.py @p", "a.py", ("@p",)),
    ("* @g\n[Section]\n*.py @p", "a.js", ("@g",)),
    ("* @g\n^[Section][2] @p", "ab.js", ("@g",)),
    # Folders: a path that ends with a slash is whatever stands in it.
    ("/terraform/web/ @w", "terraform/web/", ("@w",)),
    ("/terraform/web @w", "terraform/web/", ("@w",)),
    ("/terraform/web/* @w", "terraform/web/", ("@w",)),
    ("/terraform/web/** @w", "terraform/web/", ("@w",)),
    ("/terraform/* @w", "terraform/web/", NOBODY),
    ("* @g\n*.tf @t", "terraform/web/", ("@g",)),
    ("* @g\n/terraform/web/???? @t", "terraform/web/", ("@g",)),
    ("* @g\n/terraform/web/main.tf @t", "terraform/web/", ("@g",)),
    ("/terraform/web/deep/ @w", "terraform/web/", NOBODY),
    ("terraform/ @w", "terraform/web/", ("@w",)),
]


@pytest.mark.parametrize(("text", "path", "expected"), TABLE)
def test_owners_of_a_path(text: str, path: str, expected: tuple[str, ...] | str) -> None:
    match codeowners.match(codeowners.parse(text.encode()), path):
        case Owned() as owned:
            assert owned.owners == expected
        case Unowned():
            assert expected == NOBODY
        case Uncertain():
            assert expected == DOUBT


def test_the_answer_names_the_line() -> None:
    file = codeowners.parse(b"# first\n* @g\n\n/a/\n/b/ @x oops\n")
    assert codeowners.match(file, "c") == Owned(line=2, pattern="*", owners=("@g",))
    assert codeowners.match(file, "a/c") == Unowned(line=4)
    assert codeowners.match(file, "b/c") == Uncertain(
        line=5, reason="'oops' is no @user, @org/team or e-mail address"
    )
    assert codeowners.match(codeowners.parse(b""), "a") == Unowned(line=None)


def test_valid_and_invalid_lines_are_kept_apart() -> None:
    file = codeowners.parse(b"* @g\n!x @y\n*.js @js\n")
    assert [(rule.line, rule.pattern, rule.owners) for rule in file.rules] == [
        (1, "*", ("@g",)),
        (3, "*.js", ("@js",)),
    ]
    assert [(line.line, line.text, line.reason) for line in file.invalid] == [
        (2, "!x @y", "a pattern that starts with ! does not work")
    ]
    assert [type(line) for line in file.lines] == [Rule, InvalidLine, Rule]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"a\x01b @g", "the pattern holds a control character"),
        (b"a//b @g", "the pattern holds an empty folder name"),
        (b"*** @g", "the pattern holds three asterisks in a row"),
        (b"\\#a @g", "a pattern that starts with \\# does not work"),
        (b"\\!a @g", "a pattern that starts with \\! does not work"),
        (b"a[b]c @g", "[ ] does not work in a pattern"),
        (b"a\\bc @g", "the backslash before b has no certain meaning"),
        (b"a\\", "the backslash before the end has no certain meaning"),
        (b"a @g\xff", "the line is not UTF-8"),
    ],
)
def test_invalid_lines_say_what_is_wrong(line: bytes, reason: str) -> None:
    (invalid,) = codeowners.parse(line).invalid
    assert invalid.reason == reason


def test_a_line_that_is_not_utf8_may_have_meant_anything() -> None:
    file = codeowners.parse(b"* @g\n/caf\xe9/ @x\n")
    assert codeowners.match(file, "a") == Uncertain(line=2, reason="the line is not UTF-8")
    assert file.invalid[0].text == "/caf\\xe9/ @x"


def test_a_file_of_three_megabytes_owns_nothing_for_certain() -> None:
    just_under = b"* @g\n#".ljust(codeowners.SIZE_LIMIT - 1, b"x")
    assert isinstance(codeowners.match(codeowners.parse(just_under), "a"), Owned)
    doubt = codeowners.match(codeowners.parse(just_under + b"x"), "a")
    assert doubt == Uncertain(line=1, reason="the file is 3 MB or larger and GitHub ignores it")


def test_the_text_of_a_long_invalid_line_is_cut() -> None:
    (invalid,) = codeowners.parse(b"!" + b"x" * 5000).invalid
    assert len(invalid.text) == 200


def test_kinds_of_owners_are_told_apart() -> None:
    assert [codeowners.is_team(name) for name in ("@a", "@a/b", "a@b.c")] == [False, True, False]
    assert [codeowners.is_email(name) for name in ("@a", "@a/b", "a@b.c")] == [False, False, True]


def test_a_monorepo_is_matched_fast() -> None:
    text = "\n".join(f"/modules/m{number}/ @acme/team-{number}" for number in range(5000))
    start = time.process_time()
    file = codeowners.parse(text.encode())
    for number in range(0, 5000, 50):
        assert codeowners.match(file, f"modules/m{number}/main.tf") == Owned(
            line=number + 1, pattern=f"/modules/m{number}/", owners=(f"@acme/team-{number}",)
        )
    assert time.process_time() - start < 2


def test_no_pattern_takes_exponential_time() -> None:
    hostile = "**/" * 40 + "a*" * 40 + "b @g"
    start = time.process_time()
    file = codeowners.parse(hostile.encode())
    assert codeowners.match(file, "/".join(["a" * 60] * 40)) == Unowned(line=None)
    assert time.process_time() - start < 2
