"""What seeding hands back: small frozen values that stay valid whatever happens to the records."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A person, or an App's bot (which has no personal token)."""

    id: int
    login: str
    token: str = field(repr=False)
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Organization:
    """An organization."""

    id: int
    login: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A team of an organization."""

    id: int
    slug: str
    organization: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository. After a rename the world returns a new value; the old one still works by its id."""

    id: int
    owner: str
    name: str

    @property
    def full_name(self) -> str:
        """``owner/name``."""
        return f"{self.owner}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """A GitHub App with its private key."""

    id: int
    slug: str
    private_key_pem: str = field(repr=False)
    bot: User


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An App on an account."""

    id: int
    app_id: int
