"""May this caller use this operation, and in this repository? In GitHub's order and with its refusals."""

from github_simulator import access, permissions
from github_simulator.calls import (
    Actor,
    Anonymous,
    AsApp,
    AsInstallation,
    AsUser,
    Call,
    Refusal,
    not_by_integration,
    not_found,
)
from github_simulator.model import Repository, State
from github_simulator.routing import Operation


def admit(operation: Operation, actor: Actor) -> None:
    """Whether this kind of caller may use the operation at all."""
    match operation.audience, actor:
        case "app_jwt", AsApp():
            return
        case "app_jwt", _:
            raise Refusal(401, "A JSON web token could not be decoded")
        case "installation", AsInstallation():
            return
        case "installation", _:
            raise Refusal(
                403,
                "You must authenticate with an installation access token in order to list repositories for "
                "an installation.",
            )
        case "anyone", _:
            return
        case _, AsApp():
            raise not_by_integration()
        case _, Anonymous() if operation.method != "GET":
            raise Refusal(401, "Requires authentication")
        case _, AsInstallation() as bot if not operation.of_repository:
            if operation.app is None or not permissions.allowed(bot, operation.app):
                raise not_by_integration()


def named_repository(state: State, parameters: dict[str, str]) -> tuple[Repository, bool]:
    """The repository of the path, and whether the path is a former name of it. Raises Refusal 404."""
    repository = state.repository_by_name(parameters["owner"], parameters["repo"])
    if repository is None:
        raise not_found()
    now = state.full_name(repository).lower()
    return repository, f"{parameters['owner']}/{parameters['repo']}".lower() != now


def check(operation: Operation, call: Call, repository: Repository) -> None:
    """Whether the caller may do this in the repository. Nobody learns of what they may not read."""
    match call.actor:
        case AsInstallation() as bot:
            if not permissions.covers(bot, repository.id, repository.owner_id):
                if repository.private:
                    raise not_found()
                if operation.method != "GET":
                    raise not_by_integration()
            if operation.app is None:
                raise not_by_integration()
            open_to_all = not repository.private and operation.method == "GET" and operation.level == "pull"
            if not open_to_all and not permissions.allowed(bot, operation.app):
                raise not_by_integration()
        case AsUser(account=account):
            level = access.level_of(call.state, account, repository)
            if level == "none":
                raise not_found()
            if not access.at_least(level, operation.level):
                raise Refusal(*operation.refused) if operation.refused else not_found()
        case Anonymous():
            if repository.private:
                raise not_found()
            if operation.level != "pull":
                raise Refusal(401, "Requires authentication")
        case AsApp():
            if operation.audience != "app_jwt":
                raise not_by_integration()
    if repository.archived and operation.method != "GET":
        raise Refusal(403, "Repository was archived so is read-only.")
