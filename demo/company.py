"""The pretend company at the simulated GitHub: its people, its repository, and the two Apps.

People: `dana` asks through her agent. `alice` and `bob` own the Terraform code, and so does dana, whose
own approval must not count all the same. `mallory` may write to the repository and owns nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from github_simulator import seeding
from github_simulator.simulator import Simulator

ORGANIZATION = "acme"
REPOSITORY = "infra"
PEOPLE = ("dana", "alice", "bob", "mallory")
TEAM = "platform"
MODULE = "demo"
SOURCE = f"terraform/{MODULE}"
SOURCE_FILE = f"{SOURCE}/main.tf"

CODEOWNERS = """\
# Who decides about what. The last matching line wins.
*              @acme/platform
/terraform/    @acme/platform
"""

BOT_PERMISSIONS = {
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "members": "read",
    "metadata": "read",
    "pull_requests": "write",
}
RUNNER_PERMISSIONS = {
    "contents": "read",
    "issues": "read",
    "members": "read",
    "metadata": "read",
    "pull_requests": "read",
}
BOT_EVENTS = (
    "check_run",
    "issue_comment",
    "membership",
    "pull_request",
    "pull_request_review",
    "push",
    "team",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """What was founded; `people` holds each person's account by login."""

    people: dict[str, seeding.User]
    repository: seeding.Repository
    bot_app: seeding.App
    bot_installation: seeding.Installation
    runner_app: seeding.App
    runner_installation: seeding.Installation


def found(github: Simulator, clone: Path, *, more: Mapping[str, str] | None = None) -> Company:
    """Founds the company; the repository gets the Terraform modules of this clone, and `more` files."""
    world = github.world
    people = {login: world.add_user(login) for login in PEOPLE}
    world.add_organization(ORGANIZATION)
    repository = world.add_repository(ORGANIZATION, REPOSITORY, files={**_files(clone), **(more or {})})
    world.add_team(ORGANIZATION, TEAM, members=["alice", "bob", "dana"])
    world.grant_team_access(repository, f"{ORGANIZATION}/{TEAM}", "push")
    world.grant_access(repository, "mallory", "push")
    bot_app = world.add_app("ownergate", permissions=BOT_PERMISSIONS, events=BOT_EVENTS)
    runner_app = world.add_app("ownergate-runner", permissions=RUNNER_PERMISSIONS)
    return Company(
        people=people,
        repository=repository,
        bot_app=bot_app,
        bot_installation=world.install(bot_app, ORGANIZATION, repositories=[repository]),
        runner_app=runner_app,
        runner_installation=world.install(runner_app, ORGANIZATION, repositories=[repository]),
    )


def _files(clone: Path) -> dict[str, bytes | str]:
    files: dict[str, bytes | str] = {
        "README.md": "# infra\n\nThe Terraform code of a pretend company.\n",
        "CODEOWNERS": CODEOWNERS,
    }
    for path in sorted((clone / "terraform").rglob("*.tf")):
        if ".terraform" not in path.parts:
            files[path.relative_to(clone).as_posix()] = path.read_bytes()
    return files
