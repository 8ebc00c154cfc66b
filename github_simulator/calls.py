"""A REST call on its way through the simulator: who asks, what is asked, what is answered."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from github_simulator.model import Account, App, Installation, InstallationToken, Repository, State
from github_simulator.view import View

if TYPE_CHECKING:
    from github_simulator.world import World

DOCUMENTATION = "https://docs.github.com/rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymous:
    """Nobody: no credentials were sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsUser:
    """A person with a personal token."""

    account: Account


@dataclass(frozen=True, slots=True, kw_only=True)
class AsApp:
    """An App that signed a JWT with its private key."""

    app: App


@dataclass(frozen=True, slots=True, kw_only=True)
class AsInstallation:
    """An App's bot with an installation token."""

    app: App
    installation: Installation
    token: InstallationToken
    account: Account


Actor = Anonymous | AsUser | AsApp | AsInstallation


class Refusal(Exception):  # noqa: N818
    """An answer that ends the call: GitHub's error object with its status."""

    def __init__(self, status: int, message: str, errors: list[Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors

    def body(self) -> dict[str, Any]:
        content: dict[str, Any] = {"message": self.message}
        if self.errors is not None:
            content["errors"] = self.errors
        return content | {"documentation_url": DOCUMENTATION, "status": str(self.status)}


def not_found() -> Refusal:
    """What GitHub says about all that does not exist, and all that the caller may not know about."""
    return Refusal(404, "Not Found")


def not_by_integration() -> Refusal:
    """An App lacks the permission that the call needs."""
    return Refusal(403, "Resource not accessible by integration")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an operation answers; ``body`` is JSON data, bytes, or None for an empty answer."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Call:
    """One call, with everything that its operation needs."""

    world: "World"
    state: State
    view: View
    actor: Actor
    method: str
    path: str
    parameters: dict[str, str]
    query: dict[str, str]
    body: Any
    accept: str
    now: datetime
    page_url: str
    repository_or_none: Repository | None = None

    @property
    def repo(self) -> Repository:
        """The repository that the path names."""
        if self.repository_or_none is None:
            raise not_found()
        return self.repository_or_none

    @property
    def account(self) -> Account:
        """The account that acts."""
        match self.actor:
            case AsUser(account=account) | AsInstallation(account=account):
                return account
            case _:
                raise Refusal(401, "Requires authentication")

    @property
    def via_app_id(self) -> int | None:
        """The App through which the account acts, if any."""
        return self.actor.app.id if isinstance(self.actor, AsInstallation) else None

    def number(self, name: str) -> int:
        """A numeric part of the path; anything else is not found."""
        value = self.parameters[name]
        if not value.isdigit():
            raise not_found()
        return int(value)

    def page(
        self, items: Iterable[Any], render: Callable[[Any], Any] | None = None, wrap: str | None = None
    ) -> Reply:
        """One page of a list (30 by default, 100 at most) with the Link header to the others.

        ``wrap`` names the key of an answer that is an object with ``total_count``.
        """
        everything = list(items)
        size = min(max(_number(self.query.get("per_page"), 30), 1), 100)
        page = max(_number(self.query.get("page"), 1), 1)
        last = max((len(everything) + size - 1) // size, 1)
        shown = everything[(page - 1) * size : page * size]
        rendered = [render(item) for item in shown] if render is not None else shown
        body: Any = rendered if wrap is None else {"total_count": len(everything), wrap: rendered}
        relations = []
        if page > 1:
            relations += [(min(page - 1, last), "prev")]
        if page < last:
            relations += [(page + 1, "next"), (last, "last")]
        if page > 1:
            relations += [(1, "first")]
        link = ", ".join(f'<{self._at_page(number)}>; rel="{name}"' for number, name in relations)
        return Reply(body=body, headers={"link": link} if link else {})

    def _at_page(self, number: int) -> str:
        others = [f"{key}={value}" for key, value in self.query.items() if key != "page"]
        return f"{self.page_url}?{'&'.join([*others, f'page={number}'])}"


def _number(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isdigit() else default
