"""A world declared in YAML, for the command line.

::

    users: [root, alice, bob]
    organizations:
      acme: {admins: [root], base_permission: none}
    teams:
      acme/platform: {members: [bob], parent: null}
    repositories:
      acme/infra:
        private: true
        files: {CODEOWNERS: "* @acme/platform\\n"}   # or: folder: path/to/files
        access: {alice: push}
        team_access: {acme/platform: push}
        protection: {main: {required_approving_reviews: 1}}
    apps:
      ownergate:
        permissions: {contents: write, pull_requests: write}
        events: [pull_request]
        webhook: {url: "http://127.0.0.1:8080/webhook", secret_file: path/to/secret}
        key_file: path/for/the/private-key.pem
        install: {acme: [acme/infra]}
"""

import os
from pathlib import Path
from typing import Any

import yaml

from github_simulator import seeding
from github_simulator.world import World

KNOWN = {
    "": {"users", "organizations", "teams", "repositories", "apps"},
    "organizations": {"admins", "members", "base_permission"},
    "teams": {"members", "parent", "privacy"},
    "repositories": {"private", "description", "files", "folder", "access", "team_access", "protection"},
    "apps": {"permissions", "events", "webhook", "key_file", "install", "owner"},
}


class WorldError(Exception):
    """The file declares something that does not exist; the text says what and what is known."""


def seed(world: World, path: Path) -> None:
    """Build what a file declares. Raises WorldError, and OSError when a file cannot be read or written."""
    try:
        declared = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        _check(declared)
        _people(world, declared)
        repositories = _repositories(world, declared, path.parent)
        _apps(world, declared, repositories, path.parent)
    except (KeyError, ValueError, TypeError, yaml.YAMLError) as error:
        raise WorldError(f"{path}: {error}") from error


def _check(declared: dict[str, Any]) -> None:
    for section, known in KNOWN.items():
        entries = {"": declared} if not section else declared.get(section) or {}
        for name, entry in entries.items():
            unknown = set(entry or {}) - known
            if unknown:
                where = f"{section}.{name}" if section else "the file"
                raise WorldError(
                    f"{where} has {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}"
                )


def _people(world: World, declared: dict[str, Any]) -> None:
    for login in declared.get("users") or ():
        world.add_user(login)
    for login, entry in (declared.get("organizations") or {}).items():
        world.add_organization(login, **(entry or {}))
    for name, entry in (declared.get("teams") or {}).items():
        organization, _, slug = name.partition("/")
        world.add_team(organization, slug, **(entry or {}))


def _repositories(world: World, declared: dict[str, Any], base: Path) -> dict[str, seeding.Repository]:
    found = {}
    for name, entry in (declared.get("repositories") or {}).items():
        owner, _, short = name.partition("/")
        asked = entry or {}
        files: dict[str, bytes | str] = dict(asked.get("files") or {})
        if asked.get("folder"):
            folder = (base / asked["folder"]).resolve()
            for file in sorted(folder.rglob("*")):
                if file.is_file() and ".git" not in file.relative_to(folder).parts:
                    files[file.relative_to(folder).as_posix()] = file.read_bytes()
        private, description = asked.get("private", True), asked.get("description")
        repo = world.add_repository(
            owner, short, files=files or None, private=private, description=description
        )
        for login, level in (asked.get("access") or {}).items():
            world.grant_access(repo, login, level)
        for team, level in (asked.get("team_access") or {}).items():
            world.grant_team_access(repo, team, level)
        for branch, rules in (asked.get("protection") or {}).items():
            world.protect(repo, branch, **rules)
        found[name] = repo
    return found


def _apps(
    world: World, declared: dict[str, Any], repositories: dict[str, seeding.Repository], base: Path
) -> None:
    for slug, entry in (declared.get("apps") or {}).items():
        hook = entry.get("webhook") or {}
        secret = None
        if hook.get("secret_file"):
            secret = (base / hook["secret_file"]).read_text(encoding="utf-8").strip()
        app = world.add_app(
            slug,
            permissions=entry.get("permissions") or {},
            events=entry.get("events") or (),
            webhook_url=hook.get("url"),
            webhook_secret=secret,
            owner=entry.get("owner"),
        )
        if entry.get("key_file"):
            key = base / entry["key_file"]
            descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(app.private_key_pem)
        for account, names in (entry.get("install") or {}).items():
            chosen = [repositories[name] for name in names] if names is not None else None
            world.install(app, account, repositories=chosen)
