"""Contents and git's objects through the API."""

import base64
import io
import tarfile

from tests.unit.github_simulator.conftest import Acme


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_files_are_created_replaced_and_deleted_with_their_blob_as_guard(acme: Acme) -> None:
    alice, path = acme.user("alice"), f"{acme.path}/contents/new/file.txt"
    made = alice.put(path, json={"message": "m", "content": encoded("one\n")})
    assert made.status_code == 201
    blob = made.json()["content"]["sha"]
    assert alice.put(path, json={"message": "m", "content": encoded("two\n")}).status_code == 422
    stale = alice.put(path, json={"message": "m", "content": encoded("two\n"), "sha": "f" * 40})
    assert stale.status_code == 409
    changed = alice.put(path, json={"message": "m", "content": encoded("two\n"), "sha": blob})
    assert changed.status_code == 200
    assert alice.get(path, headers={"accept": "application/vnd.github.raw"}).content == b"two\n"
    assert alice.get(path, params={"ref": made.json()["commit"]["sha"]}).json()["sha"] == blob
    sha = changed.json()["content"]["sha"]
    assert alice.request("DELETE", path, json={"message": "m", "sha": sha}).status_code == 200
    assert alice.get(path).status_code == 404


def test_folders_large_files_and_odd_paths(acme: Acme) -> None:
    big = b"x" * (1 << 20) + b"y"
    acme.world.push(acme.repo, "main", {"big.bin": big, "a b/ä.txt": "u\n"}, author="root")
    alice = acme.user("alice")
    listed = {entry["name"]: entry["type"] for entry in alice.get(f"{acme.path}/contents").json()}
    assert listed == {
        "CODEOWNERS": "file",
        "README.md": "file",
        "a b": "dir",
        "big.bin": "file",
        "docs": "dir",
    }
    shown = alice.get(f"{acme.path}/contents/big.bin").json()
    assert (shown["encoding"], shown["content"], shown["size"]) == ("none", "", len(big))
    assert alice.get(f"{acme.path}/contents/a b/ä.txt").json()["path"] == "a b/ä.txt"
    assert alice.get(f"{acme.path}/contents/docs%2F..%2Fetc").status_code == 400


def test_trees_take_content_blobs_and_deletions(acme: Acme) -> None:
    alice = acme.user("alice")
    base = alice.get(f"{acme.path}/git/trees/main", params={"recursive": "1"}).json()
    assert {entry["path"] for entry in base["tree"]} == {"CODEOWNERS", "README.md", "docs", "docs/guide.md"}
    entries = [
        {"path": "docs/guide.md", "mode": "100644", "type": "blob", "sha": None},
        {"path": "docs/other.md", "mode": "100755", "type": "blob", "content": "hi\n"},
    ]
    tree = alice.post(f"{acme.path}/git/trees", json={"base_tree": base["sha"], "tree": entries}).json()
    whole = alice.get(f"{acme.path}/git/trees/{tree['sha']}", params={"recursive": "1"}).json()
    modes = {entry["path"]: entry["mode"] for entry in whole["tree"]}
    assert modes["docs/other.md"] == "100755"
    assert "docs/guide.md" not in modes
    missing = [{"path": "x", "mode": "100644", "type": "blob", "sha": "f" * 40}]
    assert alice.post(f"{acme.path}/git/trees", json={"tree": missing}).status_code == 422
    climbing = [{"path": "../x", "mode": "100644", "type": "blob", "content": ""}]
    assert alice.post(f"{acme.path}/git/trees", json={"tree": climbing}).status_code == 422


def test_blobs_come_back(acme: Acme) -> None:
    alice = acme.user("alice")
    raw = bytes(range(256))
    asked = {"content": base64.b64encode(raw).decode(), "encoding": "base64"}
    sha = alice.post(f"{acme.path}/git/blobs", json=asked).json()["sha"]
    assert base64.b64decode(alice.get(f"{acme.path}/git/blobs/{sha}").json()["content"]) == raw
    assert alice.get(f"{acme.path}/git/blobs/{'f' * 40}").status_code == 404


def test_refs_move_forward_unless_forced(acme: Acme) -> None:
    alice = acme.user("alice")
    old = alice.get(f"{acme.path}/commits/main").json()["sha"]
    new = acme.world.push(acme.repo, "topic", {"x": "1"}, author="alice")
    made = alice.post(f"{acme.path}/git/refs", json={"ref": "refs/heads/a/b", "sha": old})
    assert made.json()["url"] == f"{acme.github.url}{acme.path}/git/refs/heads/a/b"
    assert alice.post(f"{acme.path}/git/refs", json={"ref": "refs/heads/a/b", "sha": old}).status_code == 422
    assert alice.post(f"{acme.path}/git/refs", json={"ref": "heads/c", "sha": old}).status_code == 422
    unknown = alice.post(f"{acme.path}/git/refs", json={"ref": "refs/heads/c", "sha": "f" * 40})
    assert unknown.json()["message"] == "Object does not exist"
    url = f"{acme.path}/git/refs/heads/a/b"
    assert alice.patch(url, json={"sha": new}).json()["object"]["sha"] == new
    back = alice.patch(url, json={"sha": old})
    assert (back.status_code, back.json()["message"]) == (422, "Update is not a fast forward")
    assert alice.patch(url, json={"sha": old, "force": True}).status_code == 200
    assert [one["ref"] for one in alice.get(f"{acme.path}/git/matching-refs/heads/a").json()] == [
        "refs/heads/a/b"
    ]
    assert alice.delete(url).status_code == 204
    assert alice.get(f"{acme.path}/git/ref/heads/a/b").status_code == 404


def test_a_reader_cannot_write(acme: Acme) -> None:
    acme.world.grant_access(acme.repo, "dave", "pull")
    sha = acme.user("dave").get(f"{acme.path}/commits/main").json()["sha"]
    assert (
        acme.user("dave").post(f"{acme.path}/git/refs", json={"ref": "refs/heads/x", "sha": sha}).status_code
        == 404
    )


def test_a_tarball_is_a_redirect_to_an_archive(acme: Acme) -> None:
    alice = acme.user("alice")
    answer = alice.get(f"{acme.path}/tarball/main")
    assert answer.status_code == 302
    content = acme.github.with_token(None).get(answer.headers["location"]).content
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        names = archive.getnames()
    assert any(name.startswith("acme-infra-") and name.endswith("/README.md") for name in names)


def test_commits_and_comparisons(acme: Acme) -> None:
    alice = acme.user("alice")
    shas = [
        acme.world.push(acme.repo, "topic", {"x": str(n)}, author="alice", message=f"c{n}") for n in range(3)
    ]
    listed = alice.get(f"{acme.path}/commits", params={"sha": "topic", "per_page": 3}).json()
    assert [one["sha"] for one in listed] == shas[::-1]
    one = alice.get(f"{acme.path}/commits/{shas[0]}").json()
    assert (one["stats"]["additions"], one["files"][0]["filename"], one["author"]["login"]) == (
        1,
        "x",
        "alice",
    )
    assert alice.get(f"{acme.path}/commits/{'f' * 40}").status_code == 422
    assert alice.get(f"{acme.path}/commits/nowhere").status_code == 404
    compared = alice.get(f"{acme.path}/compare/main...topic").json()
    assert [commit["sha"] for commit in compared["commits"]] == shas
    assert alice.get(f"{acme.path}/compare/topic...main").json()["status"] == "behind"
