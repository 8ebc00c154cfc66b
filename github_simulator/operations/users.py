"""Users and the rate limit."""

from typing import Any

from github_simulator.calls import AsUser, Call, Reply, not_by_integration, not_found
from github_simulator.representation import accounts
from github_simulator.routing import operation


@operation("GET /user")
def me(call: Call) -> Reply:
    """The person behind a token; an installation is nobody."""
    if not isinstance(call.actor, AsUser):
        call.account  # noqa: B018
        raise not_by_integration()
    return Reply(body=accounts.full(call.view, call.account, private=True))


@operation("GET /user/{account_id}", audience="anyone")
def by_id(call: Call) -> Reply:
    """An account by its number, whatever its login is now."""
    account = call.state.accounts.get(call.number("account_id"))
    if account is None:
        raise not_found()
    return Reply(body=accounts.full(call.view, account, private=False))


@operation("GET /users/{username}", audience="anyone")
def by_login(call: Call) -> Reply:
    """An account by its login."""
    account = call.state.account_by_login(call.parameters["username"])
    if account is None:
        raise not_found()
    return Reply(body=accounts.full(call.view, account, private=False))


@operation("GET /rate_limit", audience="anyone")
def rate_limit(call: Call) -> Reply:
    """What is left of the caller's hour; asking is free."""
    budget = call.world.rate_limits.budget(call.actor, call.now)
    core: dict[str, Any] = {
        "limit": budget.limit,
        "used": budget.used,
        "remaining": max(budget.limit - budget.used, 0),
        "reset": int(budget.reset_at.timestamp()),
    }
    search = core | {"limit": 30, "used": 0, "remaining": 30}
    graphql = core | {"limit": 5000, "used": 0, "remaining": 5000}
    return Reply(body={"resources": {"core": core, "search": search, "graphql": graphql}, "rate": core})
