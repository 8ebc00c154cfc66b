"""git itself: clone, fetch, push, and what protection refuses."""

import subprocess
from pathlib import Path

from tests.unit.github_simulator.conftest import Acme

QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
}


def git(folder: Path, *arguments: str, ok: bool = True) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=alice", "-c", "user.email=alice@example.com", *arguments],
        cwd=folder,
        env=QUIET,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is ok, done.stderr
    return done.stdout + done.stderr


def clone(acme: Acme, folder: Path, login: str = "alice") -> Path:
    git(folder, "clone", "--quiet", acme.world.clone_url(acme.repo, login), login)
    return folder / login


def commit(work: Path, name: str, text: str) -> str:
    (work / name).write_text(text, encoding="utf-8")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", f"Write {name}")
    return git(work, "rev-parse", "HEAD").strip()


def test_clone_needs_the_right_to_read(acme: Acme, tmp_path: Path) -> None:
    work = clone(acme, tmp_path)
    assert (work / "README.md").read_text(encoding="utf-8") == "# infra\n"
    assert "not found" in git(tmp_path, "clone", acme.world.clone_url(acme.repo, "dave"), "no", ok=False)
    git(tmp_path, "clone", acme.world.clone_url(acme.repo), "nobody", ok=False)


def test_an_installation_token_clones(acme: Acme, tmp_path: Path) -> None:
    host = acme.github.url.removeprefix("http://")
    git(tmp_path, "clone", f"http://x-access-token:{acme.token()}@{host}/acme/infra.git", "bot")
    assert (tmp_path / "bot" / "CODEOWNERS").exists()


def test_a_push_moves_the_pull_request_and_a_force_push_shows_in_its_timeline(
    acme: Acme, tmp_path: Path
) -> None:
    work = clone(acme, tmp_path)
    git(work, "switch", "--quiet", "--create", "topic")
    first = commit(work, "a.txt", "a\n")
    git(work, "push", "--quiet", "origin", "topic")
    alice = acme.user("alice")
    number = alice.post(f"{acme.path}/pulls", json={"title": "t", "head": "topic", "base": "main"}).json()[
        "number"
    ]
    second = commit(work, "b.txt", "b\n")
    git(work, "push", "--quiet", "origin", "topic")
    assert alice.get(f"{acme.path}/pulls/{number}").json()["head"]["sha"] == second
    git(work, "reset", "--quiet", "--hard", first)
    third = commit(work, "c.txt", "c\n")
    git(work, "push", "--quiet", "--force", "origin", "topic")
    timeline = alice.get(f"{acme.path}/issues/{number}/timeline").json()
    events = [one["event"] for one in timeline]
    assert events.count("head_ref_force_pushed") == 1
    assert [one["sha"] for one in timeline if one["event"] == "committed"] == [first, second, first, third]
    acme.github.wait_for_deliveries()
    synchronize = acme.receiver.last("pull_request.synchronize")
    assert (synchronize["before"], synchronize["after"]) == (second, third)
    assert acme.receiver.last("push")["forced"] is True
    fetched = git(work, "ls-remote", "origin", f"refs/pull/{number}/head")
    assert fetched.startswith(third)


def test_pull_request_refs_cannot_be_pushed(acme: Acme, tmp_path: Path) -> None:
    work = clone(acme, tmp_path)
    commit(work, "a.txt", "a\n")
    assert "refs/pull/1/head" in git(work, "push", "origin", "HEAD:refs/pull/1/head", ok=False)


def test_a_protected_branch_refuses_a_direct_push(acme: Acme, tmp_path: Path) -> None:
    acme.world.protect(acme.repo, "main", required_approving_reviews=1)
    work = clone(acme, tmp_path)
    before = acme.user("alice").get(f"{acme.path}/git/ref/heads/main").json()["object"]["sha"]
    commit(work, "a.txt", "a\n")
    assert "GH006" in git(work, "push", "origin", "HEAD:main", ok=False)
    assert git(work, "ls-remote", "origin", "refs/heads/main").startswith(before)


def test_deleting_the_head_branch_closes_the_pull_request(acme: Acme, tmp_path: Path) -> None:
    pull = acme.pull("gone")
    git(clone(acme, tmp_path), "push", "--quiet", "origin", "--delete", "gone")
    shown = acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}").json()
    assert shown["state"] == "closed"
    assert shown["merged"] is False


def test_pushing_the_head_into_the_base_marks_it_merged(acme: Acme, tmp_path: Path) -> None:
    pull = acme.pull("topic")
    work = clone(acme, tmp_path, "bob")
    git(work, "push", "--quiet", "origin", "origin/topic:refs/heads/main")
    shown = acme.user("alice").get(f"{acme.path}/pulls/{pull['number']}").json()
    assert shown["merged"] is True
    assert shown["merged_by"]["login"] == "bob"
    assert shown["changed_files"] == 1
