"""The simulator's own reading of CODEOWNERS, case by case as GitHub documents it."""

import pytest

from github_simulator import codeowners
from tests.unit.github_simulator.conftest import Acme

CASES = [
    ("*", "a.txt", True),
    ("*", "deep/er/a.txt", True),
    ("*.js", "web/app.js", True),
    ("*.js", "web/app.jsx", False),
    ("/build/logs/", "build/logs/a/b.log", True),
    ("/build/logs/", "x/build/logs/a.log", False),
    ("docs/*", "docs/a.md", True),
    ("docs/*", "docs/sub/a.md", False),
    ("docs/*", "x/docs/a.md", False),
    ("apps/", "x/apps/y/z", True),
    ("apps/", "apps", False),
    ("/docs/", "docs/a", True),
    ("/scripts", "scripts/run.sh", True),
    ("/scripts", "scripts", True),
    ("/apps/github", "apps/github/x", True),
    ("**/logs", "build/logs/x", True),
    ("**/logs", "logs/x", True),
    ("a/**/b", "a/b", True),
    ("a/**/b", "a/x/y/b", True),
    ("a/**", "a/x/y", True),
    ("a/**", "a", False),
    ("README.md", "docs/README.md", True),
    ("readme.md", "README.md", False),
    ("/a?c", "abc", True),
    ("/a?c", "a/c", False),
    ("my\\ file.txt", "my file.txt", True),
    ("a.b", "axb", False),
]


@pytest.mark.parametrize(("pattern", "path", "owned"), CASES)
def test_patterns(pattern: str, path: str, owned: bool) -> None:
    lines = codeowners.parsed(f"{pattern} @a\n")
    assert bool(codeowners.owners_of(lines, path)) is owned


def test_the_last_matching_line_wins_and_an_ownerless_one_clears() -> None:
    lines = codeowners.parsed("* @a\n/docs/ @b # inline\n/docs/open\n\n# comment\n")
    assert codeowners.owners_of(lines, "x") == ("@a",)
    assert codeowners.owners_of(lines, "docs/x") == ("@b",)
    assert codeowners.owners_of(lines, "docs/open") == ()


@pytest.mark.parametrize("line", ["!x @a", "x[ab] @a", "\\#x @a", "***/x @a", "x a@", "x nobody"])
def test_lines_that_github_skips(line: str) -> None:
    lines = codeowners.parsed(f"* @z\n{line}\n")
    assert codeowners.owners_of(lines, "x") == ("@z",)
    assert lines[1].invalid is not None


def test_the_errors_endpoint_names_line_column_and_reason(acme: Acme) -> None:
    text = "* @acme/platform\n*.x @nobody\n[a] @alice\n* @dave\n"
    acme.world.push(acme.repo, "main", {"CODEOWNERS": text}, author="root")
    found = acme.user("alice").get(f"{acme.path}/codeowners/errors").json()["errors"]
    assert [(one["line"], one["column"], one["kind"]) for one in found] == [
        (2, 5, "Unknown owner"),
        (3, 1, "Invalid pattern"),
        (4, 3, "Unknown owner"),
    ]


def test_the_first_of_the_three_places_counts(acme: Acme) -> None:
    acme.world.push(acme.repo, "main", {".github/CODEOWNERS": "* @carol\n"}, author="root")
    pull = acme.pull()
    shown = acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}").json()
    assert [user["login"] for user in shown["requested_reviewers"]] == ["carol"]


def test_secret_teams_and_teams_without_write_access_own_nothing(acme: Acme) -> None:
    acme.world.add_team("acme", "hidden", members=["carol"], privacy="secret")
    acme.world.grant_team_access(acme.repo, "acme/hidden", "push")
    acme.world.add_team("acme", "readers", members=["carol"])
    acme.world.grant_team_access(acme.repo, "acme/readers", "pull")
    acme.world.push(acme.repo, "main", {"CODEOWNERS": "* @acme/hidden @acme/readers @carol\n"}, author="root")
    pull = acme.pull()
    shown = acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}").json()
    assert shown["requested_teams"] == []
    assert [user["login"] for user in shown["requested_reviewers"]] == ["carol"]


def test_a_file_of_three_megabytes_is_not_read(acme: Acme) -> None:
    acme.world.push(acme.repo, "main", {"CODEOWNERS": "* @carol\n" + "#" * (3 << 20)}, author="root")
    pull = acme.pull()
    shown = acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}").json()
    assert shown["requested_reviewers"] == []
