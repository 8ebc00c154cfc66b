"""git over smart HTTP, served by git itself: ``git clone``, ``git fetch`` and ``git push`` work.

Source: git's Documentation/gitprotocol-http.adoc. Pushes go through the same rules and have the same
consequences as changes through the API.
"""

import gzip
import subprocess
from dataclasses import dataclass

from github_simulator import access, permissions, pushes
from github_simulator.authentication import actor_of
from github_simulator.calls import Actor, AsInstallation, AsUser, Refusal
from github_simulator.git_store import ENVIRONMENT, ZERO
from github_simulator.model import Account, Repository
from github_simulator.world import World

SERVICES = frozenset({"git-upload-pack", "git-receive-pack"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GitAnswer:
    """Status, headers and body for the git client."""

    status: int
    headers: dict[str, str]
    body: bytes


def _text(status: int, message: str) -> GitAnswer:
    headers = {"content-type": "text/plain; charset=utf-8"}
    if status == 401:
        headers["www-authenticate"] = 'Basic realm="GitHub"'
    return GitAnswer(status=status, headers=headers, body=message.encode())


def _line(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def advertise(
    world: World, owner: str, name: str, service: str, authorization: str | None, protocol: str
) -> GitAnswer:
    """``GET info/refs``: what refs there are."""
    with world.lock:
        found = _admitted(world, owner, name, service, authorization)
        if isinstance(found, GitAnswer):
            return found
        repository, _ = found
        out = _git(world, repository, service, b"", protocol, "--http-backend-info-refs")
    headers = {"content-type": f"application/x-{service}-advertisement", "cache-control": "no-cache"}
    start = (
        b""
        if protocol == "version=2" and service == "git-upload-pack"
        else _line(f"# service={service}\n") + b"0000"
    )
    return GitAnswer(status=200, headers=headers, body=start + out)


def serve(
    world: World,
    owner: str,
    name: str,
    service: str,
    body: bytes,
    encoding: str,
    authorization: str | None,
    protocol: str,
) -> GitAnswer:
    """``POST git-upload-pack`` or ``git-receive-pack``."""
    if encoding == "gzip":
        body = gzip.decompress(body)
    with world.lock:
        found = _admitted(world, owner, name, service, authorization)
        if isinstance(found, GitAnswer):
            return found
        repository, actor = found
        if service == "git-receive-pack" and isinstance(actor, AsUser | AsInstallation):
            out = _receive(world, repository, actor, body, protocol)
        else:
            out = _git(world, repository, service, body, protocol)
    headers = {"content-type": f"application/x-{service}-result", "cache-control": "no-cache"}
    return GitAnswer(status=200, headers=headers, body=out)


def _git(
    world: World, repository: Repository, service: str, body: bytes, protocol: str, *options: str
) -> bytes:
    store = world.store(repository)
    done = subprocess.run(
        ["git", service.removeprefix("git-"), "--stateless-rpc", *options, str(store.path)],
        input=body,
        env=ENVIRONMENT | {"GIT_PROTOCOL": protocol},
        capture_output=True,
        check=False,
    )
    return done.stdout


def _admitted(
    world: World, owner: str, name: str, service: str, authorization: str | None
) -> tuple[Repository, Actor] | GitAnswer:
    try:
        actor = actor_of(world.state, authorization, world.clock.now())
    except Refusal as refusal:
        return _text(401 if refusal.status == 401 else 403, refusal.message)
    repository = world.state.repository_by_name(owner, name)
    writing = service == "git-receive-pack"
    anonymous = not isinstance(actor, AsUser | AsInstallation)
    if repository is None or (anonymous and (repository.private or writing)):
        return _text(401, "Repository not found.") if anonymous else _text(404, "Repository not found.")
    match actor:
        case AsUser(account=account):
            level = access.level_of(world.state, account, repository)
            if level == "none":
                return _text(404, "Repository not found.")
            if writing and not access.at_least(level, "push"):
                return _text(
                    403, f"Permission to {world.state.full_name(repository)}.git denied to {account.login}."
                )
        case AsInstallation():
            covered = permissions.covers(actor, repository.id, repository.owner_id)
            wanted = "contents:write" if writing else "contents:read"
            if not covered or not permissions.allowed(actor, wanted):
                return _text(
                    403, "Write access to repository not granted." if writing else "Repository not found."
                )
    return repository, actor


def _commands(body: bytes) -> list[tuple[str, str, str]]:
    """Old SHA, new SHA and ref of each command at the start of a push."""
    commands, at = [], 0
    while at + 4 <= len(body):
        size = int(body[at : at + 4], 16)
        if size == 0:
            break
        old, new, ref = body[at + 4 : at + size].split(b"\0")[0].decode().strip().split(" ", 2)
        commands.append((old, new, ref))
        at += size
    return commands


def _receive(
    world: World, repository: Repository, actor: AsUser | AsInstallation, body: bytes, protocol: str
) -> bytes:
    """Let git take the push, then undo what protection refuses and let the rest have its consequences."""
    account: Account = actor.account
    store = world.store(repository)
    out = _git(world, repository, "git-receive-pack", body, protocol)
    now = store.refs()
    refused: list[tuple[str, str]] = []
    for _, new, ref in _commands(body):
        sha = None if new == ZERO else new
        if now.get(ref) != sha:
            continue
        reason = pushes.protected(world, repository, ref, account, sha)
        if reason is not None:
            store.set_ref(ref, repository.refs.get(ref))
            refused.append((ref, reason))
            continue
        via_app_id = actor.app.id if isinstance(actor, AsInstallation) else None
        pushes.move(world, repository, ref, sha, account, via_app_id=via_app_id, in_git_already=True)
    return _report(refused) if refused else out


def _report(refused: list[tuple[str, str]]) -> bytes:
    """git's report-status, in a side band, that says which refs were refused."""
    lines = b"".join(
        [_line("unpack ok\n"), *(_line(f"ng {ref} protected branch hook declined\n") for ref, _ in refused)]
    )
    report = lines + b"0000"
    told = "".join(
        f"error: GH006: Protected branch update failed for {ref}.\nerror: {why}\n" for ref, why in refused
    )
    band2, band1 = b"\x02" + told.encode(), b"\x01" + report
    return b"".join(f"{len(band) + 4:04x}".encode() + band for band in (band2, band1)) + b"0000"
