"""From where the simulated GitHub is looked at: which state, and which addresses stand in its answers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from github_simulator.model import Account, Repository, State

if TYPE_CHECKING:
    from github_simulator.records import Records


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A state and the roots of all links, without a last slash: ``api`` for REST, ``html`` for pages."""

    world: "Records"
    state: State
    api: str
    html: str

    def account(self, account_id: int) -> Account:
        return self.state.accounts[account_id]

    def full_name(self, repository: Repository) -> str:
        return self.state.full_name(repository)

    def repo_api(self, repository: Repository) -> str:
        """The REST address of a repository."""
        return f"{self.api}/repos/{self.full_name(repository)}"

    def repo_html(self, repository: Repository) -> str:
        """The page of a repository."""
        return f"{self.html}/{self.full_name(repository)}"
